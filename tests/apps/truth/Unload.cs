// SPDX-License-Identifier: MIT
using System.Diagnostics;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
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

  [MethodImpl(MethodImplOptions.NoInlining)]
  static WeakReference InContext()
  {
    var context = new AssemblyLoadContext("hot", isCollectible: true);
    var assembly = context.LoadFromAssemblyPath(Path.Combine(AppContext.BaseDirectory, "plugin.dll"));
    var run = assembly.GetType("Plugin.Hot")!.GetMethod("Run")!.CreateDelegate<Func<int, long>>();
    long expected = Enumerable.Range(0, 2_000).Sum(x => (long)x * x % 7) * 2 + 2_000 * 11;
    for (int i = 0; i < 100; i++)
      Check.Same("code in a collectible context", expected, run(2_000));
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
