// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>The native helper, once with frame pointers and once without.</summary>
static unsafe class Helper
{
  const string WithFrames = "libtruth_fp.so", WithoutFrames = "libtruth_nofp.so";

  [DllImport(WithFrames, EntryPoint = "truth_burn")]
  public static extern ulong BurnFp(ulong ns);

  [DllImport(WithoutFrames, EntryPoint = "truth_burn")]
  public static extern ulong BurnNoFp(ulong ns);

  [DllImport(WithFrames)]
  public static extern ulong truth_burn_at_end(ulong ns, int left);

  [DllImport(WithFrames, EntryPoint = "truth_call")]
  public static extern void CallFp(delegate* unmanaged<void*, void> callback, void* arg, int frame);

  [DllImport(WithoutFrames, EntryPoint = "truth_call")]
  public static extern void CallNoFp(delegate* unmanaged<void*, void> callback, void* arg, int frame);

  [DllImport(WithoutFrames, EntryPoint = "truth_call")]
  public static extern void CallDelegate(nint callback, void* arg, int frame);

  [DllImport(WithoutFrames)]
  public static extern int truth_threads(int count, ulong ns, string name, ulong[] spent);

  [DllImport(WithoutFrames)]
  public static extern int truth_renamed_threads(int count, ulong ns, ulong[] spent);

  [DllImport(WithFrames)]
  public static extern int truth_call_in_thread(
    delegate* unmanaged<void*, void> callback, void* arg, string name, ulong* spent);
}

/// <summary>Managed code that calls native code that calls managed code, in all ways and ten deep.</summary>
static unsafe class Native
{
  const int Depth = 10, NativeThreads = 3;

  [DllImport("libc")]
  public static extern void qsort(
    void* items, nint count, nint size, delegate* unmanaged<int*, int*, int> compare);

  public static JsonObject Run(Options o)
  {
    if (o.Has("--renamed"))
      return Rename(o.Budget());
    var budget = o.Budget();
    var methods = new Ledger();
    var threads = new Ledger();
    ulong bottom = Burn.Steps(1_000_000);
    while (budget.More()) {
      long t = Clock.Thread();
      Sort();
      t = methods.Book("Truth.Native.Sort", t);
      BurnFp();
      t = methods.Book("Truth.Native.BurnFp", t);
      BurnNoFp();
      t = methods.Book("Truth.Native.BurnNoFp", t);
      Check.Same("bottom of the chain", bottom, Down(Depth));
      t = methods.Book("Truth.Native.Down", t);
      Threads(threads);
      CalledThread(threads);
    }
    return new JsonObject {
      ["work"] = budget.Done, ["methods"] = methods.ToJson(), ["threads"] = threads.ToJson(),
    };
  }

  [UnmanagedCallersOnly]
  static int Compare(int* a, int* b)
  {
    int x = *a, y = *b;
    for (int i = 0; i < 20; i++)
      (x, y) = (x ^ i, y ^ i);
    return (x ^ y) == (*a ^ *b) ? a->CompareTo(*b) : 0;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Sort()
  {
    var numbers = new int[5_000];
    uint x = 1;
    for (int i = 0; i < numbers.Length; i++)
      numbers[i] = (int)(x = x * 1664525 + 1013904223) >> 1;
    var expected = (int[])numbers.Clone();
    Array.Sort(expected);
    fixed (int* p = numbers)
      qsort(p, numbers.Length, sizeof(int), &Compare);
    Check.That(numbers.AsSpan().SequenceEqual(expected), "qsort: not sorted");
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void BurnFp() => Check.That(Helper.BurnFp(3_000_000) >= 3_000_000, "truth_burn: too short");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void BurnNoFp() => Check.That(Helper.BurnNoFp(3_000_000) >= 3_000_000, "truth_burn: too short");

  struct Call
  {
    public int Depth;
    public ulong Result;
  }

  delegate void Callback(Call* call);

  static readonly Callback back = Back;
  static readonly nint backPointer = Marshal.GetFunctionPointerForDelegate(back);

  /// <summary>Goes down through native frames: by turns with, without frame pointers, and by a delegate.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Down(int depth)
  {
    if (depth == 0)
      return Bottom();
    var call = new Call { Depth = depth - 1 };
    switch (depth % 3) {
    case 0:
      Helper.CallFp(&Up, &call, depth * 100);
      break;
    case 1:
      Helper.CallNoFp(&Up, &call, depth * 100);
      break;
    default:
      Helper.CallDelegate(backPointer, &call, depth * 100);
      break;
    }
    return call.Result;
  }

  [UnmanagedCallersOnly]
  static void Up(void* call) => Back((Call*)call);

  static void Back(Call* call) => call->Result = Down(call->Depth);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static ulong Bottom() => Burn.Steps(1_000_000);

  static void Threads(Ledger ledger)
  {
    var spent = new ulong[NativeThreads];
    Check.Same("pthread_create", 0, Helper.truth_threads(NativeThreads, 1_000_000, "native", spent));
    for (int i = 0; i < spent.Length; i++) {
      Check.That(spent[i] >= (ulong)(i + 1) * 1_000_000, "a native thread worked too little");
      ledger.Add($"native-{i}", (long)spent[i]);
    }
  }

  static JsonObject Rename(Budget budget)
  {
    var spent = new ulong[NativeThreads];
    while (budget.More())
      Check.Same("pthread_create", 0, Helper.truth_renamed_threads(NativeThreads, 2_000_000, spent));
    return new JsonObject { ["work"] = budget.Done };
  }

  [UnmanagedCallersOnly]
  static void OnNativeThread(void* ns) => *(long*)ns = Burn.For(*(long*)ns);

  /// <summary>A thread that the runtime meets only when it calls in.</summary>
  static void CalledThread(Ledger ledger)
  {
    long ns = 2_000_000;
    ulong spent;
    Check.Same("pthread_create", 0, Helper.truth_call_in_thread(&OnNativeThread, &ns, "called", &spent));
    Check.That(ns >= 2_000_000, "managed code on a native thread worked too little");
    ledger.Add("called", (long)spent);
  }
}
