// SPDX-License-Identifier: MIT
// Collections of garbage whose times are known, and threads that are stopped for them in different ways.
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// <c>collector</c> asks for collections of a heap that takes a while, every third in the background; <c>collections</c>:
/// when it asked for each (CLOCK_MONOTONIC, ns), when that was over, and how many the runtime made of it. There are no
/// others (<c>all</c>: what the runtime counts), as long as DOTNET_GCgen0size is large. <c>spin</c> is stopped in managed code, <c>native</c> on its
/// return from native code, <c>alloc</c> where it wants memory. <c>lock</c> waits for a lock, which its holder gives back
/// every 40 ms: no collection has to do with that, nor has one in the background.
/// </summary>
static class Collections
{
  const int Objects = 2_000_000, HoldMs = 40, RestMs = 120, Bytes = 8000, ApartNs = 200_000;

  sealed class Node { public Node? Next; public long Value; }

  static volatile bool done = true;
  static readonly object gate = new();

  public static JsonObject Run(Options o)
  {
    var heap = Linked();
    GC.Collect();
    var collections = new JsonArray();
    using var begun = new Barrier(6, _ => done = false);
    int before = GC.CollectionCount(0), after = 0;
    Crew.Run([
      ("collector", () => {
        begun.SignalAndWait();
        Collect(o, collections);
        after = GC.CollectionCount(0);
        done = true;
      }),
      With(begun, "spin", Spin), With(begun, "native", Native), With(begun, "alloc", Allocate), With(begun, "lock", Lock),
      With(begun, "holder", Hold),
    ]);
    Check.Same("the heap", Objects, heap.Count(n => n.Next != null));
    return new JsonObject { ["work"] = 1, ["collections"] = collections, ["all"] = after - before };
  }

  /// <summary><c>amid</c> ends while a collection goes on in the background.</summary>
  public static JsonObject EndAmid(Options o)
  {
    var heap = Linked();
    GC.Collect();
    GC.Collect(2, GCCollectionMode.Forced, blocking: false, compacting: false);
    GC.KeepAlive(heap);
    return new JsonObject { ["work"] = 1 };
  }

  static Node[] Linked()
  {
    var heap = new Node[Objects];
    for (int i = 0; i < Objects; i++)
      heap[i] = new Node { Value = i };
    for (int i = 0; i < Objects; i++)
      heap[i].Next = heap[(int)(i * 7_654_321L % Objects)];
    return heap;
  }

  /// <summary>Each takes one turn before, so that all code is compiled by then.</summary>
  static (string, Action) With(Barrier begun, string name, Action body) => (name, () => {
    body();
    begun.SignalAndWait();
    body();
  });

  static long Now() => (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));

  static void Collect(Options o, JsonArray collections)
  {
    long end = Now() + (long)(o.Seconds * 1e9);
    for (int i = 0; Now() < end || i < 6; i++) {
      int count = GC.CollectionCount(0);
      long begin = Now();
      if (i % 3 == 2)
        InBackground();
      else
        GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: false);
      collections.Add(new JsonObject {
        ["begin_ns"] = begin, ["end_ns"] = Now(), ["background"] = i % 3 == 2, ["count"] = GC.CollectionCount(0) - count,
      });
      Thread.Sleep(RestMs);
    }
  }

  static void InBackground()
  {
    long last = GC.GetGCMemoryInfo(GCKind.Background).Index;
    GC.Collect(2, GCCollectionMode.Forced, blocking: false, compacting: false);
    while (GC.GetGCMemoryInfo(GCKind.Background).Index == last)
      Thread.Sleep(1);
  }

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static void Spin()
  {
    do {
    } while (!done);
  }

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static void Native()
  {
    do
      Clock.Thread();
    while (!done);
  }

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static void Allocate()
  {
    do {
      GC.KeepAlive(new byte[Bytes]);
      // SpinWait would be no measure of time: what it takes is estimated anew in each process.
      for (long until = Now() + ApartNs; Now() < until; ) {
      }
    } while (!done);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Lock()
  {
    do {
      lock (gate)
        Thread.SpinWait(10);
      Thread.Sleep(1);
    } while (!done);
  }

  static void Hold()
  {
    do {
      lock (gate)
        Thread.Sleep(HoldMs);
      Thread.Sleep(2);
    } while (!done);
  }
}
