// SPDX-License-Identifier: MIT
using System.Diagnostics;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>Types without end, each of which makes an instantiation of its own.</summary>
static class Types
{
  struct Pair<A, B> { public A First { get; set; } public B Second { get; set; } }

  public static IEnumerable<Type> Some(int n)
  {
    Type[] basic = [typeof(byte), typeof(short), typeof(int), typeof(long), typeof(float), typeof(double), typeof(char)];
    for (int i = 0; i < n; i++)
      yield return typeof(Pair<,>).MakeGenericType(basic[i % 7], typeof(Pair<,>).MakeGenericType(basic[i / 7 % 7], basic[i / 49 % 7]));
  }
}

/// <summary>
/// Methods that are compiled while others watch: how many the runtime says, and in what time.
/// </summary>
static class Compiled
{
  const int Generics = 40, Dynamics = 10;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Generic<T>(T value) where T : struct => value.GetHashCode() + Unsafe.SizeOf<T>();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Prepare(MethodInfo method, Type type) =>
    RuntimeHelpers.PrepareMethod(method.MethodHandle, [type.TypeHandle]);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Emit(int n)
  {
    var method = new DynamicMethod($"Emitted{n}", typeof(int), []);
    var il = method.GetILGenerator();
    il.Emit(OpCodes.Ldc_I4, n);
    il.Emit(OpCodes.Ret);
    return method.CreateDelegate<Func<int>>()();
  }

  class Outer<A>
  {
    public class Inner<B>
    {
      [MethodImpl(MethodImplOptions.NoInlining)]
      public int Sizes() => 10 * Unsafe.SizeOf<A>() + Unsafe.SizeOf<B>();
    }
  }

  /// <summary>A type in whose name stands what else means something in names.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void NameOddly()
  {
    var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Oddly"), AssemblyBuilderAccess.Run);
    var type = assembly.DefineDynamicModule("Oddly").DefineType("Odd.Na,me[x]*", TypeAttributes.Public);
    var il = type.DefineMethod("Answer", MethodAttributes.Public | MethodAttributes.Static, typeof(int), []).GetILGenerator();
    il.Emit(OpCodes.Ldc_I4, 42);
    il.Emit(OpCodes.Ret);
    Check.Same("what is oddly named", 42, type.CreateType().GetMethod("Answer")!.CreateDelegate<Func<int>>()());
  }

  static (long Time, long Count, long Ns) Now() =>
    (Stopwatch.GetTimestamp() * (1_000_000_000 / Stopwatch.Frequency), JitInfo.GetCompiledMethodCount(false), JitInfo.GetCompilationTime(false).Ticks * 100);

  static void Work(MethodInfo generic, IEnumerable<Type> types, int from, int to)
  {
    foreach (var type in types)
      Prepare(generic, type);
    for (int n = from; n < to; n++)
      Check.Same("what was emitted", n, Emit(n));
    NameOddly();
    Check.Same("sizes", 81, new Outer<long>.Inner<byte>().Sizes());
  }

  public static JsonObject Run(Options o)
  {
    var generic = typeof(Compiled).GetMethod(nameof(Generic), BindingFlags.Static | BindingFlags.NonPublic)!;
    var types = Types.Some(1 + Generics).ToArray();
    Work(generic, types[..1], -1, 0); // what it takes besides is compiled by now
    Now();
    o.WaitToBegin();
    var before = Now();
    Work(generic, types[1..], 0, Dynamics);
    var after = Now();
    o.SayDone();
    return new JsonObject {
      ["generics"] = Generics, ["dynamics"] = Dynamics, ["from"] = before.Time, ["to"] = after.Time,
      ["methods"] = after.Count - before.Count, ["ns"] = after.Ns - before.Ns,
    };
  }
}

/// <summary>Assemblies and types that are loaded while others watch.</summary>
static class Loaded
{
  const int Classes = 30;

  class Holder<T> where T : struct { public T Value { get; set; } }

  static readonly List<string> told = [];

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void LoadClass(Type type) => Check.That(Activator.CreateInstance(typeof(Holder<>).MakeGenericType(type)) != null, "an object");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void LoadAssembly(string path) =>
    new AssemblyLoadContext(null, true).LoadFromAssemblyPath(path).GetTypes();

  public static JsonObject Run(Options o)
  {
    string plugin = Path.Combine(AppContext.BaseDirectory, "plugin.dll");
    var types = Types.Some(1 + Classes).ToArray();
    LoadClass(types[0]);
    o.WaitToBegin();
    AppDomain.CurrentDomain.AssemblyLoad += (_, e) => told.Add(e.LoadedAssembly.GetName().Name!);
    foreach (var type in types[1..])
      LoadClass(type);
    for (int i = 0; i < 3; i++)
      LoadAssembly(plugin);
    int n = told.Count(name => name == "plugin");
    o.SayDone();
    return new JsonObject { ["classes"] = Classes, ["plugins"] = n };
  }
}
