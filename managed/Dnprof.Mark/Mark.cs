// SPDX-License-Identifier: MIT
using System;
using System.Threading;

namespace Dnprof;

/// <summary>
/// Says what the program is doing, for whoever records it with <c>dnprof -e mark</c>. When nobody does, each call is a
/// look at one field; nothing here throws. Any thread.
/// </summary>
public static class Mark
{
  /// <summary>Marks this moment.</summary>
  public static void Point(string text)
  {
    if (MarkSource.IsOn)
      MarkSource.Log.Point(text);
  }

  /// <summary>
  /// Begins a span, which ends when the result is disposed: <c>using (Mark.Span("order")) { … }</c>. It may end on
  /// another thread, as after an <c>await</c>.
  /// </summary>
  public static MarkSpan Span(string name) => MarkSource.IsOn ? MarkSpan.Begin(name) : default;
}

/// <summary>A span that has begun; the default value is none, and its end does nothing.</summary>
public readonly struct MarkSpan : IDisposable
{
  // Other copies of this library may be loaded, each of which counts on its own.
  static long last = BitConverter.ToInt64(Guid.NewGuid().ToByteArray(), 0) & ~0xffffffffL;

  readonly long id;

  MarkSpan(long id) => this.id = id;

  internal static MarkSpan Begin(string name)
  {
    var span = new MarkSpan(Interlocked.Increment(ref last));
    MarkSource.Log.SpanBegin(span.id, name);
    return span;
  }

  /// <summary>Ends the span; it is ended once.</summary>
  public void Dispose()
  {
    if (id != 0 && MarkSource.IsOn)
      MarkSource.Log.SpanEnd(id);
  }
}
