// SPDX-License-Identifier: MIT
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Truth;

/// <summary>
/// Programs that end at once by an exception that nobody catches: <c>unhandled WAY FILE</c>, which is where it is thrown,
/// and what the runtime told of all that were: a letter for each, the first of its type's name.
/// </summary>
static class Unhandled
{
  sealed class Last : Exception
  {
    public Last() : base("the last word") { }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Throw() => throw new Last();

  static void OnThread(ThreadStart what)
  {
    var thread = new Thread(what);
    thread.Start();
    thread.Join();
  }

  [UnmanagedCallersOnly]
  static unsafe int Compare(int* a, int* b)
  {
    Throw();
    return a->CompareTo(*b);
  }

  [DllImport("libc")]
  static extern unsafe void qsort(int* items, nint n, nint size, delegate* unmanaged<int*, int*, int> compare);

  static unsafe void BelowNative()
  {
    var items = new[] { 2, 1 };
    fixed (int* p = items)
      qsort(p, items.Length, sizeof(int), &Compare);
  }

  static void ByReflection() =>
    typeof(Unhandled).GetMethod(nameof(Throw), BindingFlags.NonPublic | BindingFlags.Static)!
      .Invoke(null, BindingFlags.DoNotWrapExceptions, null, null, null);

  static async void Async()
  {
    await Task.Yield();
    Throw();
  }

  static bool Wants() => Environment.HasShutdownStarted;

  static void BelowFilter()
  {
    try { Throw(); } catch when (Wants()) { Console.WriteLine("caught"); }
  }

  static void AmidAnother()
  {
    try {
      try { throw new InvalidOperationException("the first word"); } finally { Throw(); }
    } catch (InvalidOperationException) { Console.WriteLine("caught"); }
  }

  /// <summary>A thread begins with it. It catches what it has thrown further in, and then throws once more.</summary>
  static void Again(object? depth)
  {
    int n = (int)depth!;
    if (n > 0) {
      try { Again(n - 1); } catch (Last) when (n == 2) { }
    }
    if (n is 0 or 3)
      Throw();
  }

  static bool CatchesOne()
  {
    try { ThrowFirst(); } catch (InvalidOperationException) { return true; }
    return false;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void ThrowFirst() => throw new InvalidOperationException("the first word");

  static bool Fails()
  {
    ThrowFirst();
    return true;
  }

  /// <summary>A thread begins with it: what its own filter throws goes no further, and is a no.</summary>
  static void ByFilter()
  {
    try {
      try { Throw(); } catch (Last) when (Fails()) { }
    } catch (Last) { }
    Throw();
  }

  /// <summary>A thread begins with it: its own filter throws and catches another one.</summary>
  static void InFilter()
  {
    try { Throw(); } catch (Last) when (CatchesOne()) { }
    Throw();
  }

  static readonly Dictionary<string, Action> ways = new() {
    ["main"] = Throw,
    ["thread"] = () => OnThread(Throw),
    ["pool"] = () => ThreadPool.QueueUserWorkItem(_ => Throw()),
    ["async"] = Async,
    ["native"] = BelowNative,
    ["native-thread"] = () => OnThread(BelowNative),
    ["reflection"] = ByReflection,
    ["filter"] = BelowFilter,
    ["another"] = AmidAnother,
    ["by-filter"] = () => new Thread(ByFilter).Start(),
    ["in-filter"] = () => new Thread(InFilter).Start(),
    ["recursion"] = () => new Thread(Again).Start(3),
  };

  public static int Run(Options o)
  {
    using var told = File.Create(o.Rest[1]);
    AppDomain.CurrentDomain.FirstChanceException += (_, e) => {
      told.WriteByte((byte)e.Exception.GetType().Name[0]);
      told.Flush();
    };
    ways[o.Rest[0]]();
    Thread.Sleep(Timeout.Infinite);
    return 0;
  }
}
