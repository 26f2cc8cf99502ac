// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;

namespace Truth.Calls;

/// <summary>Recursion: deep, wide, through several methods, and out of the depths by an exception.</summary>
static class Recursion
{
  const int Deepest = 8_000;

  /// <summary>Taken from a result it keeps a call from becoming a jump.</summary>
  static volatile int zero = int.Parse("0");

  static int Zero => zero;

  public static void All()
  {
    Check.Same("deep", Deepest, Down(Deepest));
    Check.Same("wide", 6765, Fibonacci(20));
    Check.Same("by turns", 500, Left(500));
    Check.Same("Ackermann", 125, Ackermann(3, 4));
    int caught = 0;
    try { Bottomless(3_000); } catch (Thrown e) { caught = e.Tag; }
    Check.Same("out of the depths", 21, caught);
    Check.Same("after that", 100, Down(100));
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Down(int depth)
  {
    Tally.Hit("Recursion.Down");
    return depth == 0 ? 0 : Down(depth - 1) + 1;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Fibonacci(int n)
  {
    Tally.Hit("Recursion.Fibonacci");
    return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Left(int n)
  {
    Tally.Hit("Recursion.Left");
    return n == 0 ? 0 : Right(n - 1) + 1;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Right(int n)
  {
    Tally.Hit("Recursion.Right");
    return n == 0 ? 0 : Left(n - 1) + 1;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Ackermann(int m, int n)
  {
    Tally.Hit("Recursion.Ackermann");
    if (m == 0)
      return n + 1;
    int below = n == 0 ? 1 : Ackermann(m, n - 1);
    return Ackermann(m - 1, below) - Zero;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Bottomless(int depth)
  {
    Tally.Hit("Recursion.Bottomless");
    Tally.Unwound(1);
    if (depth == 0)
      Throwing.Throw(21);
    return Bottomless(depth - 1) + 1;
  }
}

/// <summary>Methods whose code is replaced by better code while they are called, and while they run.</summary>
static class Tiers
{
  public static void All()
  {
    long sum = 0;
    for (int round = 0; round < 6; round++) {
      for (int i = 0; i < 20_000; i++)
        sum += Hot(i) - Other(i, 1.0);
      Thread.Sleep(60);
    }
    Check.Same("sum over all tiers", 0L, sum);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Hot(int i)
  {
    Tally.Hit("Tiers.Hot");
    return i * 2;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Other(int i, double x)
  {
    Tally.Hit("Tiers.Other");
    return (long)(i * 2 * x);
  }
}

/// <summary>Loops that are entered once and whose code is replaced on the way.</summary>
static class Loops
{
  public static void All()
  {
    Check.Same("a long loop", 200_000L, Long(200_000));
    Check.Same("in two loops", 400L * 500, Outer(400));
    int caught = 0;
    try { Leave(100_000); } catch (Thrown e) { caught = e.Tag; }
    Check.Same("thrown out of a loop", 22, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Long(int n)
  {
    Tally.Hit("Loops.Long");
    long sum = 0;
    for (int i = 0; i < n; i++)
      sum += Step(1);
    return sum;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Step(int n)
  {
    Tally.Hit("Loops.Step");
    return n;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Outer(int n)
  {
    Tally.Hit("Loops.Outer");
    long sum = 0;
    for (int i = 0; i < n; i++)
      sum += Inner(500);
    return sum;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Inner(int n)
  {
    Tally.Hit("Loops.Inner");
    long sum = 0;
    for (int i = 0; i < n; i++)
      sum += i % 2 == 0 ? 2 : 0;
    return sum;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Leave(int n)
  {
    Tally.Hit("Loops.Leave");
    Tally.Unwound(1);
    for (int i = 0; ; i++)
      if (Step(i) == n)
        Throwing.Throw(22);
  }
}

/// <summary>Calls that are not made where the compiler may inline: seen with --no-inline only.</summary>
static class Inlining
{
  public static void All()
  {
    long sum = 0;
    for (int i = 0; i < 1_000; i++)
      sum += Small(i) + Smaller(i) + new Point(i, 1).X;
    Check.Same("inlined or not", 3L * 499_500 + 1_000, sum);
  }

  [MethodImpl(MethodImplOptions.AggressiveInlining)]
  static int Small(int i)
  {
    Tally.Maybe("Inlining.Small");
    return i + 1;
  }

  [MethodImpl(MethodImplOptions.AggressiveInlining)]
  static int Smaller(int i)
  {
    Tally.Maybe("Inlining.Smaller");
    return Least(i);
  }

  static int Least(int i)
  {
    Tally.Maybe("Inlining.Least");
    return i;
  }

  readonly struct Point
  {
    readonly int x, y;

    public Point(int x, int y)
    {
      Tally.Maybe("Inlining+Point..ctor");
      (this.x, this.y) = (x, y);
    }

    public int X
    {
      get { Tally.Maybe("Inlining+Point.get_X"); return x * y; }
    }
  }
}
