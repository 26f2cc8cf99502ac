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

  /// <summary>Whether time that passes stands for CPU time.</summary>
  public static readonly bool Coarse = OperatingSystem.IsWindows();

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
    Coarse ? System.Diagnostics.Process.GetCurrentProcess().TotalProcessorTime.Ticks * 100 : Read(ProcessCpuTime);

  public static long Thread() => Coarse ? Passing() : Read(ThreadCpuTime);

  public static long Passing() =>
    (long)(System.Diagnostics.Stopwatch.GetTimestamp() * (1e9 / System.Diagnostics.Stopwatch.Frequency));
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

/// <summary>
/// Time that passed in parts that do the same each time they run: all of it, and without that of laps in which it was
/// waited, for a processor or for the collector, which stands for CPU time.
/// </summary>
sealed class Laps(int parts)
{
  const int Kept = 4096;
  const long WaitNs = 2_000_000; // what a lap takes longer than the usual one if there was none
  readonly long[][] laps = [.. Enumerable.Range(0, parts).Select(_ => new long[Kept])];
  readonly long[] passed = new long[parts], n = new long[parts];
  long last;

  public void Begin() => last = Clock.Passing();

  public void End(int part)
  {
    long now = Clock.Passing();
    passed[part] += now - last;
    laps[part][n[part]++ % Kept] = now - last;
    last = now;
  }

  public long Passed(int part) => passed[part];

  public long Used(int part)
  {
    var kept = laps[part][..(int)Math.Min(n[part], Kept)];
    Array.Sort(kept);
    return (long)(kept.Where(lap => lap <= kept[kept.Length / 2] + WaitNs).DefaultIfEmpty().Average() * n[part]);
  }
}
