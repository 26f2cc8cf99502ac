// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;

namespace Plugin;

/// <summary>Hot code that is unloaded while samples of it are still on their way.</summary>
public static class Hot
{
  public static long Run(int n) => Outer<string>.Sum(n) + Outer<int>.Sum(n);
}

public static class Outer<T>
{
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static long Sum(int n)
  {
    var square = (int x) => (long)x * x % 7;
    long sum = 0;
    for (int i = 0; i < n; i++)
      sum += square(i) + typeof(T).Name.Length;
    return sum;
  }
}

public static class Counted
{
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static int Nested(int depth) => depth == 0 ? 0 : Nested(depth - 1) + 1;
}

/// <summary>What goes with the context that it is of.</summary>
public sealed class Held
{
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static int Look(Held it) => it == null ? 0 : 1;
}
