// SPDX-License-Identifier: MIT
using System.Diagnostics.Tracing;

namespace Dnprof;

/// <summary>Where marks go: events that dnprof has delivered, and any other tool of EventPipe as well.</summary>
[EventSource(Name = "Dnprof-Mark")]
sealed class MarkSource : EventSource
{
  // A longer text is cut, for an event beyond 64 KiB is dropped.
  const int MaxChars = 512;

  public static readonly MarkSource Log = new();

  /// <summary>Whether anybody listens. While it is made, which calls listeners, there is none: they may say something.</summary>
  public static bool IsOn => Log?.IsEnabled() == true;

  /// <summary>Of an event's text what stands behind a NUL is not delivered.</summary>
  static string Bounded(string? text)
  {
    if (text == null)
      return "";
    if (text.IndexOf('\0') >= 0)
      text = text.Replace('\0', '\uFFFD');
    if (text.Length <= MaxChars)
      return text;
    return text.Substring(0, char.IsHighSurrogate(text[MaxChars - 1]) ? MaxChars - 1 : MaxChars);
  }

  [Event(1)]
  public void Point(string text) => WriteEvent(1, Bounded(text));

  [Event(2)]
  public void SpanBegin(long id, string name) => WriteEvent(2, id, Bounded(name));

  [Event(3)]
  public void SpanEnd(long id) => WriteEvent(3, id);
}
