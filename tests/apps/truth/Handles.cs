// SPDX-License-Identifier: MIT
// Threads that wait for what another one sets, releases or pulses, for times that are known.
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// One thread waits in ways of different methods, and another lets it go on <c>hold_ns</c> after it sleeps. <c>waits</c>: for
/// each way how often that was and how long it took the one that waited, in all, by his own clock.
/// </summary>
/// <remarks><c>--when FILE</c>: as <c>marks</c>.</remarks>
static class Handles
{
  const int Rounds = 10, HoldMs = 20;

  static readonly ManualResetEvent set = new(false), never = new(false);
  static readonly SemaphoreSlim slim = new(0);
  static readonly FieldInfo waitingForSlim = typeof(SemaphoreSlim).GetField("m_waitCount", BindingFlags.NonPublic | BindingFlags.Instance)!;
  static readonly Semaphore released = new(0, 1);
  static readonly object gate = new();
  static bool pulsed;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void ForEvent() => set.WaitOne();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void ForOneOfTwo() => Check.Same("which was released", 1, WaitHandle.WaitAny([never, released]));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void ForPulse()
  {
    lock (gate) {
      while (!pulsed)
        Monitor.Wait(gate);
      pulsed = false;
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void ForSlim() => slim.Wait();

  /// <summary>It first looks again and again, for as long as it takes a busy machine; now it does so no more.</summary>
  static bool WaitsForSlim() => (int)waitingForSlim.GetValue(slim)! > 0;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void InVain() => Check.That(!never.WaitOne(HoldMs), "nobody has set it");

  static void Set() => set.Set();

  static void Release() => released.Release();

  static void Pulse()
  {
    lock (gate) {
      pulsed = true;
      Monitor.Pulse(gate);
    }
  }

  static void ReleaseSlim() => slim.Release();

  static JsonObject Play(Action wait, Action? go, Func<bool>? waits = null)
  {
    long waited = 0;
    for (int i = 0; i < Rounds; i++) {
      var waiter = new Thread(() => {
        long begin = Stopwatch.GetTimestamp();
        wait();
        waited += (long)((Stopwatch.GetTimestamp() - begin) * (1e9 / Stopwatch.Frequency));
      }) { Name = "waiter" };
      waiter.Start();
      while (go != null && ((waiter.ThreadState & System.Threading.ThreadState.WaitSleepJoin) == 0 || waits?.Invoke() == false))
        Thread.Sleep(1);
      if (go != null)
        Thread.Sleep(HoldMs);
      go?.Invoke();
      waiter.Join();
      set.Reset();
    }
    return new JsonObject { ["count"] = Rounds, ["ns"] = waited };
  }

  public static JsonObject Run(Options o)
  {
    o.WaitToBegin();
    var waits = new JsonObject {
      ["ForEvent"] = Play(ForEvent, Set), ["ForOneOfTwo"] = Play(ForOneOfTwo, Release), ["ForPulse"] = Play(ForPulse, Pulse),
      ["ForSlim"] = Play(ForSlim, ReleaseSlim, WaitsForSlim), ["InVain"] = Play(InVain, null),
    };
    o.SayDone();
    return new JsonObject { ["work"] = 1, ["waits"] = waits, ["hold_ns"] = HoldMs * 1_000_000L };
  }
}
