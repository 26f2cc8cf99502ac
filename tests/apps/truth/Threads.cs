// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>Work of which only the amount matters.</summary>
static class Burn
{
  /// <summary>About 10 µs for each 10,000 steps.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static ulong Steps(int n)
  {
    ulong x = 1;
    for (int i = 0; i < n; i++)
      x = x * 6364136223846793005 + 1442695040888963407;
    return x;
  }

  static readonly ulong chunk = Steps(100_000);

  /// <summary>Burns this much CPU time of the calling thread and returns what it was in the end.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static long For(long ns)
  {
    long start = Clock.Thread(), now;
    do {
      Check.Same("Burn.Steps", chunk, Steps(100_000));
      now = Clock.Thread();
    } while (now - start < ns);
    return now - start;
  }
}

/// <summary>Runs threads and hands the first failure of one to the caller.</summary>
static class Crew
{
  public static void Run(IEnumerable<(string Name, Action Body)> members)
  {
    Exception? failure = null;
    var threads = new List<Thread>();
    foreach (var (name, body) in members) {
      var thread = new Thread(() => {
        try {
          body();
        } catch (WrongResult e) {
          Interlocked.CompareExchange(ref failure, e, null);
        }
      }) { Name = name };
      threads.Add(thread);
      thread.Start();
    }
    threads.ForEach(t => t.Join());
    if (failure != null)
      throw failure;
  }
}

/// <summary>Eight threads; thread n does n + 1 of 36 parts of the work.</summary>
static class Threads8
{
  const int Count = 8;
  const long Parts = Count * (Count + 1) / 2;

  public static JsonObject Run(Options o)
  {
    var ledger = new Ledger();
    Crew.Run(Enumerable.Range(0, Count).Select(n => ($"worker-{n}", (Action)(() => Work(n, o, ledger)))));
    return new JsonObject { ["work"] = Parts, ["threads"] = ledger.ToJson() };
  }

  static void Work(int n, Options o, Ledger ledger)
  {
    Burn.For((long)(o.Seconds * 1e9) * (n + 1) / Parts);
    ledger.Add($"worker-{n}", Clock.Thread());
  }
}

/// <summary>Two hundred threads that sleep and two that work.</summary>
static class Idle
{
  const int Sleepers = 200, Workers = 2;

  public static JsonObject Run(Options o)
  {
    using var done = new ManualResetEventSlim(false, 0);
    using var awake = new CountdownEvent(Sleepers);
    var ledger = new Ledger();
    var sleepers = Enumerable.Range(0, Sleepers).Select(n => new Thread(() => {
      awake.Signal();
      done.Wait();
    }) { Name = $"sleeper-{n}" }).ToList();
    sleepers.ForEach(t => t.Start());
    awake.Wait();
    Crew.Run(Enumerable.Range(0, Workers).Select(n => ($"busy-{n}", (Action)(() => {
      Burn.For((long)(o.Seconds * 1e9) / Workers);
      ledger.Add($"busy-{n}", Clock.Thread());
    }))));
    done.Set();
    sleepers.ForEach(t => t.Join());
    return new JsonObject { ["work"] = 1, ["sleepers"] = Sleepers, ["threads"] = ledger.ToJson() };
  }
}

/// <summary>Threads that come and go, a few at a time, each with a little work.</summary>
static class ShortThreads
{
  const int AtOnce = 6;

  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    ulong expected = Burn.Steps(20_000);
    long sum = 0, threads = 0;
    while (budget.More()) {
      Crew.Run(Enumerable.Range(0, AtOnce).Select(n => ($"short-{n}", (Action)(() => {
        Check.Same("Burn.Steps in a short thread", expected, Burn.Steps(20_000));
        Interlocked.Add(ref sum, n);
      }))));
      threads += AtOnce;
    }
    Check.Same("sum over all threads", budget.Done * (AtOnce * (AtOnce - 1) / 2), sum);
    return new JsonObject { ["work"] = budget.Done, ["threads_started"] = threads };
  }
}

/// <summary>Ten thousand threads of 0.3 ms each, a few at a time: shorter than the time between two samples.</summary>
static class Brief
{
  const int Threads = 10_000, AtOnce = 4;

  public static JsonObject Run(Options o)
  {
    var ledger = new Ledger();
    for (int started = 0; started < Threads; started += AtOnce)
      Crew.Run(Enumerable.Range(0, AtOnce).Select(n => ("brief", (Action)(() => {
        Burn.For(300_000);
        ledger.Add("brief", Clock.Thread());
      }))));
    return new JsonObject { ["work"] = Threads, ["threads"] = ledger.ToJson() };
  }
}

/// <summary>
/// Native threads that get the number of one that has ended a moment ago. The kernel gives numbers in turn; root may say
/// where it goes on, and others may take the number first.
/// </summary>
static class Reused
{
  const string Last = "/proc/sys/kernel/ns_last_pid";
  const int Again = 12;

  static ulong Native(string name, ulong ns)
  {
    var spent = new ulong[1];
    Check.Same("pthread_create", 0, Helper.truth_threads(1, ns, name, spent));
    return spent[0];
  }

  static int LastNumber() => int.Parse(File.ReadAllText(Last));

  public static JsonObject Run(Options o)
  {
    ulong first = 0, next = 0;
    int again = 0, tries = 0;
    for (; again < Again; tries++) {
      first += Native("first", 2_000_000);
      int number = LastNumber();
      while (Directory.Exists($"/proc/self/task/{number}")) { }
      File.WriteAllText(Last, $"{number - 1}");
      next += Native("next", 60_000_000);
      again += LastNumber() == number ? 1 : 0;
    }
    return new JsonObject {
      ["work"] = 1, ["tries"] = tries, ["threads"] = new JsonObject { ["first-0"] = first, ["next-0"] = next },
    };
  }
}

/// <summary>
/// Threads of native code that call managed code and end, of which the runtime's finalizer is to tell: that one is busy.
/// Then as many threads that compute for a while each.
/// </summary>
static unsafe class Lent
{
  const int Threads = 6;

  static readonly ManualResetEventSlim busy = new(), released = new();

  public static JsonObject Run(Options o)
  {
    var ledger = new Ledger();
    Forget();
    GC.Collect();
    busy.Wait();
    for (int i = 0; i < Threads; i++) {
      long calls = 0;
      ulong spent;
      Check.Same("pthread_create", 0, Helper.truth_call_in_thread(&OnNativeThread, &calls, "lent", &spent));
      Check.Same("calls from a native thread", 1, calls);
    }
    Thread.Sleep(500);
    Crew.Run(Enumerable.Range(0, Threads).Select(n => ($"worker-{n}", (Action)(() => {
      Burn.For((long)(o.Seconds * 1e9) / Threads);
      ledger.Add($"worker-{n}", Clock.Thread());
    }))));
    released.Set();
    return new JsonObject { ["work"] = 1, ["threads"] = ledger.ToJson() };
  }

  [UnmanagedCallersOnly]
  static void OnNativeThread(void* calls) => ++*(long*)calls;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Forget() => GC.KeepAlive(new Forgotten());

  sealed class Forgotten
  {
    ~Forgotten()
    {
      busy.Set();
      released.Wait();
    }
  }
}
