// SPDX-License-Identifier: MIT
// Calls whose arguments and results are known: of all primitive types, strings, enums, structs,
// references, arrays and generics. Each call is told with the text that a log has to show for it.
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

enum Color : byte { Red, Green = 2, Blue = 200 }

enum Depth : long { Deep = -5_000_000_000 }

[Flags]
enum Access { None, Read = 1, Write = 2 }

record struct Point(int X, int Y);

record struct Vector(double X, double Y, double Z);

struct Small { public byte A; public short B; }

struct Wide { public long A, B, C, D; public string Name; }

struct Mixed { public double A; public int B; }

struct Named { public string Name; public Point At; public Color Color; }

struct Tagged<T> { public T Value; public int Tag; }

class Order { public int Number; }

sealed class Shelf<T>
{
  [MethodImpl(MethodImplOptions.NoInlining)]
  public int Put(T item) => CallsValues.Seen(item is null ? 0 : 1);

  [MethodImpl(MethodImplOptions.NoInlining)]
  public T Swap(T item, int times)
  {
    CallsValues.Seen(times);
    return item;
  }
}

static class CallsValues
{
  static readonly JsonArray calls = [];
  static long seen;

  public static int Seen(int n) => (int)(seen += n);

  static void Told(string method, string args, string result)
  {
    calls.Add(new JsonObject { ["method"] = method, ["args"] = args, ["result"] = result });
  }

  const MethodImplOptions Call = MethodImplOptions.NoInlining;

  [MethodImpl(Call)] static void Nothing() => seen++;
  [MethodImpl(Call)] static bool Bool(bool a, bool b) => a && b;
  [MethodImpl(Call)] static char Char(char a, char b, char c) => a;
  [MethodImpl(Call)] static sbyte SByte(sbyte a, sbyte b) => b;
  [MethodImpl(Call)] static byte Byte(byte a) => a;
  [MethodImpl(Call)] static short Short(short a) => a;
  [MethodImpl(Call)] static ushort UShort(ushort a) => a;
  [MethodImpl(Call)] static int Int(int a, int b) => b;
  [MethodImpl(Call)] static uint UInt(uint a) => a;
  [MethodImpl(Call)] static long Long(long a, long b) => a;
  [MethodImpl(Call)] static ulong ULong(ulong a) => a;
  [MethodImpl(Call)] static nint Native(nint a, nuint b) => a;
  [MethodImpl(Call)] static float Float(float a, float b) => a;
  [MethodImpl(Call)] static double Double(double a, double b, double c) => a;
  [MethodImpl(Call)] static double Sixteen(int a, double b, long c, float d, byte e, double f, short g,
    double h, int i, double j, long k, double l, int m, double n, int o, double p) => b;
  [MethodImpl(Call)] static string Text(string a, string b) => a;
  [MethodImpl(Call)] static Color Enum(Color a, Depth b, Access c) => a;
  [MethodImpl(Call)] static Point Two(Point a) => a;
  [MethodImpl(Call)] static Vector Three(Vector a) => a;
  [MethodImpl(Call)] static Small Little(Small a) => a;
  [MethodImpl(Call)] static Wide Big(Wide a) => a;
  [MethodImpl(Call)] static Mixed Mix(Mixed a, int b, double c) => a;
  [MethodImpl(Call)] static Named Nested(Named a) => a;
  [MethodImpl(Call)] static Tagged<T> Tag<T>(Tagged<T> a) => a;
  [MethodImpl(Call)] static decimal Decimal(decimal a, decimal b) => a;
  [MethodImpl(Call)] static Guid Guid(Guid a) => a;
  [MethodImpl(Call)] static DateTime Date(DateTime a) => a;
  [MethodImpl(Call)] static TimeSpan Span(TimeSpan a, TimeSpan b) => a;
  [MethodImpl(Call)] static int? Maybe(int? a, Point? b) => a;
  [MethodImpl(Call)] static (int, string) Pair((int, string) a) => a;
  [MethodImpl(Call)] static KeyValuePair<string, long> Entry(KeyValuePair<string, long> a) => a;
  [MethodImpl(Call)] static object? Thing(object? a, object? b) => a;
  [MethodImpl(Call)] static int[] Numbers(int[] a, string[] b, Point[] c, int[,] d) => a;
  [MethodImpl(Call)] static List<int> Lists(List<int> a, List<string> b, Dictionary<string, List<Order>> c) => a;
  [MethodImpl(Call)] static IEnumerable<int> Interface(IEnumerable<int> a, IComparable b) => a;
  [MethodImpl(Call)] static Action Delegate(Action a) => a;
  [MethodImpl(Call)] static int Ref(ref int a, ref string? b, ref Point c, in double d) => a++;
  [MethodImpl(Call)] static bool Out(int a, out int b, out string c)
  {
    b = a;
    c = "out";
    return true;
  }
  [MethodImpl(Call)] static unsafe int* Pointer(int* a, void* b) => a;
  [MethodImpl(Call)] static ref int RefResult(int[] a) => ref a[1];
  [MethodImpl(Call)] static bool NullRef(ref int a) => Unsafe.IsNullRef(ref a);
  [MethodImpl(Call)] static int Optional(int a, params int[] rest) => rest.Length;
  [MethodImpl(Call)] static T Same<T>(T a) => a;
  [MethodImpl(Call)] static string Kinds<A, B>(A a, B b) => typeof(A).Name;
  [MethodImpl(Call)] static int Thrown(int a) => a < 0 ? throw new InvalidOperationException("known") : a;

