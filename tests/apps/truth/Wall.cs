// SPDX-License-Identifier: MIT
// Programs about time that passes, whether a thread runs or waits.
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Two threads that work, sleep, and wait for a lock and for a connection, and two hundred that wait all the time,
/// with <c>--few</c> five. <c>--seconds</c> is the time that it takes; <c>methods</c> and <c>threads</c> are time that passed, not CPU,
/// in methods without what was waited for a processor; what a thread cannot see of its own beginning and end is in <c>threads_at_most</c>, too.
/// </summary>
static class Wall
{
  const int Workers = 2;

  static readonly Ledger methods = new(), lived = new();
  static readonly object contended = new();
  static readonly ManualResetEventSlim done = new(false, 0);

  public static JsonObject Run(Options o)
  {
    int sleepers = o.Has("--few") ? 5 : 200;
    using var awake = new CountdownEvent(sleepers);
    using var working = new CountdownEvent(Workers);
    long end = Stopwatch.GetTimestamp() + (long)(o.Seconds * Stopwatch.Frequency);
    var begun = new Dictionary<string, long>();

    // Each is made, and its time noted, right before it is started.
    (string, Action) Member(string name, Action body)
    {
      begun[name] = Now();
      return (name, () => Live(name, body));
    }
    Crew.Run(Enumerable.Range(0, sleepers).Select(n => Member($"sleeper-{n}", () => {
      awake.Signal();
      done.Wait();
    })).Concat(Enumerable.Range(0, Workers).Select(n => Member($"worker-{n}", () => {
      Work(n, end);
      if (working.Signal())
        done.Set();
    }))));
    long ended = Now();
    var most = new Ledger();
    foreach (var (name, since) in begun)
      most.Add(name, ended - since);
    return new JsonObject {
      ["work"] = 1, ["sleepers"] = sleepers, ["methods"] = methods.ToJson(), ["threads"] = lived.ToJson(),
      ["threads_at_most"] = most.ToJson(),
    };
  }

