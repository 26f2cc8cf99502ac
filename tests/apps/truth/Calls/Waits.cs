// SPDX-License-Identifier: MIT
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Truth.Calls;

/// <summary>Calls that wait for other threads.</summary>
static class Locking
{
  static readonly object gate = new();
  static readonly SemaphoreSlim few = new(2);
  static long inside;

  public static void All()
  {
    for (int i = 0; i < 50; i++)
      Held(i);
    for (int i = 0; i < 10; i++)
      Limited();
    Synchronised();
    int caught = 0;
    try { LeftByException(); } catch (Thrown e) { caught = e.Tag; }
    Check.Same("thrown out of a lock", 41, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Held(int i)
  {
    Tally.Hit("Locking.Held");
    lock (gate) {
      Check.Same("alone inside", 1L, Interlocked.Increment(ref inside));
      if (i % 25 == 0)
        Thread.Sleep(1);
      Work();
      Interlocked.Decrement(ref inside);
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Work() => Tally.Hit("Locking.Work");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Limited()
  {
    Tally.Hit("Locking.Limited");
    few.Wait();
    try { Work(); Thread.Yield(); } finally { few.Release(); }
  }

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.Synchronized)]
  static void Synchronised()
  {
    Tally.Hit("Locking.Synchronised");
    Work();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void LeftByException()
  {
    Tally.Hit("Locking.LeftByException");
    Tally.Unwound(1);
    lock (gate)
      Throwing.Throw(41);
  }
}

sealed class Mortal
{
  public static long Died;

  ~Mortal()
  {
    Tally.Hit("Mortal.Finalize");
    Farewell();
    Interlocked.Increment(ref Died);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Farewell() => Tally.Hit("Mortal.Farewell");
}

/// <summary>Methods that the runtime calls, on a thread of its own.</summary>
static class Finalizing
{
  const int Count = 200;
  static long born;

  public static void All()
  {
    Bear();
    long all = Interlocked.Add(ref born, Count);
    for (int i = 0; i < 100 && Interlocked.Read(ref Mortal.Died) < all; i++) {
      GC.Collect();
      GC.WaitForPendingFinalizers();
    }
    Check.That(Interlocked.Read(ref Mortal.Died) >= all, "not all were finalised");
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Bear()
  {
    Tally.Hit("Finalizing.Bear");
    for (int i = 0; i < Count; i++)
      GC.KeepAlive(new Mortal());
  }
}

/// <summary>Code that is loaded, called and thrown away.</summary>
static class Unloading
{
  const int Calls = 50;

  public static void All()
  {
    var gone = new[] { InContext(), InAssembly() };
    for (int i = 0; i < 20 && gone.Any(g => g.IsAlive); i++) {
      GC.Collect();
      GC.WaitForPendingFinalizers();
    }
    Check.That(!gone.Any(g => g.IsAlive), "a collectible assembly would not go");
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static WeakReference InContext()
  {
    Tally.Hit("Unloading.InContext");
    var context = new AssemblyLoadContext("called", isCollectible: true);
    var assembly = context.LoadFromAssemblyPath(Path.Combine(AppContext.BaseDirectory, "plugin.dll"));
    var nested = assembly.GetType("Plugin.Counted")!.GetMethod("Nested")!.CreateDelegate<Func<int, int>>();
    for (int i = 0; i < Calls; i++)
      Check.Same("in a collectible context", 4, nested(4));
    Tally.Hit("Plugin.Counted.Nested", Calls * 5);
    context.Unload();
    return new WeakReference(context);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static WeakReference InAssembly()
  {
    Tally.Hit("Unloading.InAssembly");
    var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Gone"), AssemblyBuilderAccess.RunAndCollect);
    var type = assembly.DefineDynamicModule("Gone").DefineType("Truth.Calls.Gone", TypeAttributes.Public);
    var method = type.DefineMethod("Same", MethodAttributes.Public | MethodAttributes.Static, typeof(int), [typeof(int)]);
    method.SetImplementationFlags(MethodImplAttributes.NoInlining);
    var il = method.GetILGenerator();
    il.Emit(OpCodes.Ldarg_0);
    il.Emit(OpCodes.Ret);
    var same = type.CreateType().GetMethod("Same")!.CreateDelegate<Func<int, int>>();
    for (int i = 0; i < Calls; i++)
      Check.Same("in a collectible assembly", i, same(i));
    Tally.Hit("Gone.Same", Calls);
    return new WeakReference(assembly);
  }
}