  public static JsonObject Run(Options options)
  {
    CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
    for (long i = Math.Max(1, options.Work); i > 0; i--) {
      calls.Clear();
      Primitives();
      Strings();
      Structs();
      References();
      Generics();
      Refs();
    }
    return new JsonObject { ["calls"] = calls, ["seen"] = seen };
  }

  static void Primitives()
  {
    Nothing();
    Told("Nothing", "", "void");
    Bool(true, false);
    Told("Bool", "true, false", "false");
    Bool(true, true);
    Told("Bool", "true, true", "true");
    Char('a', '\'', 'ü');
    Told("Char", "'a', '\\'', 'ü'", "'a'");
    Char('\n', '\0', '\ud800');
    Told("Char", "'\\n', '\\0', '\\ud800'", "'\\n'");
    SByte(-1, sbyte.MinValue);
    Told("SByte", "-1, -128", "-128");
    Byte(255);
    Told("Byte", "255", "255");
    Short(-30000);
    Told("Short", "-30000", "-30000");
    UShort(65535);
    Told("UShort", "65535", "65535");
    Int(1, int.MinValue);
    Told("Int", "1, -2147483648", "-2147483648");
    UInt(uint.MaxValue);
    Told("UInt", "4294967295", "4294967295");
    Long(long.MinValue, long.MaxValue);
    Told("Long", "-9223372036854775808, 9223372036854775807", "-9223372036854775808");
    ULong(ulong.MaxValue);
    Told("ULong", "18446744073709551615", "18446744073709551615");
    Native(-7, 7);
    Told("Native", "-7, 7", "-7");
    Float(0.1f, float.NaN);
    Told("Float", "0.1, NaN", "0.1");
    Double(0.1, -1234.5, double.PositiveInfinity);
    Told("Double", "0.1, -1234.5, Infinity", "0.1");
    Sixteen(1, 2.5, 3, 4.5f, 5, 6.5, 7, 8.5, 9, 10.5, 11, 12.5, 13, 14.5, 15, 16.5);
    Told("Sixteen", "1, 2.5, 3, 4.5, 5, 6.5, 7, 8.5, 9, 10.5, 11, 12.5, 13, 14.5, 15, 16.5", "2.5");
    try {
      Thrown(-1);
    } catch (InvalidOperationException) {
      Told("Thrown", "-1", "");
    }
    Thrown(1);
    Told("Thrown", "1", "1");
  }

