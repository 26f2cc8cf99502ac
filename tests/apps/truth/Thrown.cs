// SPDX-License-Identifier: MIT
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Exceptions of which all is known that a profiler could tell: what they say, which method catches them, and how long
/// it takes at least to find it. One type for each way, so that each has a row of its own.
/// <c>--when FILE</c> waits for that file before anything is thrown, makes FILE.done and waits until FILE has gone.
/// </summary>
static class Thrown
{
  sealed class First(string message) : Exception(message);
  sealed class Plain(string? message) : Exception(message);
  sealed class Silent : Exception;
  sealed class Overridden(string message) : Exception(message) { public override string Message => "never asked for"; }
  sealed class Numbered(int n) : Exception($"number {n}");
  sealed class Slow(string message) : Exception(message);
  sealed class Outer(string message) : Exception(message);
  sealed class InFilter(string message) : Exception(message);
  sealed class InFinally(string message) : Exception(message);
  sealed class Replaced(string message) : Exception(message);
  sealed class Replacement(string message) : Exception(message);
  sealed class Again(string message) : Exception(message);
  sealed class InConstructor(string message) : Exception(message);

  const int Times = 10, Numbers = 1500, FilterMs = 20;
  static readonly string Long = new string('x', 199) + "\U0001f600" + new string('x', 800);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Throw(Exception e) => throw e;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchHere(Func<Exception> make)
  {
    try { Throw(make()); } catch (Exception) { }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchThere(Func<Exception> make)
  {
    try {
      try { Throw(make()); } catch (InvalidOperationException) { Check.That(false, "of another type"); }
    } catch (Exception) { }
  }

  static bool Sleep()
  {
    Thread.Sleep(FilterMs);
    return true;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchSlowly()
  {
    try { Throw(new Slow("slowly")); } catch (Slow) when (Sleep()) { }
  }

  static bool Fail()
  {
    Throw(new InFilter("in a filter"));
    return true;
  }

  /// <summary>The filter's exception is swallowed, and stands for a no.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchAfterFilter()
  {
    try {
      try { Throw(new Outer("past a filter")); } catch (Outer) when (Fail()) { Check.That(false, "it said no"); }
    } catch (Outer) { }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchInFinally()
  {
    try { Throw(new InFinally("in a finally")); } catch (InFinally) { }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchAfterFinally()
  {
    try {
      try { Throw(new Outer("past a finally")); } finally { CatchInFinally(); }
    } catch (Outer) { }
  }

  /// <summary>Some handler must be there for the first, or the program ends; it catches the other one.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchReplacement()
  {
    try {
      try { Throw(new Replaced("replaced")); } finally { Throw(new Replacement("in its place")); }
    } catch (Exception e) {
      Check.That(e is Replacement, "the one in its place");
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchAndThrow()
  {
    try { Throw(new Again("again")); } catch (Again) { throw; }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchAgain()
  {
    try { CatchAndThrow(); } catch (Again) { }
  }

  class Broken<T>
  {
    public static readonly int Value = Make();

    static int Make()
    {
      Throw(new InConstructor("in a type initializer"));
      return 1;
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchInitializer()
  {
    try { Check.That(Broken<int>.Value == 0, "it cannot be made"); } catch (TypeInitializationException) { }
  }

  struct Of<A, B, C>;

  /// <summary>As many methods as there are types: each has to be compiled when it is called first.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void CatchFirst<T>()
  {
    try { Throw(new First(typeof(T).Name)); } catch (First) { }
  }

  static Action[] Firsts()
  {
    Type[] types = [typeof(byte), typeof(short), typeof(int), typeof(long), typeof(float), typeof(double), typeof(char)];
    var method = typeof(Thrown).GetMethod(nameof(CatchFirst), BindingFlags.NonPublic | BindingFlags.Static)!;
    return [.. from a in types from b in types from c in types
            select method.MakeGenericMethod(typeof(Of<,,>).MakeGenericType(a, b, c)).CreateDelegate<Action>()];
  }

  static void Once(int n)
  {
    CatchHere(() => new Plain("plain"));
    CatchHere(() => new Plain("plain"));
    CatchThere(() => new Plain("ünïcödé \U0001f600 €"));
    CatchThere(() => new Plain(null));
    CatchHere(() => new Plain(""));
    CatchHere(() => new Plain(Long));
    CatchHere(() => new Silent());
    CatchHere(() => new Overridden("as it was made"));
    for (int i = n * Numbers / Times; i < (n + 1) * Numbers / Times; i++)
      CatchHere(() => new Numbered(i));
    CatchSlowly();
    CatchAfterFilter();
    CatchAfterFinally();
    CatchReplacement();
    CatchAgain();
  }

  public static JsonObject Run(Options o)
  {
    Action[] firsts = Firsts();
    using var together = new Barrier(2);
    o.WaitToBegin();
    Crew.Run([.. Enumerable.Range(0, 2).Select(t => ($"throw-{t}", (Action)(() => {
      for (int n = 0; n < Times; n++)
        Once(n);
      foreach (Action first in firsts) {
        together.SignalAndWait();
        first();
      }
    })))]);
    CatchInitializer();
    o.SayDone();
    return new JsonObject { ["times"] = 2 * Times, ["numbers"] = 2 * Numbers, ["firsts"] = 2 * firsts.Length, ["filter_ms"] = FilterMs };
  }
}
