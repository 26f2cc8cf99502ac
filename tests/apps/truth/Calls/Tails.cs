// SPDX-License-Identifier: MIT
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Truth.Calls;

/// <summary>Calls that replace their caller, where the compiler sees that it can (optimised code only).</summary>
static class Tails
{
  const int Depth = 1_000;

  public static void All()
  {
    for (int i = 0; i < 3; i++) {
      Check.Same("Even", 1L, Even(Depth, 0));
      Check.Same("three in a ring", 3L * Depth, First(3 * Depth, 0, 1.5));
      Check.Same("more arguments", (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8) * 2, Few(1, 2, 3));
      Check.Same("by an interface", 8, Chosen(new Doubling()));
      int caught = 0;
      try { ToThrow(3); } catch (Thrown e) { caught = e.Tag; }
      Check.Same("thrown after tail calls", 3, caught);
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static long Even(int n, long sum)
  {
    Tally.Hit("Tails.Even");
    return n == 0 ? 1 + sum : Odd(n - 1, sum);
  }

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static long Odd(int n, long sum)
  {
    Tally.Hit("Tails.Odd");
    return n == 0 ? sum : Even(n - 1, sum);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long First(int n, long sum, double x)
  {
    Tally.Hit("Tails.First");
    return n == 0 ? sum : Second(n - 1, sum + 1, x + 1);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Second(int n, long sum, double x)
  {
    Tally.Hit("Tails.Second");
    return n == 0 ? sum : Third(n - 1, sum + 1, x * 2);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Third(int n, long sum, double x)
  {
    Tally.Hit("Tails.Third");
    return n == 0 ? sum : First(n - 1, sum + 1, x / 2 - 1);
  }

  /// <summary>The callee needs more room for arguments than the caller has.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Few(int a, int b, int c)
  {
    Tally.Hit("Tails.Few");
    return Many(a, b, c, 4, 5, 6, 7, 8);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Many(int a, int b, int c, int d, int e, int f, int g, int h)
  {
    Tally.Hit("Tails.Many");
    return Twice(a + b + c + d + e + f + g + h);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Twice(int a)
  {
    Tally.Hit("Tails.Twice");
    return a * 2;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Chosen(IChange change)
  {
    Tally.Hit("Tails.Chosen");
    return change.Change(4);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int ToThrow(int tag)
  {
    Tally.Hit("Tails.ToThrow");
    return Fall(tag);
  }

  /// <summary>Whether its caller is still there depends on the code; so nobody counts who is unwound.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Fall(int tag)
  {
    Tally.Hit("Tails.Fall");
    throw new Thrown(tag);
  }
}

interface IChange { int Change(int x); }

sealed class Doubling : IChange
{
  [MethodImpl(MethodImplOptions.NoInlining)]
  public int Change(int x)
  {
    Tally.Hit("Doubling.Change");
    return x * 2;
  }
}

/// <summary>Explicit tail calls, as F# makes them, in an assembly made at run time.</summary>
static class Emitted
{
  const int Depth = 2_000;

  delegate long Step(int n, long sum);
  delegate long Wide(int n, long a, long b, long c, long d, long e, long f, long g, long h);

  static readonly (Step Ping, Wide Wide) made = Make();

  public static void All()
  {
    Check.Same("explicit tail calls", 2L * Depth, made.Ping(2 * Depth, 0));
    Tally.Hit("Tailed.Ping", Depth + 1);
    Tally.Hit("Tailed.Pong", Depth);
    Check.Same("explicit tail calls with more arguments", 36L, made.Wide(2 * Depth, 1, 2, 3, 4, 5, 6, 7, 8));
    Tally.Hit("Tailed.Wide", Depth + 1);
    Tally.Hit("Tailed.Wider", Depth);
  }

  static (Step, Wide) Make()
  {
    var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Tailed"), AssemblyBuilderAccess.Run);
    var type = assembly.DefineDynamicModule("Tailed").DefineType("Truth.Calls.Tailed",
      TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed);
    var ping = Define(type, "Ping", typeof(int), typeof(long));
    var pong = Define(type, "Pong", typeof(int), typeof(long));
    Bounce(ping.GetILGenerator(), pong);
    Bounce(pong.GetILGenerator(), ping);
    Type[] many = [typeof(int), .. Enumerable.Repeat(typeof(long), 8)];
    var wide = Define(type, "Wide", many);
    var wider = Define(type, "Wider", many);
    Spread(wide.GetILGenerator(), wider);
    Spread(wider.GetILGenerator(), wide);
    var made = type.CreateType();
    return (made.GetMethod("Ping")!.CreateDelegate<Step>(), made.GetMethod("Wide")!.CreateDelegate<Wide>());
  }

  static MethodBuilder Define(TypeBuilder type, string name, params Type[] arguments)
  {
    var method = type.DefineMethod(name, MethodAttributes.Public | MethodAttributes.Static, typeof(long), arguments);
    method.SetImplementationFlags(MethodImplAttributes.NoInlining);
    return method;
  }

  /// <summary>n == 0 ? sum : other(n - 1, sum + 1)</summary>
  static void Bounce(ILGenerator il, MethodInfo other)
  {
    var more = il.DefineLabel();
    il.Emit(OpCodes.Ldarg_0);
    il.Emit(OpCodes.Brtrue, more);
    il.Emit(OpCodes.Ldarg_1);
    il.Emit(OpCodes.Ret);
    il.MarkLabel(more);
    il.Emit(OpCodes.Ldarg_0);
    il.Emit(OpCodes.Ldc_I4_1);
    il.Emit(OpCodes.Sub);
    il.Emit(OpCodes.Ldarg_1);
    il.Emit(OpCodes.Ldc_I4_1);
    il.Emit(OpCodes.Conv_I8);
    il.Emit(OpCodes.Add);
    il.Emit(OpCodes.Tailcall);
    il.Emit(OpCodes.Call, other);
    il.Emit(OpCodes.Ret);
  }

  /// <summary>n == 0 ? the sum of all : other(n - 1, all one further), with arguments on the stack</summary>
  static void Spread(ILGenerator il, MethodInfo other)
  {
    var more = il.DefineLabel();
    il.Emit(OpCodes.Ldarg_0);
    il.Emit(OpCodes.Brtrue, more);
    il.Emit(OpCodes.Ldarg_1);
    for (short i = 2; i <= 8; i++) {
      il.Emit(OpCodes.Ldarg, i);
      il.Emit(OpCodes.Add);
    }
    il.Emit(OpCodes.Ret);
    il.MarkLabel(more);
    il.Emit(OpCodes.Ldarg_0);
    il.Emit(OpCodes.Ldc_I4_1);
    il.Emit(OpCodes.Sub);
    for (int i = 0; i < 8; i++)
      il.Emit(OpCodes.Ldarg, (short)(1 + (i + 1) % 8));
    il.Emit(OpCodes.Tailcall);
    il.Emit(OpCodes.Call, other);
    il.Emit(OpCodes.Ret);
  }
}