  static void Strings()
  {
    Text("abc", null!);
    Told("Text", "\"abc\", null", "\"abc\"");
    Text("", "tab\t \"quoted\" \\ ü 漢 😀");
    Told("Text", "\"\", \"tab\\t \\\"quoted\\\" \\\\ ü 漢 😀\"", "\"\"");
    Text(new string('x', 64), new string('y', 65));
    Told("Text", $"\"{new string('x', 64)}\", \"{new string('y', 64)}\"…", $"\"{new string('x', 64)}\"");
    Text(new string('z', 1_000_000), new string('y', 63) + "😀");
    Told("Text", $"\"{new string('z', 64)}\"…, \"{new string('y', 63)}\"…", $"\"{new string('z', 64)}\"…");
    Text("\ud800lone", "\u202eturned");
    Told("Text", "\"\ufffdlone\", \"\\u202eturned\"", "\"\ufffdlone\"");
  }

  static void Structs()
  {
    Enum(Color.Blue, Depth.Deep, Access.Read | Access.Write);
    Told("Enum", "(Truth.Color)200, (Truth.Depth)-5000000000, (Truth.Access)3", "(Truth.Color)200");
    Two(new(3, -4));
    Told("Two", "Truth.Point{3, -4}", "Truth.Point{3, -4}");
    Three(new(1.5, 2.5, -3.5));
    Told("Three", "Truth.Vector{1.5, 2.5, -3.5}", "Truth.Vector{1.5, 2.5, -3.5}");
    Little(new Small { A = 7, B = -8 });
    Told("Little", "Truth.Small{7, -8}", "Truth.Small{7, -8}");
    Big(new Wide { A = 1, B = 2, C = 3, D = 4, Name = "wide" });
    Told("Big", "Truth.Wide{1, 2, 3, 4, \"wide\"}", "Truth.Wide{1, 2, 3, 4, \"wide\"}");
    Mix(new Mixed { A = 0.5, B = 6 }, 7, 8.5);
    Told("Mix", "Truth.Mixed{0.5, 6}, 7, 8.5", "Truth.Mixed{0.5, 6}");
    Nested(new Named { Name = "home", At = new(5, 6), Color = Color.Green });
    Told("Nested", "Truth.Named{\"home\", Truth.Point{5, 6}, (Truth.Color)2}",
      "Truth.Named{\"home\", Truth.Point{5, 6}, (Truth.Color)2}");
    Tag(new Tagged<int> { Value = 9, Tag = 1 });
    Told("Tag<int>", "Truth.Tagged<int>{9, 1}", "Truth.Tagged<int>{9, 1}");
    Decimal(-12.50m, 79228162514264337593543950335m);
    Told("Decimal", "-12.50, 79228162514264337593543950335", "-12.50");
    Decimal(0.0001m, 0m);
    Told("Decimal", "0.0001, 0", "0.0001");
    Guid(new("01234567-89ab-cdef-0123-456789abcdef"));
    Told("Guid", "01234567-89ab-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789abcdef");
    Date(new(2024, 2, 29, 12, 34, 56, DateTimeKind.Utc));
    Told("Date", "2024-02-29T12:34:56Z", "2024-02-29T12:34:56Z");
    Date(new DateTime(1999, 12, 31).AddTicks(1));
    Told("Date", "1999-12-31T00:00:00.0000001", "1999-12-31T00:00:00.0000001");
    Span(new(1, 2, 3, 4), TimeSpan.FromMilliseconds(-1500));
    Told("Span", "1.02:03:04, -00:00:01.5000000", "1.02:03:04");
    Maybe(null, new Point(1, 2));
    Told("Maybe", "null, Truth.Point{1, 2}", "null");
    Maybe(5, null);
    Told("Maybe", "5, null", "5");
    Pair((11, "eleven"));
    Told("Pair", "System.ValueTuple<int, string>{11, \"eleven\"}", "System.ValueTuple<int, string>{11, \"eleven\"}");
    Entry(new("key", 10));
    Told("Entry", "System.Collections.Generic.KeyValuePair<string, long>{\"key\", 10}",
      "System.Collections.Generic.KeyValuePair<string, long>{\"key\", 10}");
  }

