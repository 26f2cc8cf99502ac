// SPDX-License-Identifier: MIT
// Programs whose threads wait: asleep in every way, for each other for ever, or for the collector.
using System.IO.Pipes;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;
using Microsoft.Win32.SafeHandles;

namespace Truth;

/// <summary>Two threads that wait for each other's lock while a third works.</summary>
static class Deadlock
{
  static readonly object left = new(), right = new();

  public static JsonObject Run(Options o)
  {
    using var both = new Barrier(2);
    var stuck = new[] { Stuck("stuck-left", left, right, both), Stuck("stuck-right", right, left, both) };
    foreach (var thread in stuck)
      thread.Start();
    foreach (var thread in stuck)
      while ((thread.ThreadState & ThreadState.WaitSleepJoin) == 0)
        Thread.Sleep(1);
    var truth = Places.Run(o, ("Truth.Deadlock.Work", Work));
    foreach (var thread in stuck)
      Check.That(!thread.Join(0), "the threads are not deadlocked");
    truth["deadlocked"] = stuck.Length;
    return truth;
  }

  static Thread Stuck(string name, object first, object second, Barrier both) => new(() => {
    lock (first) {
      both.SignalAndWait();
      TakeSecond(second);
    }
  }) { Name = name, IsBackground = true };

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void TakeSecond(object second)
  {
    lock (second)
      throw new WrongResult("the second lock was free");
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Work() => Burn.For(300_000);
}

/// <summary>
/// A collection that cannot begin: one thread runs native code that the runtime takes for managed, one asks
/// for a collection, and one runs a loop that can be stopped, and is.
/// </summary>
static class Endless
{
  public static JsonObject Run(Options o)
  {
    Places.Prepare();
    var ledger = new Ledger();
    using var running = new ManualResetEventSlim();
    int before = GC.CollectionCount(2);
    bool done = false;
    Crew.Run([
      ("deaf", () => {
        running.Set();
        Deaf((ulong)(o.Seconds * 1e9));
        ledger.Add("deaf", Clock.Thread());
        Volatile.Write(ref done, true);
      }),
      ("collector", () => {
        running.Wait();
        do {
          GC.Collect();
          Thread.Sleep(1);
        } while (!Volatile.Read(ref done));
      }),
      ("loop", () => {
        running.Wait();
        Loop(ref done);
      }),
    ]);
    Check.That(GC.CollectionCount(2) > before, "no collection");
    return new JsonObject { ["work"] = 1, ["threads"] = ledger.ToJson() };
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Deaf(ulong ns) => Check.That(Places.truth_burn(ns) >= ns, "truth_burn: too short");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Loop(ref bool done)
  {
    while (!Volatile.Read(ref done)) {
    }
  }
}

/// <summary>
/// Two hundred threads asleep in ten ways, none of which a signal may cut short, and two that work: the
/// threads sleep so long that only what disturbs them uses any CPU.
/// </summary>
static class Sleepers
{
  const int EachKind = 20, Workers = 2, NapMs = 100;

  static readonly string[] natively = ["nanosleep", "poll", "epoll", "select", "sem"];

  static volatile bool done;
  static readonly object monitor = new();
  static readonly ManualResetEventSlim released = new(false, 0);
  static readonly TaskCompletionSource task = new();
  static readonly Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

  public static JsonObject Run(Options o)
  {
    Places.Prepare();
    listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
    listener.Listen(2 * EachKind);
    var kinds = new List<(string Name, Action Sleep)> {
      ("sleep", Sleep), ("wait", Wait), ("event", Event), ("task", Task), ("accept", Accept),
    };
    for (int i = 0; i < natively.Length; i++) {
      int how = i;
      kinds.Add((natively[i], () => Natively(how)));
    }
    using var awake = new CountdownEvent(kinds.Count * EachKind);
    var ledger = new Ledger();
    var members = kinds.SelectMany(kind => Enumerable.Range(0, EachKind).Select(n =>
      ($"{kind.Name}-{n}", (Action)(() => {
        awake.Signal();
        kind.Sleep();
      })))).ToList();
    using var working = new CountdownEvent(Workers);
    members.AddRange(Enumerable.Range(0, Workers).Select(n => ($"busy-{n}", (Action)(() => {
      awake.Wait();
      Burn.For((long)(o.Seconds * 1e9) / Workers);
      ledger.Add($"busy-{n}", Clock.Thread());
      if (working.Signal())
        WakeAll();
    }))));
    Crew.Run(members);
    listener.Dispose();
    return new JsonObject {
      ["work"] = 1, ["sleepers"] = kinds.Count * EachKind, ["threads"] = ledger.ToJson(),
    };
  }

