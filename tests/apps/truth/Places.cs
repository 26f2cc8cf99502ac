// SPDX-License-Identifier: MIT
// Programs that sit where a sampler has the hardest time, and do so for most of their CPU time.
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>The native library's places.</summary>
static unsafe class Places
{
  const string Library = "libtruth_nofp.so";

  [DllImport(Library)] public static extern int truth_malloc(int rounds);
  [DllImport(Library)] public static extern int truth_clock(int rounds);
  [DllImport(Library)] public static extern ulong truth_prologs(int rounds);
  [DllImport(Library)] public static extern long truth_raise_on_stack(ulong ns);
  [DllImport(Library)] public static extern int truth_interrupt_start(ulong ns, ulong pause_ns);
  [DllImport(Library)] public static extern long truth_interrupt_stop();
  [DllImport(Library)] public static extern int truth_burn_at_exit(ulong ns);
  [DllImport(Library)] public static extern int truth_exit_threads(int count, ulong ns);
  [DllImport(Library)] public static extern void truth_exited(Exited* exited);
  [DllImport(Library)] public static extern int truth_sleep(int how, int ms);

  /// <summary>The runtime cannot stop a thread in here: to it, this is managed code without a safepoint.</summary>
  [DllImport(Library), SuppressGCTransition] public static extern ulong truth_burn(ulong ns);

  public struct Exited { public long Storage, Key, StorageNs, KeyNs; }

  /// <summary>Loads the library and gives a profiler a moment to learn of it.</summary>
  public static void Prepare()
  {
    NativeLibrary.Load(Path.Combine(AppContext.BaseDirectory, Library));
    Thread.Sleep(50);
  }

  /// <summary>Goes through the places in turn until the budget is used, and books what each took.</summary>
  public static JsonObject Run(Options o, params (string Method, Action Go)[] places)
  {
    Prepare();
    var budget = o.Budget();
    var ledger = new Ledger();
    new Ledger().Book("compiled by now", Clock.Thread());
    while (budget.More()) {
      long t = Clock.Thread();
      foreach (var (method, go) in places) {
        go();
        t = ledger.Book(method, t);
      }
      Elsewhere();
      ledger.Book("Truth.Places.Elsewhere", t);
    }
    return new JsonObject { ["work"] = budget.Done, ["methods"] = ledger.ToJson() };
  }

  static readonly ulong steps = Burn.Steps(300_000);

  /// <summary>Ordinary code, for comparison.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Elsewhere() => Check.Same("Burn.Steps", steps, Burn.Steps(300_000));
}

/// <summary>The compiler at work: dynamic methods, each used once.</summary>
static class InJit
{
  const int Terms = 250;

  public static JsonObject Run(Options o) => Places.Run(o, ("Truth.InJit.Compile", Compile));

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Compile()
  {
    long expected = 0;
    for (int i = 0; i < Terms; i++)
      expected = expected * 3 + (i ^ 5);
    Check.Same("dynamic method", expected, Make()(5));
  }

  /// <summary>sum = sum * 3 + (i ^ x), written out.</summary>
  static Func<long, long> Make()
  {
    var method = new DynamicMethod("Horner", typeof(long), [typeof(long)]);
    var il = method.GetILGenerator();
    il.Emit(OpCodes.Ldc_I8, 0L);
    for (int i = 0; i < Terms; i++) {
      il.Emit(OpCodes.Ldc_I8, 3L);
      il.Emit(OpCodes.Mul);
      il.Emit(OpCodes.Ldc_I8, (long)i);
      il.Emit(OpCodes.Ldarg_0);
      il.Emit(OpCodes.Xor);
      il.Emit(OpCodes.Add);
    }
    il.Emit(OpCodes.Ret);
    return method.CreateDelegate<Func<long, long>>();
  }
}

/// <summary>The collector at work: a heap of small objects that all live, collected again and again.</summary>
static class InGc
{
  const int Nodes = 200_000;

  sealed class Node(int value, Node? next, Node? other)
  {
    public readonly int Value = value;
    public readonly Node? Next = next, Other = other;
  }

  static Node? first;

