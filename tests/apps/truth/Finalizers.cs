// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// The finalizer's thread, which the runtime also has tell that threads of native code have ended, computes, and is in
/// its finalizer still when <c>--when FILE</c> is made.
/// </summary>
static unsafe class Finalizers
{
  static readonly ManualResetEventSlim burnt = new(), released = new();
  static long spent;

  public static JsonObject Run(Options o)
  {
    o.WaitToBegin();
    Collect(0);
    GC.WaitForPendingFinalizers();
    CalledThread();
    // The runtime looks for threads that have gone when the finalizer has something to do.
    Collect(0);
    GC.WaitForPendingFinalizers();
    Collect(100_000_000);
    burnt.Wait();
    o.SayDone();
    released.Set();
    return new JsonObject { ["methods"] = new JsonObject { ["Truth.Finalizers.Last"] = spent } };
  }

  static void CalledThread()
  {
    long calls = 0;
    ulong spent;
    Check.Same("pthread_create", 0, Helper.truth_call_in_thread(&OnNativeThread, &calls, "called", &spent));
    Check.Same("calls from a native thread", 1, calls);
  }

  [UnmanagedCallersOnly]
  static void OnNativeThread(void* calls) => ++*(long*)calls;

  static void Collect(long ns)
  {
    Forget(ns);
    GC.Collect();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Forget(long ns) => GC.KeepAlive(new Forgotten(ns));

  static void Last(long ns)
  {
    spent = Burn.For(ns);
    burnt.Set();
    released.Wait();
  }

  sealed class Forgotten(long ns)
  {
    ~Forgotten()
    {
      if (ns > 0)
        Last(ns);
    }
  }
}
