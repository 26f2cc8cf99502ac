// SPDX-License-Identifier: MIT
// Threads that wait for locks which others have, for times that are known.
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// One thread holds a lock until another one waits for it, and <c>hold_ns</c> longer (<c>--hold</c> milliseconds): asleep,
/// or computing. <c>waits</c>: for each way how often that was and how long it took the one that waited, in all, by his own
/// clock. <c>contentions</c> is what the runtime counts, <c>before</c> what it did until then. With <c>--brief</c> there are as many waits more that are over at
/// once. With <c>--interrupted</c> one thread alone waits for two locks, and not to the end for the first. With <c>--given-up</c> a <c>Lock</c> is waited for <c>times</c> times, and not got.
/// With <c>--before</c> one waits for what <c>--when</c> lets go. <c>--hot</c> is for bench/events and bench/steady. With <c>--seconds</c> threads wait for each other in turns until then, and nothing is known of it. <c>--when FILE</c> as of exceptions.
/// </summary>
static class Locks
{
  const int Rounds = 12;

  sealed class Gate;

  sealed class Left;

  /// <summary>Of waits that are brief but where the machine has others to serve.</summary>
  sealed class Brief;

  static volatile int round;
  static int holdMs = 20;

  public static JsonObject Run(Options o)
  {
    holdMs = o.Number("--hold", holdMs);
    if (o.Has("--hot"))
      return Hot(o);
    if (o.Work == 0) {
      InTurns(o);
      return new JsonObject { ["work"] = 0 };
    }
    if (o.Has("--before"))
      return Before(o);
    o.WaitToBegin();
    if (o.Has("--interrupted"))
      return Interrupted();
#if NET9_0_OR_GREATER
    if (o.Has("--given-up"))
      return GivenUp();
#endif
    var waits = new JsonObject();
    bool over = false;
    var unloading = o.Has("--unloading") ? Unload.Meanwhile(() => Volatile.Read(ref over)) : null;
    long before = Monitor.LockContentionCount;
    waits["HoldAsleep"] = Play(o, new Gate(), HoldAsleep);
    waits["HoldBusy"] = Play(o, new object(), HoldBusy);
#if NET9_0_OR_GREATER
    waits["HoldLock"] = PlayLock(o);
#endif
    if (o.Has("--brief"))
      Play(o, new Brief(), HoldBriefly);
    long contentions = Monitor.LockContentionCount - before;
    Volatile.Write(ref over, true);
    unloading?.Join();
    o.SayDone();
    return new JsonObject {
      ["work"] = o.Work, ["waits"] = waits, ["contentions"] = contentions, ["before"] = before, ["hold_ns"] = holdMs * 1_000_000L,
    };
  }

