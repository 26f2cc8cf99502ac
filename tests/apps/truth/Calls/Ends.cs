// SPDX-License-Identifier: MIT
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Truth.Calls;

/// <summary>Threads that end in every way: at their end, by an exception, amid a call, aborted, or never.</summary>
static unsafe class Ends
{
  [ThreadStatic] static bool left;

  public static void All()
  {
    Crew.Run(Enumerable.Range(0, 8).Select(n => ($"short-{n}", (Action)(() => Short(n)))));
    Crew.Run([("thrower", Caught)]);
    Aborted();
    ulong spent;
    Check.Same("native thread", 0, Helper.truth_call_in_thread(&OnNative, null, "native", &spent));
    if (!left)
      LeaveOneWaiting();
    left = true;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Short(int n)
  {
    Tally.Hit("Ends.Short");
    return n == 0 ? 0 : Short(n - 1) + 1;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Caught()
  {
    Tally.Hit("Ends.Caught");
    try { Fail(30); } catch (Thrown) { }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Fail(int depth)
  {
    Tally.Hit("Ends.Fail");
    Tally.Unwound(1);
    if (depth == 0)
      Throwing.Throw(30);
    Fail(depth - 1);
    Thread.Yield();
  }

  /// <summary>
  /// What is left of Thread.Abort: an exception out of the blue, here in a loop that calls nothing. (Where it finds
  /// the runtime compiling a method with a profiler loaded, .NET 10 ends the process.)
  /// </summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Aborted()
  {
    Tally.Hit("Ends.Aborted");
    using var cancel = new CancellationTokenSource();
    var spinning = new StrongBox<bool>();
    var canceller = new Thread(() => {
      while (!Volatile.Read(ref spinning.Value))
        Thread.Sleep(1);
      cancel.Cancel();
    });
    canceller.Start();
    bool aborted = false;
#pragma warning disable SYSLIB0046 // nothing else ends a call like this
    try {
      ControlledExecution.Run(() => Enter(spinning, 10), cancel.Token);
    } catch (OperationCanceledException) {
      aborted = true;
    }
#pragma warning restore SYSLIB0046
    canceller.Join();
    Check.That(aborted, "not aborted");
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Enter(StrongBox<bool> spinning, int depth)
  {
    Tally.Hit("Ends.Enter");
    Tally.Unwound(1);
    return depth > 0 ? Enter(spinning, depth - 1) + 1 : Spin(spinning) + 1;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Spin(StrongBox<bool> spinning)
  {
    Tally.Hit("Ends.Spin");
    Tally.Unwound(1);
    Volatile.Write(ref spinning.Value, true);
    for (long i = 0; ; i++)
      if (!Volatile.Read(ref spinning.Value))
        return i;
  }

  [UnmanagedCallersOnly]
  static void OnNative(void* arg)
  {
    Tally.Hit("Ends.OnNative");
    Short(arg == null ? 5 : 0);
  }

  /// <summary>It is still there when the program ends.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void LeaveOneWaiting()
  {
    Tally.Hit("Ends.LeaveOneWaiting");
    using var inside = new ManualResetEventSlim();
    new Thread(() => Wait(inside, 10)) { IsBackground = true, Name = "left" }.Start();
    inside.Wait();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Wait(ManualResetEventSlim inside, int depth)
  {
    Tally.Hit("Ends.Wait");
    if (depth > 0)
      return Wait(inside, depth - 1) + 1;
    inside.Set();
    Thread.Sleep(Timeout.Infinite);
    return 0;
  }
}

/// <summary>From managed to native code and back, in all ways and ten deep.</summary>
static unsafe class Crossing
{
  const int Depth = 10, Items = 500;

  struct Call
  {
    public int Depth, Result;
  }

  [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
  delegate void Callback(Call* call);

  static readonly Callback back = Back;
  static readonly nint backPointer = Marshal.GetFunctionPointerForDelegate(back);

  [DllImport("libc")]
  [SuppressGCTransition]
  static extern int abs(int n);

  [DllImport("libc", SetLastError = true)]
  static extern int close(int fd);

  [DllImport("libc", CharSet = CharSet.Ansi)]
  static extern nint strlen(string s);

  public static void All()
  {
    Check.Same("bottom of the chain", Depth, Down(Depth));
    Plain();
    Sort();
    CatchAboveNative();
  }

  /// <summary>By turns through a function pointer and through a delegate.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Down(int depth)
  {
    Tally.Hit("Crossing.Down");
    if (depth == 0)
      return 0;
    var call = new Call { Depth = depth - 1 };
    if (depth % 2 == 0)
      Helper.CallFp(&Up, &call, depth * 100);
    else
      Helper.CallDelegate(backPointer, &call, depth * 100);
    return call.Result + 1;
  }

  [UnmanagedCallersOnly]
  static void Up(void* call)
  {
    Tally.Hit("Crossing.Up");
    ((Call*)call)->Result = Down(((Call*)call)->Depth);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Back(Call* call)
  {
    Tally.Hit("Crossing.Back");
    call->Result = Down(call->Depth);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Plain()
  {
    Tally.Hit("Crossing.Plain");
    foreach (var method in (string[])["abs", "close", "strlen"])
      Tally.Native("Crossing." + method, 100);
    for (int i = 0; i < 100; i++) {
      Check.Same("abs", i, abs(-i));
      Check.Same("close", -1, close(-1));
      Check.Same("errno", 9, Marshal.GetLastPInvokeError());
      Check.Same("strlen", 6, strlen("length"));
    }
  }

  [UnmanagedCallersOnly]
  static int Compare(int* a, int* b)
  {
    Tally.Hit("Crossing.Compare");
    return a->CompareTo(*b);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Sort()
  {
    Tally.Hit("Crossing.Sort");
    var items = new int[Items];
    for (int i = 0; i < items.Length; i++)
      items[i] = i * 7919 % Items;
    fixed (int* p = items)
      Native.qsort(p, items.Length, sizeof(int), &Compare);
    for (int i = 0; i < items.Length; i++)
      Check.Same("sorted", i, items[i]);
  }

  [ThreadStatic] static int caught;

  [UnmanagedCallersOnly]
  static int CompareAndCatch(int* a, int* b)
  {
    Tally.Hit("Crossing.CompareAndCatch");
    try { Throwing.Throw(31); } catch (Thrown) { caught++; }
    return a->CompareTo(*b);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void CatchAboveNative()
  {
    Tally.Hit("Crossing.CatchAboveNative");
    int* pair = stackalloc int[] { 2, 1 };
    caught = 0;
    Native.qsort(pair, 2, sizeof(int), &CompareAndCatch);
    Check.That(pair[0] == 1 && caught == 1, "caught above native frames");
  }
}