  static void References()
  {
    Thing(new Order { Number = 1 }, null);
    Told("Thing", "<Truth.Order>, null", "<Truth.Order>");
    Thing(42, "boxed");
    Told("Thing", "<int>, \"boxed\"", "<int>");
    Numbers([1, 2], [], null!, new int[2, 2]);
    Told("Numbers", "<int[]>, <string[]>, null, <int[,]>", "<int[]>");
    Lists([1], ["a"], []);
    Told("Lists",
      "<System.Collections.Generic.List<int>>, <System.Collections.Generic.List<string>>, "
      + "<System.Collections.Generic.Dictionary<string, System.Collections.Generic.List<Truth.Order>>>",
      "<System.Collections.Generic.List<int>>");
    Interface(new HashSet<int>(), 7.5);
    Told("Interface", "<System.Collections.Generic.HashSet<int>>, <double>", "<System.Collections.Generic.HashSet<int>>");
    Delegate(Nothing);
    Told("Delegate", "<System.Action>", "<System.Action>");
    Optional(1, 2, 3);
    Told("Optional", "1, <int[]>", "2");
  }

  static void Generics()
  {
    Same(5);
    Told("Same<int>", "5", "5");
    Same("five");
    Told("Same<string>", "\"five\"", "\"five\"");
    Same(new Order());
    Told("Same<Truth.Order>", "<Truth.Order>", "<Truth.Order>");
    Same(new List<Order>());
    Told("Same<System.Collections.Generic.List<Truth.Order>>", "<System.Collections.Generic.List<Truth.Order>>",
      "<System.Collections.Generic.List<Truth.Order>>");
    Same(new Point(1, 2));
    Told("Same<Truth.Point>", "Truth.Point{1, 2}", "Truth.Point{1, 2}");
    Kinds("a", 1);
    Told("Kinds<string, int>", "\"a\", 1", "\"String\"");
    Kinds(new Order(), new Order[1]);
    Told("Kinds<Truth.Order, Truth.Order[]>", "<Truth.Order>, <Truth.Order[]>", "\"Order\"");
    new Shelf<int>().Put(1);
    Told("Shelf<int>.Put", "1", $"{seen}");
    new Shelf<string>().Put("s");
    Told("Shelf<string>.Put", "\"s\"", $"{seen}");
    new Shelf<Order>().Put(new Order());
    Told("Shelf<Truth.Order>.Put", "<Truth.Order>", $"{seen}");
    new Shelf<Order>().Swap(new Order(), 2);
    Told("Shelf<Truth.Order>.Swap", "<Truth.Order>, 2", "<Truth.Order>");
    new Shelf<List<string>>().Swap([], 2);
    Told("Shelf<System.Collections.Generic.List<string>>.Swap", "<System.Collections.Generic.List<string>>, 2",
      "<System.Collections.Generic.List<string>>");
  }

  static unsafe void Refs()
  {
    int number = 1;
    string? text = "there";
    var point = new Point(1, 2);
    Ref(ref number, ref text, ref point, 2.5);
    Told("Ref", "ref 1, ref \"there\", ref Truth.Point{1, 2}, ref 2.5", "1");
    text = null;
    Ref(ref number, ref text, ref point, 2.5);
    Told("Ref", "ref 2, ref null, ref Truth.Point{1, 2}, ref 2.5", "2");
    NullRef(ref Unsafe.NullRef<int>());
    Told("NullRef", "null", "true");
    NullRef(ref Unsafe.AsRef<int>((void*)0x123456789000));
    Told("NullRef", "ref ?", "false");
    Out(5, out _, out _);
    Told("Out", "5, out, out", "true");
    Pointer((int*)0x10, null);
    Told("Pointer", "0x10, null", "0x10");
    RefResult([1, 22]);
    Told("RefResult", "<int[]>", "ref 22");
  }
}