  static long Now() => (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));

  /// <summary>Until another thread waits for what this one has.</summary>
  static void UntilContended(long since)
  {
    while (Monitor.LockContentionCount == since)
      Thread.Sleep(1);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void HoldAsleep(object gate, long since)
  {
    lock (gate) {
      round++;
      UntilContended(since);
      Thread.Sleep(holdMs);
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void HoldBusy(object gate, long since)
  {
    lock (gate) {
      round++;
      UntilContended(since);
      for (long end = Now() + holdMs * 1_000_000L; Now() < end;)
        Thread.SpinWait(20);
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void HoldBriefly(object gate, long since)
  {
    lock (gate) {
      round++;
      while (Monitor.LockContentionCount == since)
        Thread.SpinWait(20);
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long WaitHere(object gate)
  {
    long begin = Now();
    lock (gate)
      return Now() - begin;
  }

  /// <summary>Thread "holder" has the lock first in each round, then "waiter" asks for it.</summary>
  static JsonObject Play(Options o, Action<long> hold, Func<long> wait)
  {
    long rounds = o.Work * Rounds, waited = 0;
    using var begun = new Barrier(2);
    Crew.Run([
      ("holder", () => {
        for (long i = 0; i < rounds; i++) {
          begun.SignalAndWait();
          hold(Monitor.LockContentionCount);
          begun.SignalAndWait();
        }
      }),
      ("waiter", () => {
        for (long i = 0; i < rounds; i++) {
          int last = round;
          begun.SignalAndWait();
          while (round == last)
            Thread.Sleep(1);
          waited += wait();
          begun.SignalAndWait();
        }
      }),
    ]);
    return new JsonObject { ["count"] = rounds, ["ns"] = waited };
  }

  static JsonObject Play(Options o, object gate, Action<object, long> hold) =>
    Play(o, since => hold(gate, since), () => WaitHere(gate));

#if NET9_0_OR_GREATER
  static JsonObject PlayLock(Options o)
  {
    var gate = new Lock();
    return Play(o, since => HoldLock(gate, since), () => WaitForLock(gate));
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void HoldLock(Lock gate, long since)
  {
    lock (gate) {
      round++;
      UntilContended(since);
      Thread.Sleep(holdMs);
    }
  }

  static JsonObject GivenUp()
  {
    const int Times = 3;
    var gate = new Lock();
    lock (gate)
      Crew.Run([("impatient", () => {
        for (int i = 0; i < Times; i++)
          Check.That(!gate.TryEnter(holdMs), "the lock was free");
      })]);
    return new JsonObject { ["work"] = 1, ["times"] = Times };
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long WaitForLock(Lock gate)
  {
    long begin = Now();
    lock (gate)
      return Now() - begin;
  }
#endif

  /// <summary><c>ns</c>: how long it waited for the second one.</summary>
  static JsonObject Interrupted()
  {
    var left = new Left();
    var gate = new Gate();
    long since = Monitor.LockContentionCount, waited = 0;
    bool interrupted = false;
    var waiter = new Thread(() => {
      try {
        WaitHere(left);
      } catch (ThreadInterruptedException) {
        interrupted = true;
      }
      waited = WaitHere(gate);
    }) { Name = "waiter" };
    lock (left) {
      lock (gate) {
        waiter.Start();
        UntilContended(since);
        Thread.Sleep(holdMs);
        waiter.Interrupt();
        UntilContended(since + 1);
        Thread.Sleep(holdMs);
      }
      waiter.Join();
    }
    Check.That(interrupted, "the thread has got the lock");
    return new JsonObject { ["work"] = 1, ["ns"] = waited, ["hold_ns"] = holdMs * 1_000_000L };
  }

  /// <summary>A thread waits before anybody is told of it, until SayDone is near.</summary>
  static JsonObject Before(Options o)
  {
    var gate = new Gate();
    long since = Monitor.LockContentionCount, waited = 0;
    var waiter = new Thread(() => waited = WaitHere(gate)) { Name = "waiter" };
    lock (gate) {
      waiter.Start();
      UntilContended(since);
      o.WaitToBegin();
    }
    waiter.Join();
    o.SayDone();
    return new JsonObject { ["work"] = 1, ["ns"] = waited };
  }

  const int TurnsAtOnce = 4000;

  /// <summary>Turns of four threads that all want the same lock for a moment: what a recording adds shows.</summary>
  static JsonObject Hot(Options o)
  {
    var gate = new Gate();
    var budget = o.Budget();
    long turns = 0, before = Monitor.LockContentionCount;
    Crew.Run(Enumerable.Range(0, 4).Select(i => ($"hot{i}", (Action)(() => {
      while (true) {
        lock (gate) {
          if (turns % TurnsAtOnce == 0 && !budget.More())
            break;
          turns++;
          Burn.Steps(3_000);
        }
        Burn.Steps(3_000);
      }
    }))));
    Check.Same("turns", budget.Done * TurnsAtOnce, turns);
    return new JsonObject { ["work"] = budget.Done, ["contentions"] = Monitor.LockContentionCount - before };
  }

  /// <summary>Four threads that give one lock to each other, and one that never waits longer than a moment.</summary>
  static void InTurns(Options o)
  {
    var gate = new Gate();
    long end = Now() + (long)(o.Seconds * 1e9);
    Crew.Run([
      .. Enumerable.Range(0, 4).Select(i => ($"turn{i}", (Action)(() => {
        while (Now() < end)
          HoldInTurn(gate);
      }))),
      ("impatient", () => {
        while (Now() < end)
          if (Monitor.TryEnter(gate, 2))
            Monitor.Exit(gate);
      }),
    ]);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void HoldInTurn(object gate)
  {
    lock (gate)
      Thread.Sleep(2);
  }
}
