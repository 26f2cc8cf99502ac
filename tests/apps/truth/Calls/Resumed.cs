// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;

namespace Truth.Calls;

/// <summary>Async methods: what the caller calls is one method, what is resumed another.</summary>
static class Awaiting
{
  public static void All()
  {
    Check.Same("all of them", 3 + 20 + 4, Wait().GetAwaiter().GetResult());
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Task<int> Wait()
  {
    Tally.Hit("Awaiting.Wait");
    return Together();
  }

  static async Task<int> Together()
  {
    Tally.Maybe("Awaiting.Together");
    return await Chain(20) + await Yielding(3) + await Caught(4);
  }

  /// <summary>Counted by what they call, which is exact whoever runs them.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Step() => Tally.Hit("Awaiting.Step");

  /// <summary>Is resumed <paramref name="times"/> times.</summary>
  static async Task<int> Yielding(int times)
  {
    Tally.Maybe("Awaiting.Yielding");
    Tally.Maybe("Awaiting.Yielding [async]", times + 1);
    for (int i = 0; i < times; i++) {
      await Task.Yield();
      Step();
    }
    return times;
  }

  /// <summary>All of them wait for the last one, and end one in the other.</summary>
  static async Task<int> Chain(int depth)
  {
    Tally.Maybe("Awaiting.Chain");
    if (depth == 0)
      return await Yielding(2) - 2;
    int below = await Chain(depth - 1);
    Step();
    return below + 1;
  }

  static async Task<int> Caught(int tag)
  {
    Tally.Maybe("Awaiting.Caught");
    try {
      await Failing(tag);
    } catch (Thrown e) {
      return e.Tag;
    }
    return -1;
  }

  static async ValueTask Failing(int tag)
  {
    Tally.Maybe("Awaiting.Failing");
    await Task.Yield();
    Throwing.Throw(tag);
  }
}

/// <summary>Iterators, to their ends and given up half way.</summary>
static class Iterating
{
  public static async Task<int> Later()
  {
    int sum = 0;
    await foreach (int n in Slowly(5))
      sum += n;
    return sum;
  }

  public static void All()
  {
    int sum = 0;
    foreach (int n in Numbers(100))
      sum += n;
    Check.Same("sum of an iterator", 4950, sum);
    Tally.Maybe("Iterating.Numbers [iterator]", 101);
    foreach (int n in Numbers(100))
      if (n == 9)
        break;
    Tally.Maybe("Iterating.Numbers [iterator]", 10);
    Check.Same("in order", 31, Walk(4).Count());
    Check.Same("by LINQ", 20, Numbers(100).Where(Wanted).Take(20).Count());
    Tally.Maybe("Iterating.Numbers [iterator]", 59);
    Check.Same("as they come", 10, Later().GetAwaiter().GetResult());
  }

  static IEnumerable<int> Numbers(int count)
  {
    try {
      for (int i = 0; i < count; i++) {
        Step();
        yield return i;
      }
    } finally {
      Left();
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Step() => Tally.Hit("Iterating.Step");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Left() => Tally.Hit("Iterating.Left");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static bool Wanted(int n)
  {
    Tally.Hit("Iterating.Wanted");
    return n % 3 == 1;
  }

  /// <summary>A tree, by an iterator that runs itself.</summary>
  static IEnumerable<int> Walk(int depth)
  {
    if (depth > 0)
      foreach (int n in Walk(depth - 1))
        yield return n;
    Step();
    yield return depth;
    if (depth > 0)
      foreach (int n in Walk(depth - 1))
        yield return n;
  }

  static async IAsyncEnumerable<int> Slowly(int count)
  {
    for (int i = 0; i < count; i++) {
      await Task.Yield();
      Step();
      yield return i;
    }
  }
}
