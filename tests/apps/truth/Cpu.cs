// SPDX-License-Identifier: MIT
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

interface IStep
{
  ulong Apply(ulong x);
}

readonly struct Lehmer : IStep
{
  public ulong Apply(ulong x) => x * 48271 % 2147483647;
}

/// <summary>
/// Hot methods one after the other, each with its own share of the CPU. Every method does the same work
/// in each round, so its result has to be the same each time to the last bit.
/// </summary>
static class Cpu
{
  delegate ulong Part();

  static readonly (string Name, Part Run)[] parts = [
    ("Truth.Cpu.Sines", () => Sines(30_000)),
    ("Truth.Cpu.Straight", () => Straight(1_500)),
    ("Truth.Cpu.Generic", () => Generic<Lehmer>(80_000)),
    ("Truth.Cpu.Lambda", () => Lambda(250_000)),
    ("Truth.Cpu.Vectors", () => Vectors(80_000)),
    ("Truth.Cpu.Sieve", () => Sieve(150_000)),
    ("Truth.Cpu.Virtual", () => Virtual(60_000)),
  ];

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    var ledger = new Ledger();
    var laps = new Laps(parts.Length);
    var results = new ulong?[parts.Length];
    while (budget.More()) {
      long t = Clock.Thread();
      laps.Begin();
      for (int i = 0; i < parts.Length; i++) {
        ulong result = parts[i].Run();
        laps.End(i);
        t = ledger.Book(parts[i].Name, t);
        Check.Same(parts[i].Name, results[i] ??= result, result);
      }
    }
    return new JsonObject {
      ["work"] = budget.Done, ["methods"] = Clock.Coarse ? Each(laps.Used) : ledger.ToJson(), ["passed"] = Each(laps.Passed),
    };
  }

  static JsonObject Each(Func<int, long> ns)
  {
    var o = new JsonObject();
    for (int i = 0; i < parts.Length; i++)
      o[parts[i].Name] = ns(i);
    return o;
  }

  /// <summary>The time is spent in libm, which has no frame pointers.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Sines(int n)
  {
    double sum = 0;
    for (int i = 0; i < n; i++)
      sum += Math.Sin(i * 0.001);
    return BitConverter.DoubleToUInt64Bits(sum);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Straight(int n)
  {
    ulong x = 88172645463325252;
    for (int i = 0; i < n; i++)
      x = StraightLine.Mix(x);
    return x;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Generic<T>(int n) where T : struct, IStep
  {
    ulong x = 1;
    for (int i = 0; i < n; i++)
      x = default(T).Apply(x);
    return x;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Lambda(int n)
  {
    ulong sum = 0;
    Action<int> add = count => {
      for (int i = 0; i < count; i++)
        sum = sum * 31 + (ulong)i % 13;
    };
    add(n);
    return sum;
  }

  /// <summary>Keeps sums in vector registers: a handler that loses their upper halves is seen.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Vectors(int n)
  {
    var a = new Vector<double>(1.0);
    var b = new Vector<double>(0.999999);
    for (int i = 0; i < n; i++)
      a = a * b + new Vector<double>(1e-9);
    for (int i = 1; i < Vector<double>.Count; i++)
      Check.Same("lane of a vector", a[0], a[i]);
    return BitConverter.DoubleToUInt64Bits(a[0]);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Sieve(int n)
  {
    var composite = new bool[n + 1];
    ulong primes = 0;
    for (int i = 2; i <= n; i++) {
      if (composite[i])
        continue;
      primes++;
      for (long j = (long)i * i; j <= n; j += i)
        composite[j] = true;
    }
    return primes;
  }

  abstract class Shape { public abstract double Area(); }

  sealed class Square(double side) : Shape
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public override double Area() => side * side;
  }

  sealed class Circle(double radius) : Shape
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public override double Area() => Math.PI * radius * radius;
  }

  static readonly Shape[] shapes = [new Square(2), new Circle(3), new Square(5)];

  /// <summary>Leaves that are a few instructions long: samples in prologs and epilogs.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Virtual(int n)
  {
    double sum = 0;
    for (int i = 0; i < n; i++)
      sum += shapes[i % shapes.Length].Area();
    return BitConverter.DoubleToUInt64Bits(sum);
  }
}
