// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>600 frames of recursion (<c>--depth N</c>) with all the work at the bottom.</summary>
static class Deep
{
  public static JsonObject Run(Options o)
  {
    int depth = o.Number("--depth", 600);
    var budget = o.Budget();
    var ledger = new Ledger();
    ulong expected = Burn.Steps(400_000) + (ulong)depth;
    while (budget.More()) {
      long t = Clock.Thread();
      Check.Same("Deep.Down", expected, Down(depth));
      ledger.Book("Truth.Deep.Down", t);
    }
    return new JsonObject { ["work"] = budget.Done, ["depth"] = depth, ["methods"] = ledger.ToJson() };
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Down(int depth) => depth == 1 ? Bottom() + 1 : Down(depth - 1) + 1;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Bottom() => Burn.Steps(400_000);
}

/// <summary>
/// Loops that are entered once and go on for as long as the program: the runtime replaces their code
/// while it runs, and the frame that results is unlike any other.
/// </summary>
static class Osr
{
  public static JsonObject Run(Options o)
  {
    var ledger = new Ledger();
    long t = Clock.Thread();
    long work = Outer(o.Budget());
    ledger.Book("Truth.Osr.Outer", t);
    return new JsonObject { ["work"] = work, ["methods"] = ledger.ToJson() };
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Outer(Budget budget)
  {
    long done = Loop(budget, out ulong sum);
    Check.Same("sum of Osr.Loop", (ulong)done * Leaf(1), sum);
    return done;
  }

  /// <summary>Many locals, so that the frame is large.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Loop(Budget budget, out ulong total)
  {
    ulong a = 1, b = 2, c = 3, d = 4, sum = 0;
    while (budget.More()) {
      for (int i = 0; i < 100_000; i++) {
        a += b ^ (ulong)i;
        b = (b << 7 | b >> 57) + c;
        c ^= d + a;
        d += (ulong)i;
      }
      sum += Leaf(1);
    }
    total = sum + (a == b && c == d ? 1UL : 0);
    return budget.Done;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Leaf(ulong x)
  {
    for (int i = 0; i < 20_000; i++)
      x = x * 3 + 1;
    return x;
  }
}
