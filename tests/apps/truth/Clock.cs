// SPDX-License-Identifier: MIT
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// The kernel's own account of CPU time, in nanoseconds. On Windows it is one of ticks, too coarse for a thread: there
/// time that passes stands for it, so that who goes by it should have a processor for himself.
/// </summary>
static unsafe partial class Clock
{
  const int ProcessCpuTime = 2, ThreadCpuTime = 3;

  static readonly bool windows = OperatingSystem.IsWindows();

  struct Timespec { public long Seconds, Nanoseconds; }

  [DllImport("libc")]
  static extern int clock_gettime(int clock, Timespec* time);

  static long Read(int clock)
  {
    Timespec t;
    if (clock_gettime(clock, &t) != 0)
      throw new InvalidOperationException("clock_gettime failed");
    return t.Seconds * 1_000_000_000 + t.Nanoseconds;
  }

  public static long Process() =>
    windows ? System.Diagnostics.Process.GetCurrentProcess().TotalProcessorTime.Ticks * 100 : Read(ProcessCpuTime);

  public static long Thread() => windows
    ? (long)(System.Diagnostics.Stopwatch.GetTimestamp() * (1e9 / System.Diagnostics.Stopwatch.Frequency))
    : Read(ThreadCpuTime);
}

/// <summary>CPU time by name, as the thread that did the work measured it.</summary>
sealed class Ledger
{
  readonly SortedDictionary<string, long> spent = [];

  public long this[string name] => spent.GetValueOrDefault(name);

  /// <summary>Books the thread's CPU time since <paramref name="since"/> and returns now.</summary>
  public long Book(string name, long since)
  {
    long now = Clock.Thread();
    Add(name, now - since);
    return now;
  }

  public void Add(string name, long ns)
  {
    lock (spent)
      spent[name] = spent.GetValueOrDefault(name) + ns;
  }

  public JsonObject ToJson()
  {
    var o = new JsonObject();
    foreach (var (name, ns) in spent)
      o[name] = ns;
    return o;
  }
}