  public static JsonObject Run(Options o)
  {
    var nodes = new Node[Nodes];
    for (int i = 0; i < Nodes; i++)
      nodes[i] = new Node(i, i > 0 ? nodes[i - 1] : null, i > 0 ? nodes[i * 7 % i] : null);
    first = nodes[^1];
    var truth = Places.Run(o, ("Truth.InGc.Collect", Collect));
    long sum = 0;
    for (var node = first; node != null; node = node.Next)
      sum += node.Value;
    Check.Same("sum over the heap", (long)Nodes * (Nodes - 1) / 2, sum);
    return truth;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Collect() => GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
}

/// <summary>The dynamic linker at work, with its lock held: constructors and destructors that take time.</summary>
static unsafe class InLoader
{
  public static JsonObject Run(Options o) => Places.Run(o, ("Truth.InLoader.Load", Load));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Load()
  {
    nint library = NativeLibrary.Load(Path.Combine(AppContext.BaseDirectory, "libtruth_slow.so"));
    var burnt = (delegate* unmanaged<ulong>)NativeLibrary.GetExport(library, "truth_slow_burnt");
    Check.That(burnt() >= 3_000_000, "the library's constructor has not run");
    NativeLibrary.Free(library);
  }
}

/// <summary>The allocator of the C library.</summary>
static class InMalloc
{
  public static JsonObject Run(Options o) => Places.Run(o, ("Truth.InMalloc.Allocate", Allocate));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Allocate() => Check.Same("contents of blocks", 0, Places.truth_malloc(20_000));
}

/// <summary>The kernel's code in user space.</summary>
static class InVdso
{
  public static JsonObject Run(Options o) => Places.Run(o, ("Truth.InVdso.Clocks", Clocks));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Clocks() => Check.Same("clock", 0, Places.truth_clock(50_000));
}

/// <summary>Stubs between functions of a library that is bound lazily, and the binding itself.</summary>
static unsafe class InPlt
{
  const int Functions = 500, Rounds = 1_000;

  static readonly string path = Path.Combine(AppContext.BaseDirectory, "libtruth_lazy.so");
  static delegate* unmanaged<int, int> calls;

  public static JsonObject Run(Options o)
  {
    calls = (delegate* unmanaged<int, int>)NativeLibrary.GetExport(NativeLibrary.Load(path), "truth_lazy");
    return Places.Run(o, ("Truth.InPlt.Call", Call));
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Call() => Check.Same("calls through stubs", Functions * Rounds, calls(Rounds));
}

/// <summary>The same library, loaded and left again each time: all calls go through the resolver.</summary>
static unsafe class InResolver
{
  public static JsonObject Run(Options o) => Places.Run(o, ("Truth.InResolver.Bind", Bind));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Bind()
  {
    nint library = NativeLibrary.Load(Path.Combine(AppContext.BaseDirectory, "libtruth_lazy.so"));
    var calls = (delegate* unmanaged<int, int>)NativeLibrary.GetExport(library, "truth_lazy");
    Check.Same("calls through stubs", 500, calls(1));
    NativeLibrary.Free(library);
  }
}

/// <summary>Functions that are little but prolog and epilog, native and managed.</summary>
static unsafe class InPrologs
{
  const int Rounds = 100_000;

  public static JsonObject Run(Options o) => Places.Run(o,
    ("Truth.InPrologs.Native", Native), ("Truth.InPrologs.Managed", Managed));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Native() =>
    Check.Same("sum", (ulong)Rounds * (Rounds - 1) / 2, Places.truth_prologs(Rounds));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Managed()
  {
    long sum = 0;
    for (int i = 0; i < Rounds; i++)
      sum += (i % 4) switch {
        0 => Saves(i, 0, 0, 0, 0, 0),
        1 => Zeroes(i),
        2 => i % 32 == 2 ? Probes(i) : Same(i),
        _ => Jumps(i),
      };
    Check.Same("sum", (long)Rounds * (Rounds - 1) / 2, sum);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Same(int x) => x;

  /// <summary>Needs all registers that a method has to save.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Saves(int a, int b, int c, int d, int e, int f) =>
    Same(a) + a + b + c + d + e + f - Same(a) + b - c + d - e + f;

  [InlineArray(64)]
  struct Some { object? item; }

  /// <summary>Clears its frame before it does anything else.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Zeroes(int x)
  {
    Some some = default;
    some[x & 63] = null;
    return some[x & 31] == null ? x : -1;
  }

  [InlineArray(40_000)]
  struct Much { byte item; }

  /// <summary>Touches the pages of its frame one by one.</summary>
  [MethodImpl(MethodImplOptions.NoInlining), SkipLocalsInit]
  static int Probes(int x)
  {
    Unsafe.SkipInit(out Much much);
    much[x & 1023] = 1;
    return much[x & 1023] == 1 ? x : -1;
  }

  /// <summary>Leaves by a jump.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Jumps(int x) => x < 0 ? Same(-x) : Saves(x, 0, 0, 0, 0, 0);
}

/// <summary>Work in catch and finally blocks and in filters: half of it there, half in what they call.</summary>
static class InFunclets
{
  const int Steps = 100_000;