  static long Now() => (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));

  static void Live(string name, Action body)
  {
    long begin = Now();
    body();
    lived.Add(name, Now() - begin);
  }

  static void Work(int n, long end)
  {
    var random = new Random(n);
    using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
    listener.Listen(1);
    (string Name, Action<int> Part)[] parts = [
      ("Truth.Wall.Compute", Compute), ("Truth.Wall.Nap", Nap), ("Truth.Wall.Lock", Lock),
      ("Truth.Wall.Receive", ms => Receive(listener, ms)),
    ];
    long t = Now() - Booked.Ready();
    while (Stopwatch.GetTimestamp() < end)
      foreach (var (name, part) in parts) {
        part(1 + random.Next(20));
        long now = Now() - Booked.Ready();
        methods.Add(name, now - t);
        t = now;
      }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Compute(int ms) => Burn.For(ms * 1_000_000L);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Nap(int ms) => Thread.Sleep(ms);

  /// <summary>Monitor.Wait in vain, with the other thread's waits for the lock in between.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Lock(int ms)
  {
    lock (contended)
      Monitor.Wait(contended, ms);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Receive(Socket listener, int ms)
  {
    Check.That(!listener.Poll(ms * 1000, SelectMode.SelectRead), "a connection that nobody made");
  }
}

/// <summary>What the scheduler has booked for the calling thread, in ns: with a processor, and while it could have had one.</summary>
static class Booked
{
  public static long Ran() => Read(0);

  public static long Ready() => Read(1);

  static long Read(int field) => long.Parse(File.ReadAllText("/proc/thread-self/schedstat").Split(' ')[field]);
}

/// <summary>
/// Two threads, with <c>--eight</c> eight, that compute, sleep, wait and poll in turns of milliseconds, as those of a server do.
/// <c>methods</c>: the time that passed in those that sleep, without what was waited for a processor. <c>ran_ns</c>, <c>ready_ns</c>: what the system booked for these threads,
/// with a processor from their first instruction on, and while they could have had one during their turns; <c>longest_ready_ns</c>: the
/// most of it of one wait or sleep of each.
/// </summary>
static class Turns
{
  static readonly Ledger methods = new();
  static long ran, ready, longest;
  [ThreadStatic] static long longestOwn;

  public static JsonObject Run(Options o)
  {
    long end = Stopwatch.GetTimestamp() + (long)(o.Seconds * Stopwatch.Frequency);
    Crew.Run(Enumerable.Range(0, o.Has("--eight") ? 8 : 2).Select(n => ($"turn-{n}", (Action)(() => Live(end)))));
    return new JsonObject {
      ["work"] = 1, ["methods"] = methods.ToJson(), ["ran_ns"] = ran, ["ready_ns"] = ready,
      ["longest_ready_ns"] = longest,
    };
  }

  static void Live(long end)
  {
    object own = new();
    long before = Booked.Ready();
    using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
    listener.Listen(1);
    while (Stopwatch.GetTimestamp() < end) {
      Compute();
      Timed("Truth.Turns.Sleep", () => Sleep());
      Timed("Truth.Turns.Wait", () => Wait(own));
      Timed("Truth.Turns.Poll", () => Poll(listener));
    }
    Interlocked.Add(ref ran, Booked.Ran());
    Interlocked.Add(ref ready, Booked.Ready() - before);
    Interlocked.Add(ref longest, longestOwn);
  }

  static void Timed(string name, Action part)
  {
    long begin = Stopwatch.GetTimestamp(), ready = Booked.Ready();
    part();
    ready = Booked.Ready() - ready;
    longestOwn = Math.Max(longestOwn, ready);
    methods.Add(name, (long)Stopwatch.GetElapsedTime(begin).TotalNanoseconds - ready);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Compute() => Burn.For(800_000);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Sleep() => Thread.Sleep(4);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Wait(object own)
  {
    lock (own)
      Monitor.Wait(own, 3);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Poll(Socket listener) => Check.That(!listener.Poll(2000, SelectMode.SelectRead), "a connection that nobody made");
}

/// <summary>
/// Waits of native code that are short, so that threads are as often about to sleep as asleep: which of them failed
/// with EINTR, and which were too short.
/// </summary>
static unsafe class Naps
{
  const int Threads = 4, Rounds = 25, MaxUs = 3000;

  struct Timespec { public long Seconds, Nanoseconds; }

  [DllImport("libc", SetLastError = true)] static extern int usleep(uint us);
  [DllImport("libc", SetLastError = true)] static extern int nanosleep(Timespec* time, Timespec* left);
  [DllImport("libc", SetLastError = true)] static extern int poll(void* fds, nuint n, int ms);
  [DllImport("libc", SetLastError = true)] static extern int epoll_create1(int flags);
  [DllImport("libc", SetLastError = true)] static extern int epoll_wait(int fd, void* events, int n, int ms);
  [DllImport("libc", SetLastError = true)] static extern int select(int n, void* r, void* w, void* x, Timespec* time);
  [DllImport("libc", SetLastError = true)] static extern int sem_init(void* sem, int shared, uint value);
  [DllImport("libc", SetLastError = true)] static extern int sem_timedwait(void* sem, Timespec* until);
  [DllImport("libc")] static extern int clock_gettime(int clock, Timespec* time);

  const int Interrupted = 4, TimedOut = 110;

  public static JsonObject Run(Options o)
  {
    var calls = new Ledger();
    var interrupted = new Ledger();
    var late = new Ledger();
    long end = Stopwatch.GetTimestamp() + (long)(o.Seconds * Stopwatch.Frequency);
    Crew.Run(Enumerable.Range(0, Threads).Select(n => ($"napper-{n}", (Action)(() => {
      using var waits = new Waits();
      var random = new Random(n);
      while (Stopwatch.GetTimestamp() < end)
        for (int i = 0; i < Rounds; i++)
          foreach (var (name, wait) in waits.All) {
            int us = 1 + random.Next(MaxUs);
            Burn.Steps(random.Next(40_000));
            long begin = Stopwatch.GetTimestamp();
            bool whole = wait(us);
            var took = Stopwatch.GetElapsedTime(begin);
            calls.Add(name, 1);
            if (!whole)
              interrupted.Add(name, 1);
            else
              Check.That(took.TotalMicroseconds >= us * 0.99 - 10, $"{name}: {took.TotalMicroseconds} µs instead of {us}");
            late.Add(name, (long)(took.TotalNanoseconds - us * 1000));
          }
    }))));
    return new JsonObject {
      ["work"] = 1, ["calls"] = calls.ToJson(), ["interrupted"] = interrupted.ToJson(), ["late_ns"] = late.ToJson(),
    };
  }

  /// <summary>Each waits for that long and returns false if it was interrupted.</summary>
  sealed class Waits : IDisposable
  {
    readonly int epoll = epoll_create1(0);
    readonly Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    readonly byte* sem = (byte*)NativeMemory.AllocZeroed(64);

    public readonly (string Name, Func<int, bool> Wait)[] All;

    public Waits()
    {
      Check.Same("sem_init", 0, sem_init(sem, 0, 0));
      listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
      listener.Listen(1);
      All = [
        ("usleep", us => Whole(usleep((uint)us))),
        ("nanosleep", us => { var t = Time(us); return Whole(nanosleep(&t, null)); }),
        ("poll", us => Whole(poll(null, 0, Ms(us)))),
        ("epoll_wait", us => { long e; return Whole(epoll_wait(epoll, &e, 1, Ms(us))); }),
        ("select", us => { var t = new Timespec { Nanoseconds = us }; return Whole(select(0, null, null, null, &t)); }),
        ("sem_timedwait", us => { var t = Until(us); return Whole(sem_timedwait(sem, &t)); }),
        ("Socket.Poll", us => !listener.Poll(Ms(us) * 1000, SelectMode.SelectRead)),
      ];
    }

    public void Dispose()
    {
      listener.Dispose();
      NativeMemory.Free(sem);
    }

    static int Ms(int us) => (us + 999) / 1000;

    static Timespec Time(int us) => new() { Nanoseconds = us * 1000L };

    static Timespec Until(int us)
    {
      Timespec t;
      clock_gettime(0, &t);
      t.Nanoseconds += us * 1000L;
      t.Seconds += t.Nanoseconds / 1_000_000_000;
      t.Nanoseconds %= 1_000_000_000;
      return t;
    }

    static bool Whole(int result)
    {
      int error = Marshal.GetLastPInvokeError();
      Check.That(result == 0 || (result == -1 && error is Interrupted or TimedOut), $"a wait failed: {error}");
      return result == 0 || error != Interrupted;
    }
  }
}
