// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Threads that all have to stand still for collections: one that comes to a safepoint at once, one that is late since it is
/// in native code that the runtime is not told of, and one that needs not come, since it waits.
/// </summary>
/// <remarks><c>--when FILE</c>: as <c>marks</c>.</remarks>
static class Safepoints
{
  const int Collections = 20;
  const ulong HoldNs = 5_000_000;

  static volatile int holds;
  static volatile bool over;
  static volatile int spins;

  [DllImport("libtruth_fp.so", EntryPoint = "truth_burn"), SuppressGCTransition]
  static extern ulong BurnUnseen(ulong ns);

  [DllImport("kernel32", EntryPoint = "Sleep"), SuppressGCTransition]
  static extern void SleepUnseen(uint ms);

  // Of such calls the place is looked up when their caller is compiled: each has one that is for its system.

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Burn() => BurnUnseen(HoldNs);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Sleep(ulong ns) => SleepUnseen((uint)(ns / 1_000_000));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Hold()
  {
    holds++;
    if (OperatingSystem.IsWindows())
      Sleep(HoldNs);
    else
      Burn();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Spin()
  {
    for (int i = 0; i < 1000; i++)
      spins = i;
    // Under Wine the runtime cannot stop who does not ask: contexts there say nothing of how the thread came to be there.
    if (OperatingSystem.IsWindows())
      Sleep(0);
  }

  static Thread Start(string name, Action work)
  {
    var thread = new Thread(() => work()) { Name = name };
    thread.Start();
    return thread;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Collect() => GC.Collect(0, GCCollectionMode.Forced, blocking: true);

  public static JsonObject Run(Options o)
  {
    using var never = new ManualResetEvent(false);
    o.WaitToBegin();
    int before = GC.CollectionCount(0);
    Thread[] threads = [
      Start("late", () => { while (!over) Hold(); }),
      Start("prompt", () => { while (!over) Spin(); }),
      Start("waits", () => never.WaitOne()),
    ];
    while (!threads[2].ThreadState.HasFlag(ThreadState.WaitSleepJoin))
      Thread.Sleep(1);
    GC.GetTotalAllocatedBytes(precise: true); // stops all for something else, by a thread that is in managed code meanwhile
    for (int i = 0; i < Collections; i++) {
      int now = holds;
      while (holds == now)
        Thread.Sleep(0);
      Collect();
    }
    int after = GC.CollectionCount(0);
    over = true;
    never.Set();
    foreach (Thread thread in threads)
      thread.Join();
    o.SayDone();
    return new JsonObject { ["collections"] = Collections, ["all"] = after - before, ["hold_ns"] = HoldNs };
  }
}
