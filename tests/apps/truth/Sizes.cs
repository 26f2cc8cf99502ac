// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Allocates known bytes by type and place. Many types are allocated alike, each from two places, in small
/// batches and random order: so one run holds many estimates of one truth. Bytes are counted by the runtime
/// itself, for the thread that allocates.
/// </summary>
static class Sizes
{
  sealed class Cell<TKey, TValue>
  {
    public long First = 1, Second = 2, Third = 3;
  }

  sealed class Kind(string name, Action small, Action large)
  {
    public readonly string Name = name;
    public readonly Action[] Places = [small, large];
    public readonly long[] Bytes = new long[2];
  }

  const int BatchBytes = 20_000;
  public static object? Kept;

  public static JsonObject Run(Options o)
  {
    var kinds = Kinds();
    long each = o.Number("--bytes", 20_000_000);
    var random = new Random(o.Number("--seed", 1));
    int rounds = (int)(each / (4 * BatchBytes)); // one batch here, three there
    var order = Enumerable.Range(0, kinds.Count * 4).ToArray();
    foreach (var kind in kinds)
      foreach (var place in kind.Places)
        place(); // compiled by now
    for (int i = 0; i < rounds; i++) {
      random.Shuffle(order);
      foreach (int next in order)
        Batch(kinds[next / 4], next % 4 == 0 ? 0 : 1);
    }
    long large = Large((int)(each / 1_000_000));
    Pointers();
    var types = new JsonObject();
    foreach (var kind in kinds)
      types[kind.Name] = new JsonArray(kind.Bytes[0], kind.Bytes[1]);
    return new JsonObject { ["types"] = types, ["large"] = large };
  }

  static void Batch(Kind kind, int place)
  {
    long before = GC.GetAllocatedBytesForCurrentThread();
    kind.Places[place]();
    kind.Bytes[place] += GC.GetAllocatedBytesForCurrentThread() - before;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Large(int n)
  {
    long before = GC.GetAllocatedBytesForCurrentThread();
    for (int i = 0; i < n; i++)
      Kept = new long[125_000 - 3];
    return GC.GetAllocatedBytesForCurrentThread() - before;
  }

  /// <summary>The runtime has no answer to what these are arrays of.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static unsafe void Pointers() => Kept = new int*[125_000 - 3];

  static readonly Type[] parts = [typeof(byte), typeof(short), typeof(int), typeof(long), typeof(float), typeof(double), typeof(char)];

  static List<Kind> Kinds()
  {
    var kinds = new List<Kind>();
    foreach (var a in parts)
      foreach (var b in parts) {
        var here = typeof(Sizes).GetMethod(nameof(Here), BindingFlags)!.MakeGenericMethod(a, b);
        var there = typeof(Sizes).GetMethod(nameof(There), BindingFlags)!.MakeGenericMethod(a, b);
        kinds.Add(new Kind($"Truth.Sizes+Cell<{a.FullName}, {b.FullName}>", here.CreateDelegate<Action>(), there.CreateDelegate<Action>()));
      }
    return kinds;
  }

  const System.Reflection.BindingFlags BindingFlags = System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Static;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Here<TKey, TValue>()
  {
    for (int i = 0; i < BatchBytes / 40; i++)
      Kept = new Cell<TKey, TValue>();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void There<TKey, TValue>()
  {
    for (int i = 0; i < BatchBytes / 40; i++)
      Kept = new Cell<TKey, TValue>();
  }
}
