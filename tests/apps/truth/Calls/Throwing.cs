// SPDX-License-Identifier: MIT
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace Truth.Calls;

sealed class Thrown(int tag) : Exception { public readonly int Tag = tag; }

/// <summary>Exceptions through many frames: caught, filtered, rethrown, replaced, from every kind of block.</summary>
static class Throwing
{
  public static void All()
  {
    Far(50);
    Filtered();
    Rethrown();
    ByItself();
    Captured();
    Replaced();
    for (int i = 0; i < 3; i++)
      InFinally();
    InCatch();
    InFilter();
    EachLevel(30);
    AwayFromLoop();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Throw(int tag)
  {
    Tally.Hit("Throwing.Throw");
    Tally.Unwound(1);
    throw new Thrown(tag);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Far(int depth)
  {
    Tally.Hit("Throwing.Far");
    int steps = 0;
    try { Down(depth, ref steps); } catch (Thrown e) { Check.Same("tag", 1, e.Tag); }
    Check.Same("finally blocks passed", depth, steps);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Down(int depth, ref int steps)
  {
    Tally.Hit("Throwing.Down");
    Tally.Unwound(1);
    if (depth == 0)
      Throw(1);
    try { Down(depth - 1, ref steps); } finally { steps++; Passed(); }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Passed() => Tally.Hit("Throwing.Passed");

  /// <summary>A method that calls itself and throws out of its own catch block, at each level.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void ByItself()
  {
    Tally.Hit("Throwing.ByItself");
    int caught = 0;
    try { AtEachLevel(5); } catch (Thrown e) { caught = e.Tag; }
    Passed();
    Check.Same("thrown on by each level", 16, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void AtEachLevel(int depth)
  {
    Tally.Hit("Throwing.AtEachLevel");
    Tally.Unwound(1);
    try {
      if (depth == 0)
        Throw(16);
      AtEachLevel(depth - 1);
    } catch (Thrown) {
      throw;
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static bool Wants(int tag, Thrown e)
  {
    Tally.Hit("Throwing.Wants");
    return e.Tag == tag;
  }

  /// <summary>Filters run before the frames below them are gone.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Filtered()
  {
    Tally.Hit("Throwing.Filtered");
    int caught = 0;
    try {
      try {
        Unwanted(2);
      } catch (Thrown e) when (Wants(3, e)) {
        caught = 3;
      }
    } catch (Thrown e) when (Wants(2, e)) {
      caught = 2;
    }
    Check.Same("caught by the outer filter", 2, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Unwanted(int tag)
  {
    Tally.Hit("Throwing.Unwanted");
    Tally.Unwound(1);
    try { Throw(tag); } catch (Thrown e) when (Wants(-1, e)) { Passed(); }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Rethrown()
  {
    Tally.Hit("Throwing.Rethrown");
    int caught = 0;
    try { Again(3); } catch (Thrown e) { caught = e.Tag; }
    Check.Same("rethrown", 4, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Again(int times)
  {
    Tally.Hit("Throwing.Again");
    Tally.Unwound(1);
    if (times == 0)
      Throw(4);
    try { Again(times - 1); } catch (Thrown) { Passed(); throw; }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Captured()
  {
    Tally.Hit("Throwing.Captured");
    ExceptionDispatchInfo? kept = null;
    try { Throw(5); } catch (Thrown e) { kept = ExceptionDispatchInfo.Capture(e); }
    int caught = 0;
    try { Release(kept!); } catch (Thrown e) { caught = e.Tag; }
    Check.Same("thrown again later", 5, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Release(ExceptionDispatchInfo kept)
  {
    Tally.Hit("Throwing.Release");
    Tally.Unwound(1);
    kept.Throw();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Replaced()
  {
    Tally.Hit("Throwing.Replaced");
    int caught = 0;
    try {
      try { Throw(6); } finally { Throw(7); }
    } catch (Thrown e) {
      caught = e.Tag;
    }
    Check.Same("replaced in a finally", 7, caught);
  }

  /// <summary>A finally block in which another exception is thrown and caught: the first one goes on then.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void InFinally()
  {
    Tally.Hit("Throwing.InFinally");
    int caught = 0;
    try { Outer(); } catch (Thrown e) { caught = e.Tag; }
    Check.Same("goes on after another one was caught", 12, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Outer()
  {
    Tally.Hit("Throwing.Outer");
    Tally.Unwound(1);
    try { Inner(2); } finally { Behind(); }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Inner(int depth)
  {
    Tally.Hit("Throwing.Inner");
    Tally.Unwound(1);
    try {
      Throw(12);
    } finally {
      try {
        if (depth > 0)
          Inner(depth - 1);
        Throw(13);
      } catch (Thrown) {
        Within();
      }
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Within() => Tally.Hit("Throwing.Within");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Behind() => Tally.Hit("Throwing.Behind");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void InCatch()
  {
    Tally.Hit("Throwing.InCatch");
    int steps = 0;
    try {
      Throw(8);
    } catch (Thrown) {
      try { Throw(9); } catch (Thrown) { steps++; Far(3); }
      steps++;
    }
    Check.Same("caught in a catch", 2, steps);
  }

  /// <summary>What a filter throws is swallowed, and counts as no.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void InFilter()
  {
    Tally.Hit("Throwing.InFilter");
    int caught = 0;
    try {
      try { Throw(10); } catch (Thrown) when (Fails()) { caught = -1; }
    } catch (Thrown e) {
      caught = e.Tag;
    }
    Check.Same("a filter that throws", 10, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static bool Fails()
  {
    Tally.Hit("Throwing.Fails");
    Tally.Unwound(1);
    Throw(11);
    return true;
  }

  /// <summary>A new exception from each catch on the way up.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static int EachLevel(int depth)
  {
    Tally.Hit("Throwing.EachLevel");
    if (depth == 0)
      return 0;
    try { Throw(depth); } catch (Thrown e) { return e.Tag == depth ? EachLevel(depth - 1) + 1 : -1000; }
    return -1000;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void AwayFromLoop()
  {
    Tally.Hit("Throwing.AwayFromLoop");
    int caught = 0;
    for (int i = 0; i < 20; i++)
      try { Throw(i); } catch (Thrown) { caught++; continue; } finally { Passed(); }
    Check.Same("caught in a loop", 20, caught);
  }
}

/// <summary>Exceptions that the processor finds.</summary>
static unsafe class Hardware
{
  static readonly string? nothing = null;

  public static void All()
  {
    int caught = 0;
    for (int i = 0; i < 3; i++) {
      try { Length(nothing); } catch (NullReferenceException) { caught++; }
      try { Divide(i, i - i); } catch (DivideByZeroException) { caught++; }
      try { Above(20); } catch (NullReferenceException) { caught++; }
      try { Element([1], i + 1); } catch (IndexOutOfRangeException) { caught++; }
      try { Overflow(int.MinValue, -1); } catch (OverflowException) { caught++; }
      try { Written((int*)null, 1); } catch (NullReferenceException) { caught++; }
    }
    Check.Same("hardware exceptions", 18, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Length(string? s)
  {
    Tally.Hit("Hardware.Length");
    Tally.Unwound(1);
    return s!.Length;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Divide(int a, int b)
  {
    Tally.Hit("Hardware.Divide");
    Tally.Unwound(1);
    return a / b;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Overflow(int a, int b)
  {
    Tally.Hit("Hardware.Overflow");
    Tally.Unwound(1);
    return a / b;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Element(int[] a, int i)
  {
    Tally.Hit("Hardware.Element");
    Tally.Unwound(1);
    return a[i];
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Written(int* p, int value)
  {
    Tally.Hit("Hardware.Written");
    Tally.Unwound(1);
    *p = value;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Above(int depth)
  {
    Tally.Hit("Hardware.Above");
    Tally.Unwound(1);
    return depth == 0 ? Length(nothing) : Above(depth - 1) + 1;
  }
}

/// <summary>Exceptions that pass through frames of the runtime and of the framework.</summary>
static class Passing
{
  public static void All()
  {
    Reflected();
    Initialised();
    Compared();
    Crossed();
    Check.Same("thrown by a task", 13, Tasked());
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Reflected()
  {
    Tally.Hit("Passing.Reflected");
    var method = typeof(Throwing).GetMethod(nameof(Throwing.Throw), BindingFlags.Static | BindingFlags.Public)!;
    int caught = 0;
    try { method.Invoke(null, [12]); } catch (TargetInvocationException e) { caught = ((Thrown)e.InnerException!).Tag; }
    Afterwards();
    Check.Same("thrown through Invoke", 12, caught);
    Action<int> action = Throwing.Throw;
    try { action.DynamicInvoke(17); } catch (TargetInvocationException e) { caught = ((Thrown)e.InnerException!).Tag; }
    Afterwards();
    Check.Same("thrown through DynamicInvoke", 17, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Afterwards() => Tally.Hit("Passing.Afterwards");

  /// <summary>A static constructor that throws runs once; the type stays broken.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Initialised()
  {
    Tally.Hit("Passing.Initialised");
    int caught = 0;
    try { caught = Touch(); } catch (TypeInitializationException e) { caught = ((Thrown)e.InnerException!).Tag; }
    Check.Same("thrown through a static constructor", 14, caught);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Touch()
  {
    Tally.Hit("Passing.Touch");
    Tally.Unwound(1);
    return Broken.Value;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Never(int a, int b)
  {
    Tally.Hit("Passing.Never");
    Tally.Unwound(1);
    Throwing.Throw(15);
    return a - b;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Compared()
  {
    Tally.Hit("Passing.Compared");
    int caught = 0;
    try {
      new List<int> { 3, 1, 2 }.Sort(Never);
    } catch (InvalidOperationException e) {
      caught = ((Thrown)e.InnerException!).Tag;
    }
    Check.Same("thrown through Sort", 15, caught);
  }

  /// <summary>Caught above native frames; on Unix none may pass through them.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Crossed()
  {
    Tally.Hit("Passing.Crossed");
    Crossing.CatchAboveNative();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Tasked()
  {
    Tally.Hit("Passing.Tasked");
    try {
      Task.Run(Work).Wait();
    } catch (AggregateException e) {
      return ((Thrown)e.InnerException!).Tag;
    }
    return -1;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Work()
  {
    Tally.Hit("Passing.Work");
    Tally.Unwound(1);
    Throwing.Throw(13);
  }
}

static class Broken
{
  public static readonly int Value;

  static Broken()
  {
    Tally.Hit("Broken..cctor");
    Tally.Unwound(1);
    Throwing.Throw(14);
    Value = 1;
  }
}
