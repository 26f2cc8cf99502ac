// SPDX-License-Identifier: MIT
using System.Linq.Expressions;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Collections that are asked for, or exceptions that are thrown, by what native code calls: below them stands code that the
/// runtime makes for such calls, and of which it tells only while it makes it.
/// </summary>
/// <remarks>
/// <c>--when FILE</c>: as <c>marks</c>; all that code is there by then. <c>--exceptions N</c>: so many in each way, one by one.
/// </remarks>
static unsafe class Inward
{
  const int Rounds = 10;

  static bool throws;

  delegate void Callback(void* arg);

  static readonly Callback back = _ => Happen();
  static readonly nint backPointer = Marshal.GetFunctionPointerForDelegate(back);

  [DllImport("libtruth_nofp.so", EntryPoint = "truth_call", SetLastError = true)]
  static extern void CallAndKeepError(delegate* unmanaged<void*, void> callback, void* arg, int frame);

  [UnmanagedCallersOnly]
  static void Called(void* arg) => Happen();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Happen()
  {
    if (throws)
      ThrowAndCatch();
    else
      GC.Collect(0);
  }

  static void ThrowAndCatch()
  {
    try {
      throw new Passing();
    } catch (Passing) {
    }
  }

  sealed class Passing : Exception;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Direct() => Helper.CallNoFp(&Called, null, 0);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void KeepingError() => CallAndKeepError(&Called, null, 0);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void ByDelegate() => Helper.CallDelegate(backPointer, null, 0);

  static void Round()
  {
    Direct();
    KeepingError();
    ByDelegate();
  }

  public static JsonObject Run(Options o)
  {
    int rounds = o.Number("--exceptions", Rounds);
    throws = o.Has("--exceptions");
    Round();
    o.WaitToBegin();
    int before = GC.CollectionCount(0);
    for (int i = 0; i < rounds; i++)
      Round();
    int after = GC.CollectionCount(0);
    o.SayDone();
    Check.That(throws || after - before >= 3 * rounds, "collections: too few");
    return new JsonObject { ["work"] = rounds, ["collections"] = after - before };
  }
}

/// <summary>Threads that wait, each below other code that is generated while the program runs, and is in no list of methods.</summary>
/// <remarks><c>--when FILE</c>: makes FILE.ready when they wait, and ends when FILE is there.</remarks>
static unsafe class Below
{
  static readonly ManualResetEventSlim over = new(false, 0);
  static readonly CountdownEvent parked = new(4);
  static readonly Func<int> dynamic = Emit(), expression = Compile();
  static readonly Func<int> multicast = (Func<int>)Delegate.Combine(new Func<int>(Park), new Func<int>(() => 0));

  [DllImport("libtruth_nofp.so", EntryPoint = "truth_call", SetLastError = true)]
  static extern void CallAndKeepError(delegate* unmanaged<void*, void> callback, void* arg, int frame);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Park()
  {
    parked.Signal();
    over.Wait();
    return 0;
  }

  [UnmanagedCallersOnly]
  static void ParkBack(void* arg) => Park();

  static Func<int> Emit()
  {
    var method = new DynamicMethod("ParkBelow", typeof(int), []);
    var il = method.GetILGenerator();
    il.Emit(OpCodes.Call, ((Delegate)Park).Method);
    il.Emit(OpCodes.Ldc_I4_1);
    il.Emit(OpCodes.Add); // so that it is no jump
    il.Emit(OpCodes.Ret);
    return method.CreateDelegate<Func<int>>();
  }

  static Func<int> Compile() =>
    Expression.Lambda<Func<int>>(Expression.Add(Expression.Call(((Delegate)Park).Method), Expression.Constant(1))).Compile();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Dynamic() => Check.Same("dynamic", 1, dynamic());

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Compiled() => Check.Same("compiled", 1, expression());

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Multicast() => Check.Same("multicast", 0, multicast());

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Inward()
  {
    CallAndKeepError(&ParkBack, null, 0);
    GC.KeepAlive(over);
  }

  public static JsonObject Run(Options o)
  {
    (string Name, Action Body)[] ways = [("below-dynamic", Dynamic), ("below-compiled", Compiled), ("below-multicast", Multicast), ("below-inward", Inward)];
    Crew.Run([.. ways, ("end", () => {
      parked.Wait();
      o.WaitToBegin();
      over.Set();
    })]);
    return new JsonObject { ["work"] = ways.Length };
  }
}
