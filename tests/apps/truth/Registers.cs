// SPDX-License-Identifier: MIT
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Arguments and results in every class of register that the calling convention has, checked at each call: whoever
/// stands between caller and callee, and does not keep a register as he found it, is caught here.
/// </summary>
static class Registers
{
  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    int threads = o.Number("--threads", 1);
    while (budget.More())
      Crew.Run(Enumerable.Range(0, threads).Select(n => ($"registers-{n}", (Action)(() => {
        for (int i = 0; i < 300; i++)
          Round(i + n);
      }))));
    return new JsonObject { ["work"] = budget.Done };
  }

  struct Two<A, B>(A a, B b)
  {
    public A First = a;
    public B Second = b;
  }

  struct Floats(float a, float b, float c, float d)
  {
    public float A = a, B = b, C = c, D = d;
  }

  struct Large(long a, double b, string c)
  {
    public long A = a, B2 = a * 2;
    public double B = b;
    public string C = c;
  }

  static void Round(int i)
  {
    Scalars(i);
    Structs(i);
    Vectors(i);
    References(i);
    Kept(i);
  }

  static void Scalars(int i)
  {
    Check.Same("6 integers", 654321L + i, Integers(1 + i, 2, 3, 4, 5, 6));
    Check.Same("8 doubles", 87654321.0 + i, Doubles(1 + i, 2, 3, 4, 5, 6, 7, 8));
    Check.Same("16 mixed", 1 * i + 2 * 2.0 + 3 * 3 + 4 * 4.0 + 5 * 5 + 6 * 6.0 + 7 * 7 + 8 * 8.0
      + 9 * 9 + 10 * 10.0 + 11 * 11 + 12 * 12.0 + 13 * 13 + 14 * 14.0 + 15 * 15 + 16 * 16.0,
      Mixed(i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
    Check.Same("small integers", -1 + 200 + 60000 - 30000 + i, Small(-1, 200, (char)60000, -30000, i, true));
    Check.Same("float", 1.5f + i, Single(1.5f, i));
    Check.Same("Half", (Half)(1.5f + i % 100), Halves((Half)1.5f, i % 100));
    Check.Same("decimal", 1.25m * i, Decimal(1.25m, i));
    Check.Same("Int128", ((Int128)i << 64) + 7, Wide((Int128)i << 64, 7));
    Check.Same("UInt128", (UInt128)7 - (UInt128)i, WideUnsigned(7, (UInt128)i));
    Check.Same("nint", (nint)(-i), Pointer(i));
    Check.Same("all ones", ulong.MaxValue, Ones(ulong.MaxValue));
    Check.Same("not a number", 0x7ff8_dead_beef_0123L, BitConverter.DoubleToInt64Bits(
      Bits(BitConverter.Int64BitsToDouble(0x7ff8_dead_beef_0123))));
  }

  static void Structs(int i)
  {
    var ii = Pair(i + 1L, i + 2L);
    Check.Same("II", (i + 1L, i + 2L), (ii.First, ii.Second));
    var dd = Pair(i + 1.5, i + 2.5);
    Check.Same("DD", (i + 1.5, i + 2.5), (dd.First, dd.Second));
    var id = Pair(i + 3L, i + 3.5);
    Check.Same("ID", (i + 3L, i + 3.5), (id.First, id.Second));
    var di = Pair(i + 4.5, i + 4L);
    Check.Same("DI", (i + 4.5, i + 4L), (di.First, di.Second));
    var or = Pair("a" + i, i + 5.5);
    Check.Same("reference and double", ("a" + i, i + 5.5), (or.First, or.Second));
    var bytes = Pair((byte)i, (short)-i);
    Check.Same("packed in one register", ((byte)i, (short)-i), (bytes.First, bytes.Second));
    var floats = Four(i, 2, 3, 4);
    Check.Same("four floats", (i + 1f, 3f, 4f, 5f), (floats.A, floats.B, floats.C, floats.D));
    var large = Big(i, 2.5, "big");
    Check.Same("by a hidden pointer", (i, i * 2L, 2.5, "big"), (large.A, large.B2, large.B, large.C));
    Check.Same("structs as arguments", 3L * i + 4.5 + 6 + 2.5 + 8,
      Passed(new(i, 1.5), new(3.0, i), new(2, 3, 1, 4), new(i, 2.5, "x")));
    Check.Same("nullable", i % 2 == 0 ? i : -1, Maybe(i) ?? -1);
  }

  static void Vectors(int i)
  {
    Check.Same("Vector2", new Vector2(i, 2) + new Vector2(3, 4), Add(new Vector2(i, 2), new Vector2(3, 4)));
    Check.Same("Vector3", new Vector3(i, 2, 3) + Vector3.One, Add(new Vector3(i, 2, 3), Vector3.One));
    Check.Same("Vector4", new Vector4(i, 2, 3, 4) * 2, Add(new Vector4(i, 2, 3, 4), new Vector4(i, 2, 3, 4)));
    Check.Same("Quaternion", new Quaternion(i + 1, 2, 2, 2),
      Add(new Quaternion(i, 1, 1, 1), new Quaternion(1, 1, 1, 1)));
    var a128 = Vector128.Create(i, 1L);
    Check.Same("Vector128", a128 + a128, Add(a128, a128));
    var a256 = Vector256.Create(i, 1L, 2, 3);
    Check.Same("Vector256", a256 + a256, Add(a256, a256));
    var a512 = Vector512.Create(i, 1L, 2, 3, 4, 5, 6, 7);
    Check.Same("Vector512", a512 + a512, Add(a512, a512));
    Check.Same("Vector<T>", new Vector<int>(i + 1), Add(new Vector<int>(i), Vector<int>.One));
    var x = Vector256.Create(1.5) * i;
    Check.Same("eight vectors", x * 8, Eight(x, x, x, x, x, x, x, x));
  }

  static void References(int i)
  {
    int[] cells = [1, 2, 3];
    Cell(cells, i % 3) += 10;
    Check.Same("ref return", 16, cells.Sum());
    Span<int> rest = Slice(cells, i % 3);
    Check.Same("span", 3 - i % 3, rest.Length);
    Check.Same("shared generic", "String" + i, Generic("x", i));
    Check.Same("other shared generic", "Int32[]" + i, Generic(cells, i));
    Check.Same("generic of a struct", "Double" + i, Generic(1.0, i));
    Out(i, out long a, out double b, out string c);
    Check.Same("out", (i, i + 0.5, "c"), (a, b, c));
  }

  /// <summary>Values that live in registers across calls: as many as there are, of both kinds.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Kept(int i)
  {
    long a = i, b = i + 1, c = i + 2, d = i + 3, e = i + 4, f = i + 5, g = i + 6;
    double p = i, q = i + 0.5, r = i + 1.5, s = i + 2.5, t = i + 3.5;
    var v = Vector256.Create((double)i);
    for (int n = 0; n < 10; n++) {
      a += Integers(n, 0, 0, 0, 0, 0);
      b += a; c ^= b; d -= c; e += d; f ^= e; g += f;
      p += Doubles(n, 0, 0, 0, 0, 0, 0, 0);
      q += p; r -= q; s += r; t -= s;
      v = Eight(v, v, v, v, v, v, v, v) * 0.125 + Vector256.Create(p);
    }
    Check.Same("kept across calls", Expected(i), (a, b, c, d, e, f, g, p, q, r, s, t, v.ToScalar()));
  }

  /// <summary>The same without a call.</summary>
  static (long, long, long, long, long, long, long, double, double, double, double, double, double) Expected(int i)
  {
    long a = i, b = i + 1, c = i + 2, d = i + 3, e = i + 4, f = i + 5, g = i + 6;
    double p = i, q = i + 0.5, r = i + 1.5, s = i + 2.5, t = i + 3.5, v = i;
    for (int n = 0; n < 10; n++) {
      a += n;
      b += a; c ^= b; d -= c; e += d; f ^= e; g += f;
      p += n;
      q += p; r -= q; s += r; t -= s;
      v += p;
    }
    return (a, b, c, d, e, f, g, p, q, r, s, t, v);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Integers(long a, long b, long c, long d, long e, long f) =>
    a + b * 10 + c * 100 + d * 1000 + e * 10000 + f * 100000;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static double Doubles(double a, double b, double c, double d, double e, double f, double g, double h) =>
    a + b * 1e1 + c * 1e2 + d * 1e3 + e * 1e4 + f * 1e5 + g * 1e6 + h * 1e7;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static double Mixed(int a, double b, long c, double d, int e, double f, long g, double h,
    int i, double j, long k, double l, int m, double n, long o, double p) =>
    a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h
    + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Small(sbyte a, byte b, char c, short d, int e, bool f) => f ? a + b + c + d + e : 0;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static float Single(float a, int b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Half Halves(Half a, int b) => (Half)((float)a + b);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static decimal Decimal(decimal a, int b) => a * b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Int128 Wide(Int128 a, Int128 b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static UInt128 WideUnsigned(UInt128 a, UInt128 b) => unchecked(a - b);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static nint Pointer(nint a) => -a;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Ones(ulong a) => a;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static double Bits(double a) => a;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Two<A, B> Pair<A, B>(A a, B b) => new(a, b);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Floats Four(float a, float b, float c, float d) => new(a + 1, b + 1, c + 1, d + 1);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Large Big(long a, double b, string c) => new(a, b, c);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static double Passed(Two<long, double> a, Two<double, long> b, Floats c, Large d) =>
    a.First + a.Second + b.First + b.Second + c.A + c.B + c.C + d.A + d.B + c.D * 2;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int? Maybe(int a) => a % 2 == 0 ? a : null;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Vector2 Add(Vector2 a, Vector2 b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Vector3 Add(Vector3 a, Vector3 b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Vector4 Add(Vector4 a, Vector4 b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Quaternion Add(Quaternion a, Quaternion b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Vector128<long> Add(Vector128<long> a, Vector128<long> b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Vector256<long> Add(Vector256<long> a, Vector256<long> b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Vector512<long> Add(Vector512<long> a, Vector512<long> b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Vector<int> Add(Vector<int> a, Vector<int> b) => a + b;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Vector256<double> Eight(Vector256<double> a, Vector256<double> b, Vector256<double> c, Vector256<double> d,
    Vector256<double> e, Vector256<double> f, Vector256<double> g, Vector256<double> h) =>
    a + b + (c + d) + (e + f + (g + h));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ref int Cell(int[] cells, int i) => ref cells[i];

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Span<int> Slice(int[] cells, int from) => cells.AsSpan(from);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static string Generic<T>(T value, int i) => (value is null ? "" : typeof(T).Name) + i;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Out(int i, out long a, out double b, out string c) => (a, b, c) = (i, i + 0.5, "c");
}