  static void WakeAll()
  {
    done = true;
    released.Set();
    task.SetResult();
    lock (monitor)
      Monitor.PulseAll(monitor);
    for (int i = 0; i < EachKind; i++) {
      using var client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
      client.Connect(listener.LocalEndPoint!);
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Sleep()
  {
    while (!done) {
      long begin = Environment.TickCount64;
      Thread.Sleep(NapMs);
      Check.That(Environment.TickCount64 - begin >= NapMs - 20, "Thread.Sleep was too short");
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Wait()
  {
    lock (monitor)
      while (!done)
        Monitor.Wait(monitor);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Event() => released.Wait();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Task() => task.Task.Wait();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Accept()
  {
    using var client = listener.Accept();
    Check.That(done, "a connection that nobody made");
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Natively(int how)
  {
    while (!done)
      Check.Same($"{natively[how]}: 0, or 1 after EINTR", 0, Places.truth_sleep(how, NapMs));
  }
}

/// <summary>Five hundred threads at once, each of which lives for a moment and starts its successor's place.</summary>
static class Crowd
{
  const int AtOnce = 500, Steps = 20_000;

  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    ulong expected = Burn.Steps(Steps);
    using var places = new SemaphoreSlim(AtOnce);
    long started = 0, right = 0;
    var born = new CountdownEvent(AtOnce);
    // The first ones wait for each other, so that there are this many at once indeed.
    while (started < AtOnce || budget.More()) {
      places.Wait();
      bool first = started < AtOnce;
      new Thread(() => {
        if (first) {
          born.Signal();
          born.Wait();
        }
        if (Burn.Steps(Steps) == expected)
          Interlocked.Increment(ref right);
        Thread.Sleep(5);
        places.Release();
      }) { Name = $"crowd-{started++ % AtOnce}" }.Start();
    }
    for (int i = 0; i < AtOnce; i++)
      places.Wait();
    Check.Same("right results", started, Interlocked.Read(ref right));
    return new JsonObject { ["work"] = budget.Done, ["at_once"] = AtOnce, ["threads_started"] = started };
  }
}

/// <summary>
/// A thread for each way to wait, that does it again and again; what it waits for comes from one that has the
/// lock for <c>HoldMs</c> each time. <c>--seconds</c> is the time that it takes. <c>laps</c>: how often each came through.
/// </summary>
static class Waits
{
  const int HoldMs = 60, Exclusive = 2, Unlock = 8;

  static volatile bool done;
  static readonly object gate = new();
  static readonly AutoResetEvent told = new(false);
  static readonly SemaphoreSlim free = new(0);
  static readonly Ledger laps = new();

  [DllImport("libc", EntryPoint = "flock")]
  static extern int FileLock(SafeFileHandle file, int how);

  public static JsonObject Run(Options o)
  {
    string path = Path.GetTempFileName();
    using var held = Open(path);
    using var wanted = Open(path);
    using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
    listener.Listen(1);
    using var sender = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    sender.Connect(listener.LocalEndPoint!);
    using var receiver = listener.Accept();
    using var writer = new AnonymousPipeServerStream(PipeDirection.Out);
    using var reader = new AnonymousPipeClientStream(PipeDirection.In, writer.ClientSafePipeHandle);
    File.Delete(path);
    Crew.Run([
      Again("sleep", Sleep), Again("lock", Lock), Again("event", Event), Again("semaphore", Semaphore),
      Again("socket", () => Receive(receiver)), Again("pipe", () => Read(reader)), Again("file", () => TakeFile(wanted)),
      ("giver", () => Give(o, () => {
        Check.Same("the lock of the file", 0, FileLock(held, Exclusive));
        lock (gate)
          Thread.Sleep(HoldMs);
        Check.Same("the lock of the file", 0, FileLock(held, Unlock));
        told.Set();
        free.Release();
        sender.Send([1]);
        writer.WriteByte(1);
        Thread.Sleep(2);
      })),
    ]);
    return new JsonObject { ["work"] = 1, ["laps"] = laps.ToJson() };
  }

  static SafeFileHandle Open(string path) => File.OpenHandle(path, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite | FileShare.Delete);

  static (string, Action) Again(string name, Action wait) => (name, () => {
    while (!done) {
      wait();
      laps.Add(name, 1);
    }
  });

  /// <summary>The last time is for those who still wait when all is done.</summary>
  static void Give(Options o, Action once)
  {
    long end = Environment.TickCount64 + (long)(o.Seconds * 1000);
    while (Environment.TickCount64 < end)
      once();
    done = true;
    once();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Sleep() => Thread.Sleep(HoldMs);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Lock()
  {
    lock (gate)
      Thread.SpinWait(10);
    Thread.Sleep(1);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Event() => told.WaitOne();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Semaphore() => free.Wait();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Receive(Socket socket)
  {
    Span<byte> one = stackalloc byte[1];
    Check.Same("bytes received", 1, socket.Receive(one));
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Read(Stream stream) => Check.Same("byte read", 1, stream.ReadByte());

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void TakeFile(SafeFileHandle file)
  {
    Check.Same("the lock of the file", 0, FileLock(file, Exclusive));
    Check.Same("the lock of the file", 0, FileLock(file, Unlock));
    Thread.Sleep(1);
  }
}
