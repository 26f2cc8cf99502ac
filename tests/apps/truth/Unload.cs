// SPDX-License-Identifier: MIT
using System.Diagnostics;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;

namespace Truth;

/// <summary>Code that is made, run hot, and goes away: in collectible contexts, dynamic methods, expressions.</summary>
static class Unload
{
  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    var contexts = new List<WeakReference>();
    while (budget.More()) {
      Crew.Run([
        ("contexts", () => { lock (contexts) contexts.Add(InContext()); }),
        ("emit", () => {
          for (int i = 0; i < 20; i++)
            Check.Same("dynamic method", 3L * 50_000 + i, Dynamic(i)(50_000));
          Check.Same("compiled expression", 25_000L * 49_999, Compiled()(50_000));
          Check.Same("compiled regex", 100, Matches((int)budget.Done));
          Check.Same("emitted assembly", 42, Emitted());
        }),
      ]);
      if (budget.Done % 5 == 0) {
        GC.Collect();
        GC.WaitForPendingFinalizers();
      }
    }
    for (int i = 0; i < 20 && contexts.Any(c => c.IsAlive); i++) {
      GC.Collect();
      GC.WaitForPendingFinalizers();
    }
    Check.Same("contexts that would not unload", 0, contexts.Count(c => c.IsAlive));
    return new JsonObject { ["work"] = budget.Done, ["unloaded"] = contexts.Count };
  }

  /// <summary>Assemblies come and go on a thread of their own until that is over.</summary>
  public static Thread Meanwhile(Func<bool> over)
  {
    var thread = new Thread(() => {
      while (!over()) {
        Check.Same("emitted assembly", 42, Emitted());
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Thread.Sleep(1);
      }
    });
    thread.Start();
    return thread;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static WeakReference InContext()
  {
    var context = new AssemblyLoadContext("hot", isCollectible: true);
    var assembly = context.LoadFromAssemblyPath(Path.Combine(AppContext.BaseDirectory, "plugin.dll"));
    var run = assembly.GetType("Plugin.Hot")!.GetMethod("Run")!.CreateDelegate<Func<int, long>>();
    long expected = Enumerable.Range(0, 2_000).Sum(x => (long)x * x % 7) * 2 + 2_000 * 11;
    for (int i = 0; i < 100; i++)
      Check.Same("code in a collectible context", expected, run(2_000));
    var held = assembly.GetType("Plugin.Held")!;
    Check.Same("an object of a collectible context", 1, (int)held.GetMethod("Look")!.Invoke(null, [Activator.CreateInstance(held)])!);
    context.Unload();
    return new WeakReference(context);
  }

  /// <summary>
  /// Dynamic methods by the ten thousand: each is made, called and dropped; some thousand are alive at a time. How long
  /// each tenth of them took, by the clock.
  /// </summary>
  public static JsonObject RunDynamic(Options o)
  {
    var budget = o.Budget();
    var alive = new Func<int, long>[5_000];
    var tenths = new JsonArray();
    long began = Stopwatch.GetTimestamp();
    while (budget.More()) {
      var method = Dynamic(budget.Done);
      Check.Same("dynamic method", 30 + budget.Done, method(10));
      alive[budget.Done % alive.Length] = method;
      if (o.Work >= 10 && budget.Done % (o.Work / 10) == 0) {
        tenths.Add((long)Stopwatch.GetElapsedTime(began).TotalMilliseconds);
        began = Stopwatch.GetTimestamp();
      }
    }
    GC.KeepAlive(alive);
    return new JsonObject { ["work"] = budget.Done, ["tenths_ms"] = tenths };
  }

  /// <summary>
  /// A library compiled ahead of time is loaded into a context that goes away, and unmapped with it; then other code is
  /// where its code was, and runs there. Where its tables were is nothing.
  /// </summary>
  public static unsafe JsonObject RunInItsPlace(Options o)
  {
    var folder = Directory.CreateTempSubdirectory();
    string copy = Path.Combine(folder.FullName, "System.Linq.dll");
    File.Copy(typeof(Enumerable).Assembly.Location, copy);
    var (context, (begin, end)) = Precompiled(copy);
    for (int i = 0; i < 100 && context.IsAlive; i++) {
      GC.Collect();
      GC.WaitForPendingFinalizers();
    }
    Check.Same("the context is there", false, context.IsAlive);
    while (CodeOf(copy) is not null)
      Thread.Sleep(1);
    const int ReadWriteExecute = 7, PrivateAnonymousFixedFree = 0x2 | 0x20 | 0x100000;
    byte* place = Mmap((void*)begin, (nuint)(end - begin), ReadWriteExecute, PrivateAnonymousFixedFree, -1, 0);
    Check.Same("the place", begin, (long)place);
    byte* spin = place + (end - begin) / 3; // mov ecx, edi; dec ecx; jnz -4; ret
    new ReadOnlySpan<byte>([0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3]).CopyTo(new Span<byte>(spin, 7));
    var budget = o.Budget();
    while (budget.More())
      ((delegate* unmanaged<int, void>)spin)(1_000_000);
    folder.Delete(true);
    return new JsonObject { ["work"] = budget.Done };
  }

  [DllImport("libc", EntryPoint = "mmap")]
  static extern unsafe byte* Mmap(void* at, nuint bytes, int access, int flags, int file, nint offset);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static (WeakReference, (long, long)) Precompiled(string path)
  {
    var context = new AssemblyLoadContext("precompiled", isCollectible: true);
    var type = context.LoadFromAssemblyPath(path).GetType("System.Linq.Enumerable")!;
    type.GetMethod("Range")!.Invoke(null, [1, 3]);
    var code = CodeOf(path);
    Check.That(code is not null, "the library's code is mapped");
    context.Unload();
    return (new WeakReference(context), code!.Value);
  }

  /// <summary>Where a file is mapped so that it can be executed.</summary>
  static (long Begin, long End)? CodeOf(string path)
  {
    foreach (string line in File.ReadLines("/proc/self/maps"))
      if (line.EndsWith(path) && line.Contains(" r-xp ")) {
        long[] ends = [.. line.Split(' ')[0].Split('-').Select(s => Convert.ToInt64(s, 16))];
        return (ends[0], ends[1]);
      }
    return null;
  }

  sealed class Thing;

  static object? kept;

  /// <summary>
  /// Methods of one shape, each of which may be where the one before was that is gone, make so many objects each: <c>made</c>.
  /// </summary>
  public static JsonObject RunRemade(Options o)
  {
    var made = new JsonObject();
    for (int i = 1; i <= 40; i++) {
      Make($"Made{i}", i);
      made[$"Made{i}"] = i;
      for (int k = 0; k < 2; k++) {
        GC.Collect();
        GC.WaitForPendingFinalizers();
      }
    }
    return new JsonObject { ["work"] = 1, ["made"] = made };
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Make(string name, int objects)
  {
    var method = new DynamicMethod(name, typeof(object), []);
    var il = method.GetILGenerator();
    il.Emit(OpCodes.Newobj, typeof(Thing).GetConstructor([])!);
    il.Emit(OpCodes.Ret);
    var make = method.CreateDelegate<Func<object>>();
    for (int i = 0; i < objects; i++)
      kept = make();
  }

  /// <summary>sum of 3 over n steps, plus <paramref name="start"/>.</summary>
  static Func<int, long> Dynamic(long start)
  {
    var method = new DynamicMethod("DynamicSum", typeof(long), [typeof(int)]);
    var il = method.GetILGenerator();
    var sum = il.DeclareLocal(typeof(long));
    var again = il.DefineLabel();
    il.Emit(OpCodes.Ldc_I8, start);
    il.Emit(OpCodes.Stloc, sum);
    il.MarkLabel(again);
    il.Emit(OpCodes.Ldloc, sum);
    il.Emit(OpCodes.Ldc_I4_3);
    il.Emit(OpCodes.Conv_I8);
    il.Emit(OpCodes.Add);
    il.Emit(OpCodes.Stloc, sum);
    il.Emit(OpCodes.Ldarg_0);
    il.Emit(OpCodes.Ldc_I4_1);
    il.Emit(OpCodes.Sub);
    il.Emit(OpCodes.Starg_S, (byte)0);
    il.Emit(OpCodes.Ldarg_0);
    il.Emit(OpCodes.Brtrue, again);
    il.Emit(OpCodes.Ldloc, sum);
    il.Emit(OpCodes.Ret);
    return method.CreateDelegate<Func<int, long>>();
  }

  /// <summary>0 + 1 + … + (n - 1), as a loop made of expressions.</summary>
  static Func<int, long> Compiled()
  {
    var n = Expression.Parameter(typeof(int), "n");
    var i = Expression.Variable(typeof(int), "i");
    var sum = Expression.Variable(typeof(long), "sum");
    var end = Expression.Label(typeof(long));
    var loop = Expression.Loop(
      Expression.IfThenElse(Expression.LessThan(i, n),
        Expression.AddAssign(sum, Expression.Convert(Expression.PostIncrementAssign(i), typeof(long))),
        Expression.Break(end, sum)), end);
    return Expression.Lambda<Func<int, long>>(Expression.Block([i, sum], loop), n).Compile();
  }

  static int Matches(int salt)
  {
    var regex = new Regex($@"\b(k{salt}|id)=(?<v>[0-9]+)(;|$)", RegexOptions.Compiled);
    string text = string.Concat(Enumerable.Range(0, 100).Select(i => $"id={i}; name={salt} "));
    return regex.Count(text);
  }

  static int Emitted()
  {
    var assembly = AssemblyBuilder.DefineDynamicAssembly(
      new AssemblyName("Emitted"), AssemblyBuilderAccess.RunAndCollect);
    var type = assembly.DefineDynamicModule("Emitted").DefineType("Emitted", TypeAttributes.Public);
    var method = type.DefineMethod("Answer", MethodAttributes.Public | MethodAttributes.Static,
      typeof(int), []);
    var il = method.GetILGenerator();
    il.Emit(OpCodes.Ldc_I4, 42);
    il.Emit(OpCodes.Ret);
    return (int)type.CreateType().GetMethod("Answer")!.Invoke(null, null)!;
  }
}
