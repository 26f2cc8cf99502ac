// SPDX-License-Identifier: MIT
using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Every way an exception can go, in two threads at once; each way counts its steps. <c>--first-chance</c> has them
/// counted by the runtime, too, by their types; <c>--when FILE</c> waits for that file before anything is thrown, makes
/// FILE.done afterwards and waits until FILE has gone.
/// </summary>
static unsafe class Exceptions
{
  sealed class Tagged(int tag) : Exception { public readonly int Tag = tag; }

  static readonly int[]? nothing = null;
  static readonly string? noString = null;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Zero() => 0;

  static readonly ConcurrentDictionary<string, int> told = new();

  static void Tell(object? sender, FirstChanceExceptionEventArgs e) =>
    told.AddOrUpdate(e.Exception.GetType().FullName!, 1, (_, n) => n + 1);

  public static JsonObject Run(Options o)
  {
    o.WaitToBegin();
    if (o.Has("--first-chance"))
      AppDomain.CurrentDomain.FirstChanceException += Tell;
    var truth = All(o);
    AppDomain.CurrentDomain.FirstChanceException -= Tell;
    truth["first_chance"] = new JsonObject(told.Select(t => KeyValuePair.Create(t.Key, (JsonNode?)t.Value)));
    o.SayDone();
    return truth;
  }

  static JsonObject All(Options o)
  {
    var budget = o.Budget();
    var ways = new (string Name, Func<int> Go, int Steps)[] {
      ("nested", Nested, 4), ("filter", Filter, 3), ("rethrow", Rethrow, 3), ("null", Null, 2),
      ("divide", Divide, 1), ("far", () => Far(30), 31), ("catch in catch", InCatch, 3),
      ("native", ThroughNative, 1), ("replaced", Replaced, 2),
    };
    while (budget.More())
      Crew.Run(Enumerable.Range(0, 2).Select(n => ($"throw-{n}", (Action)(() => {
        for (int i = 0; i < 20; i++)
          foreach (var (name, go, steps) in ways)
            Check.Same($"steps of {name}", steps, go());
      }))));
    return new JsonObject { ["work"] = budget.Done, ["thrown_per_unit"] = 2 * 20 * 14 };
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Throw(int tag) => throw new Tagged(tag);

  static int Nested()
  {
    int steps = 0;
    try {
      try {
        try { Throw(1); } finally { steps++; Burn.Steps(2_000); }
      } catch (InvalidOperationException) {
        steps += 100;
      } finally {
        steps++;
      }
    } catch (Tagged e) when (e.Tag == 1) {
      steps++;
    } finally {
      steps++;
    }
    return steps;
  }

  static int Filter()
  {
    int steps = 0;
    bool Count(bool result)
    {
      steps++;
      Burn.Steps(2_000);
      return result;
    }
    try {
      try { Throw(2); } catch (Tagged) when (Count(false)) { steps += 100; }
    } catch (Tagged) when (Count(true)) {
      steps++;
    }
    return steps;
  }

  static int Rethrow()
  {
    int steps = 0;
    try {
      try {
        try { Throw(3); } catch (Tagged) { steps++; throw; }
      } catch (Tagged) {
        steps++;
        throw;
      }
    } catch (Tagged e) {
      steps += e.Tag == 3 ? 1 : 100;
    }
    return steps;
  }

  /// <summary>The processor finds these: they begin as a signal on the runtime's alternative stack.</summary>
  static int Null()
  {
    int steps = 0;
    try { steps += nothing![5] + 100; } catch (NullReferenceException) { steps++; }
    try { steps += noString!.Length + 100; } catch (NullReferenceException) { steps++; }
    return steps;
  }

  static int Divide()
  {
    try { return 100 / Zero(); } catch (DivideByZeroException) { return 1; }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Far(int depth)
  {
    int steps = 0;
    try { FarDown(depth, ref steps); } catch (Tagged) { steps++; }
    return steps;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void FarDown(int depth, ref int steps)
  {
    if (depth == 0)
      Throw(4);
    try { FarDown(depth - 1, ref steps); } finally { steps++; }
  }

  static int InCatch()
  {
    int steps = 0;
    try {
      Throw(5);
    } catch (Tagged) {
      steps++;
      try { steps += nothing![1] + 100; } catch (NullReferenceException) { steps++; Burn.Steps(2_000); }
      steps++;
    }
    return steps;
  }

  /// <summary>An exception that replaces another on its way through a finally.</summary>
  static int Replaced()
  {
    int steps = 0;
    try {
      try { Throw(6); } finally { steps++; Throw(7); }
    } catch (Tagged e) {
      steps += e.Tag == 7 ? 1 : 100;
    }
    return steps;
  }

  [ThreadStatic] static int caught;

  [UnmanagedCallersOnly]
  static int Compare(int* a, int* b)
  {
    try {
      Throw(8);
    } catch (Tagged) {
      caught = 1;
    }
    return a->CompareTo(*b);
  }

  /// <summary>Thrown and caught above native frames; on Unix none may pass through them.</summary>
  static int ThroughNative()
  {
    int* pair = stackalloc int[] { 2, 1 };
    caught = 0;
    Native.qsort(pair, 2, sizeof(int), &Compare);
    return pair[0] == 1 ? caught : 100;
  }
}
