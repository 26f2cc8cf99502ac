// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Collections that are asked for by what native code calls: below them stands code that the runtime makes for such calls,
/// and of which it tells only while it makes it.
/// </summary>
/// <remarks><c>--when FILE</c>: as <c>marks</c>; all that code is there by then.</remarks>
static unsafe class Inward
{
  const int Rounds = 10;

  delegate void Callback(void* arg);

  static readonly Callback back = _ => GC.Collect(0);
  static readonly nint backPointer = Marshal.GetFunctionPointerForDelegate(back);

  [DllImport("libtruth_nofp.so", EntryPoint = "truth_call", SetLastError = true)]
  static extern void CallAndKeepError(delegate* unmanaged<void*, void> callback, void* arg, int frame);

  [UnmanagedCallersOnly]
  static void Collect(void* arg) => GC.Collect(0);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Direct() => Helper.CallNoFp(&Collect, null, 0);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void KeepingError() => CallAndKeepError(&Collect, null, 0);

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
    Round();
    o.WaitToBegin();
    int before = GC.CollectionCount(0);
    for (int i = 0; i < Rounds; i++)
      Round();
    int after = GC.CollectionCount(0);
    o.SayDone();
    Check.That(after - before >= 3 * Rounds, "collections: too few");
    return new JsonObject { ["work"] = Rounds, ["collections"] = after - before };
  }
}
