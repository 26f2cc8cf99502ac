// SPDX-License-Identifier: MIT
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// A thread is nearly always in long code without a safepoint while another one collects: to stop it, the runtime takes away
/// the address that this code returns to, and puts one of its own there.
/// </summary>
static class Hijacked
{
  const int Steps = 20_000; // some ten microseconds
  const ulong Factor = 0x2545F4914F6CDD1D;

  static volatile bool over;

  static Func<ulong, ulong> MakeStraight()
  {
    var method = new DynamicMethod("Straight", typeof(ulong), [typeof(ulong)]);
    var il = method.GetILGenerator();
    il.Emit(OpCodes.Ldarg_0);
    for (int i = 0; i < Steps; i++) {
      il.Emit(OpCodes.Ldc_I8, unchecked((long)Factor + 2 * i));
      il.Emit(OpCodes.Mul);
    }
    il.Emit(OpCodes.Ret);
    return method.CreateDelegate<Func<ulong, ulong>>();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Call(Func<ulong, ulong> straight, ulong x) => straight(x) | 1;

  static ulong Expected(ulong x)
  {
    for (int i = 0; i < Steps; i++)
      x *= Factor + 2 * (ulong)i;
    return x | 1;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Collect()
  {
    while (!over) {
      GC.Collect(0, GCCollectionMode.Forced, blocking: true);
      Thread.SpinWait(3_000); // the other one shall come to something
    }
  }

  public static JsonObject Run(Options o)
  {
    var straight = MakeStraight();
    int before = GC.CollectionCount(0);
    long calls = 0;
    ulong x = 1;
    Check.Same("a product", Expected(x), Call(straight, x));
    var collector = new Thread(Collect) { Name = "collector" };
    collector.Start();
    for (var budget = o.Budget(); budget.More(); calls += 10)
      for (int i = 0; i < 10; i++)
        x = Call(straight, x);
    over = true;
    collector.Join();
    return new() { ["calls"] = calls, ["collections"] = GC.CollectionCount(0) - before, ["x"] = x.ToString() };
  }
}
