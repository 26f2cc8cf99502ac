// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Collections of every kind, from methods of known names: asked for by generation, brought about by what is allocated,
/// and in the background. Says how many there were, how long they stopped the program, and what the runtime itself knows
/// of each that was asked for.
/// </summary>
/// <remarks><c>--when FILE</c>: as <c>marks</c>.</remarks>
static class Garbage
{
  const int Live = 200_000, SmallBytes = 1000, LargeBytes = 1_000_000;
  /// <summary>What the runtime's own threads allocate meanwhile is to fit in, or they end the region.</summary>
  const int RegionBytes = 200_000;

  sealed class Node { public Node? Next; public byte[] Bytes = new byte[20]; }

  static object? kept;
  static byte[]? pinned;
  static readonly JsonArray known = [];
  static int none;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Collect0() => GC.Collect(0, GCCollectionMode.Forced, blocking: true);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Collect1() => GC.Collect(1, GCCollectionMode.Forced, blocking: true);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Collect2() => GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CollectInBackground()
  {
    long last = GC.GetGCMemoryInfo(GCKind.Background).Index;
    GC.Collect(2, GCCollectionMode.Forced, blocking: false, compacting: false);
    if (GC.GetGCMemoryInfo(GCKind.FullBlocking).Index > Index)
      return; // the runtime was not allowed to
    while (GC.GetGCMemoryInfo(GCKind.Background).Index == last)
      Thread.Sleep(1);
  }

  static long Index => GC.GetGCMemoryInfo(GCKind.Any).Index;

  /// <summary>Until the youngest generation was collected so many times.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Fill(int collections)
  {
    int until = GC.CollectionCount(0) + collections;
    while (GC.CollectionCount(0) < until)
      kept = new byte[SmallBytes];
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void FillLarge()
  {
    int until = GC.CollectionCount(2) + 1;
    while (GC.CollectionCount(2) < until)
      kept = new byte[LargeBytes];
  }

  static JsonArray Sizes(GCMemoryInfo info, Func<GCGenerationInfo, long> of)
  {
    var sizes = new JsonArray();
    foreach (var generation in info.GenerationInfo)
      sizes.Add(of(generation));
    return sizes;
  }

  /// <summary>What the runtime knows of the last collection of a kind.</summary>
  static void Note(string method, GCKind kind)
  {
    var info = GC.GetGCMemoryInfo(kind);
    long pause = 0;
    foreach (var part in info.PauseDurations)
      pause += (long)part.TotalNanoseconds;
    known.Add(new JsonObject {
      ["number"] = info.Index, ["method"] = $"Truth.Garbage.{method}", ["generation"] = info.Generation,
      ["background"] = info.Concurrent, ["compacting"] = info.Compacted, ["pause_ns"] = pause, ["promoted"] = info.PromotedBytes,
      ["before"] = Sizes(info, g => g.SizeBeforeBytes), ["after"] = Sizes(info, g => g.SizeAfterBytes),
    });
  }

  static void Unit()
  {
    Collect0();
    Note("Collect0", GCKind.Any);
    Collect1();
    Note("Collect1", GCKind.Any);
    Collect2();
    Note("Collect2", GCKind.Any);
    CollectInBackground();
    if (GC.GetGCMemoryInfo(GCKind.Background).Index != 0)
      Note("CollectInBackground", GCKind.Background);
    AskForNone();
    Fill(3);
    FillLarge();
  }

  /// <summary>
  /// Asks for memory that is there already: the runtime counts a collection of every generation, though it collects
  /// nothing.
  /// </summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void AskForNone()
  {
    int count = GC.CollectionCount(2);
    long last = Index;
    if (!GC.TryStartNoGCRegion(RegionBytes))
      return; // it collected, and lacks the memory all the same
    GC.EndNoGCRegion();
    if (Index == last)
      none += GC.CollectionCount(2) - count;
  }

  static long[] Counts() => [GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2)];

  public static JsonObject Run(Options o)
  {
    Node? heap = null;
    for (int i = 0; i < Live; i++)
      heap = new Node { Next = heap };
    pinned = GC.AllocateArray<byte>(100_000, pinned: true);
    o.WaitToBegin();
    // From the program's start all count.
    long[] before = o.When == null ? [0, 0, 0] : Counts();
    long paused = o.When == null ? 0 : (long)GC.GetTotalPauseDuration().TotalNanoseconds;
    var budget = o.Budget();
    while (budget.More())
      Unit();
    long[] after = Counts();
    paused = (long)GC.GetTotalPauseDuration().TotalNanoseconds - paused;
    o.SayDone();
    GC.KeepAlive(heap);
    GC.KeepAlive(pinned);
    return new JsonObject {
      ["work"] = budget.Done,
      ["counts"] = new JsonArray([.. after.Zip(before, (a, b) => (JsonNode)(a - b))]),
      ["none"] = none, ["pause_ns"] = paused, ["known"] = known, ["server"] = System.Runtime.GCSettings.IsServerGC,
    };
  }
}
