// SPDX-License-Identifier: MIT
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// A thread that does nothing but read the clock, thirty frames deep, and keeps each time that it did
/// not come to it for a microsecond: what stops threads shows, and for how long. Beside it, threads
/// that sleep.
/// </summary>
static class Pauses
{
  const int Depth = 30, Sleepers = 10, LeastNs = 1000;

  public static JsonObject Run(Options o)
  {
    var pauses = new List<long>(1 << 20);
    using var end = new ManualResetEvent(false);
    long elapsed = 0;
    var crew = new List<(string, Action)> { ("watch", () => {
      elapsed = Down(Depth, (long)(o.Seconds * Stopwatch.Frequency), pauses);
      end.Set();
    }) };
    for (int i = 0; i < Sleepers; i++)
      crew.Add(($"sleeper-{i}", () => end.WaitOne()));
    Crew.Run(crew);
    pauses.Sort();
    pauses.Reverse();
    return new JsonObject {
      ["elapsed_ns"] = Ns(elapsed),
      ["pauses_ns"] = new JsonArray([.. pauses.Select(t => JsonValue.Create(Ns(t)))]),
    };
  }

  static long Ns(long ticks) => (long)(ticks * (1e9 / Stopwatch.Frequency));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Down(int depth, long span, List<long> pauses)
  {
    if (depth == 0)
      return Watch(span, pauses);
    long elapsed = Down(depth - 1, span, pauses);
    GC.KeepAlive(pauses); // so that it is no tail call
    return elapsed;
  }

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static long Watch(long span, List<long> pauses)
  {
    long least = LeastNs * Stopwatch.Frequency / 1_000_000_000;
    long begin = Stopwatch.GetTimestamp(), last = begin, now;
    do {
      now = Stopwatch.GetTimestamp();
      if (now - last >= least && pauses.Count < pauses.Capacity)
        pauses.Add(now - last);
      last = now;
    } while (now - begin < span);
    return now - begin;
  }
}