  sealed class Thrown : Exception;

  static readonly ulong steps = Burn.Steps(Steps);

  public static JsonObject Run(Options o) => Places.Run(o,
    ("Truth.InFunclets.Catch", Catch), ("Truth.InFunclets.Finally", Finally),
    ("Truth.InFunclets.Filter", Filter), ("Truth.InFunclets.CatchInFinally", CatchInFinally));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Throw() => throw new Thrown();

  [MethodImpl(MethodImplOptions.AggressiveInlining)]
  static ulong Step(ulong x) => x * 6364136223846793005 + 1442695040888963407;

  static void Done(ulong x)
  {
    Check.Same("steps in the block", steps, x);
    Check.Same("steps in a callee", steps, Burn.Steps(Steps));
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Catch()
  {
    try {
      Throw();
    } catch (Thrown) {
      ulong x = 1;
      for (int i = 0; i < Steps; i++)
        x = Step(x);
      Done(x);
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Finally()
  {
    try {
      FinallyInside();
    } catch (Thrown) {
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void FinallyInside()
  {
    try {
      Throw();
    } finally {
      ulong x = 1;
      for (int i = 0; i < Steps; i++)
        x = Step(x);
      Done(x);
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Filter()
  {
    try {
      Throw();
    } catch (Thrown) when (Judge()) {
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static bool Judge()
  {
    ulong x = 1;
    for (int i = 0; i < Steps; i++)
      x = Step(x);
    Done(x);
    return true;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchInFinally()
  {
    try {
      CatchInFinallyInside();
    } catch (Thrown) {
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchInFinallyInside()
  {
    try {
      Throw();
    } finally {
      try {
        Throw();
      } catch (Thrown) {
        ulong x = 1;
        for (int i = 0; i < Steps; i++)
          x = Step(x);
        Done(x);
      }
    }
  }
}

/// <summary>Signal handlers on a stack of their own: raised by native code, and breaking into managed code.</summary>
static class OnOwnStack
{
  public static JsonObject Run(Options o) => Places.Run(o,
    ("Truth.OnOwnStack.Raised", Raised), ("Truth.OnOwnStack.Interrupted", Interrupted));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Raised() =>
    Check.That(Places.truth_raise_on_stack(2_000_000) >= 2_000_000, "the handler has not run, or not there");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Interrupted()
  {
    Check.Same("start of interruptions", 0, Places.truth_interrupt_start(400_000, 200_000));
    Burn.For(4_000_000);
    Check.That(Places.truth_interrupt_stop() > 0, "no handler has run, or not there");
  }
}

/// <summary>Threads half way through their exit, managed and native ones.</summary>
static unsafe class AtExit
{
  const int AtOnce = 10, EachNs = 1_000_000;

  public static JsonObject Run(Options o)
  {
    Places.Prepare();
    var budget = o.Budget();
    var exited = new Places.Exited();
    while (budget.More()) {
      Crew.Run(Enumerable.Range(0, AtOnce).Select(n => ($"leaving-{n}", (Action)(() =>
        Check.Same("destructors registered", 0, Places.truth_burn_at_exit(EachNs))))));
      Check.Same("native threads", 0, Places.truth_exit_threads(AtOnce, EachNs));
    }
    for (int i = 0; i < 1_000; i++) { // Join does not wait for the end of the native thread
      Places.truth_exited(&exited);
      if (exited.Key == budget.Done * 2 * AtOnce)
        break;
      Thread.Sleep(10);
    }
    Check.Same("destructors of storage", budget.Done * 2 * AtOnce, exited.Storage);
    Check.Same("destructors of keys", budget.Done * 2 * AtOnce, exited.Key);
    return new JsonObject {
      ["work"] = budget.Done,
      ["methods"] = new JsonObject { ["storage"] = exited.StorageNs, ["key"] = exited.KeyNs },
    };
  }
}
