// SPDX-License-Identifier: MIT
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth.Calls;

/// <summary>Exceptions of which a runtime tells in an odd way: who calls what is next has to be known all the same.</summary>
/// <remarks>
/// Each case comes with what it calls: <c>Run(A!(B) C)</c> is Run that calls A, which an exception ends, and C; A has called
/// B. Dynamic methods are left out, so what they call is called by who calls them.
/// </remarks>
static class Unwinding
{
  static readonly (string Name, Action Run, string Calls)[] cases = [
    (nameof(NewInFinally), NewInFinally.Run, "Run(A!(B!(D) C))"),
    (nameof(InCatchBlock), InCatchBlock.Run, "Run(A(Throw! Throw! Leaf Leaf))"),
    (nameof(InFinallyBlock), InFinallyBlock.Run, "Run(A(Leaf Throw! Leaf Leaf))"),
    (nameof(Swallowed), Swallowed.Run, "Run(Filter!(X!(Leaf)) Leaf)"),
    (nameof(FromCatch), FromCatch.Run, "Run(A!(M!(Throw! Throw!) Leaf))"),
    (nameof(FromNestedCatch), FromNestedCatch.Run, "Run(A!(M!(Throw! M!(Throw!)) Leaf))"),
    (nameof(FromFinally), FromFinally.Run, "Run(A!(B!(A!(B!)) Leaf))"),
    (nameof(Rethrown), Rethrown.Run, "Run(A!(M!(Throw! Again!(Throw!)) Leaf))"),
    (nameof(DynamicFilter), DynamicFilter.Run, "Run(Filter!(Throw!(Throw!) Throw!) Leaf)"),
    (nameof(DynamicFinally), DynamicFinally.Run, "Run(R!(R!) Leaf)"),
    (nameof(BelowDynamicFinally), BelowDynamicFinally.Run, "Run(M!(Throw! Throw!) Leaf)"),
    .. OperatingSystem.IsWindows() ? [] : ThroughNativeCode,
  ];

  /// <summary>Under Wine a program that has done one of these does not end when its work is done, without a profiler neither.</summary>
  static (string, Action, string)[] ThroughNativeCode => [
    (nameof(BrokenType), BrokenType.Run, "Run(Fail!(Noticed) Noticed Filter Leaf)"),
    (nameof(Invoked), Invoked.Run, $"Run(Throw!(Noticed) {Invoked.Again}Noticed Filter Leaf)"),
  ];

  [ThreadStatic] static List<string>? begun;

  /// <summary>In which order they begin the methods tell themselves; who calls whom is as they are written.</summary>
  public static void All()
  {
    foreach (var (name, run, calls) in cases) {
      begun = [];
      run();
      var expected = calls.Split(['!', '(', ')', ' '], StringSplitOptions.RemoveEmptyEntries);
      Check.Same($"calls of {name}", string.Join(' ', expected), string.Join(' ', begun));
      foreach (string method in begun)
        Tally.Hit($"Unwinding+{name}.{method}");
      Tally.Unwound(calls.Count(c => c == '!'));
    }
  }

  /// <summary>The names and calls of the cases in their turn.</summary>
  public static JsonArray ToJson() => [.. cases.Select(c => new JsonArray(c.Name, c.Calls))];

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Begin([CallerMemberName] string method = "") => begun!.Add(method);

  /// <summary>D catches outside of the finally block what that threw: nobody tells that its first unwinding ends there.</summary>
  static class NewInFinally
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      try { A(); } catch (Thrown) { }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void A()
    {
      Begin();
      try { B(); } finally { C(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void B()
    {
      Begin();
      try { throw new Thrown(1); } finally { D(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void C() => Begin();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void D()
    {
      Begin();
      try {
        try { throw new Thrown(2); } finally { throw new Thrown(3); }
      } catch (Thrown) {
      }
    }
  }

  /// <summary>.NET 9 tells of the catch block as of a frame of its own: its end looks like that of A, which goes on.</summary>
  static class InCatchBlock
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      A();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void A()
    {
      Begin();
      try {
        try { Throw(); } catch (Thrown) { Throw(); }
      } catch (Thrown) {
        Leaf();
      }
      Leaf();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw()
    {
      Begin();
      throw new Thrown(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>.NET 9 does so, too, of a finally block that the program's usual course has come to.</summary>
  static class InFinallyBlock
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      A();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void A()
    {
      Begin();
      try {
        try { Leaf(); } finally { Throw(); }
      } catch (Thrown) {
        Leaf();
      }
      Leaf();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw()
    {
      Begin();
      throw new Thrown(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>
  /// What nobody within a filter catches: the first that .NET 9 and 10 tell of unwinding it is an end without a beginning,
  /// which looks like that of X, whose finally block runs.
  /// </summary>
  static class Swallowed
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      try { throw new Thrown(1); } catch (Thrown) when (Filter()) { } catch (Thrown) { Leaf(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool Filter()
    {
      Begin();
      X();
      return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void X()
    {
      Begin();
      try {
        throw new Thrown(2);
      } finally {
        try { throw new Thrown(3); } finally { Leaf(); }
      }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>.NET 10 tells nothing of M, whose own catch block the exception comes from.</summary>
  static class FromCatch
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      try { A(); } catch (Thrown) { }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void A()
    {
      Begin();
      try { M(); } finally { Leaf(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void M()
    {
      Begin();
      try { Throw(); } catch (Thrown) { Throw(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw()
    {
      Begin();
      throw new Thrown(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>The same where M has called itself in its catch block: of one of the two something is told.</summary>
  static class FromNestedCatch
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      try { A(); } catch (Thrown) { }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void A()
    {
      Begin();
      try { M(1); } finally { Leaf(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void M(int depth)
    {
      Begin();
      try {
        Throw();
      } catch (Thrown) {
        if (depth == 0)
          throw;
        M(depth - 1);
      }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw()
    {
      Begin();
      throw new Thrown(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>The same with a finally block, where two methods call each other: nothing is told of the inner A.</summary>
  static class FromFinally
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      try { A(1); } catch (Thrown) { }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void A(int depth)
    {
      Begin();
      try {
        if (depth == 0)
          throw new Thrown(1);
        B(0);
      } finally {
        if (depth > 0)
          Leaf();
        else
          B(-1);
      }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void B(int depth)
    {
      Begin();
      if (depth < 0)
        throw new Thrown(2);
      A(depth);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>The same with two catch blocks, of which the inner one throws on what it caught.</summary>
  static class Rethrown
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      try { A(); } catch (Thrown) { }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void A()
    {
      Begin();
      try { M(); } finally { Leaf(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void M()
    {
      Begin();
      try { Throw(); } catch (Thrown) { Again(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Again()
    {
      Begin();
      try { Throw(); } catch (Thrown) { throw; }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw()
    {
      Begin();
      throw new Thrown(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>
  /// .NET 8 tells the end of a dynamic method's filter that throws, not its beginning: it looks like the end of Run's filter.
  /// </summary>
  static class DynamicFilter
  {
    static readonly Action dynamic = Make();

    static Action Make()
    {
      var calls = Expression.Call(((Action)Throw).Method);
      return Expression.Lambda<Action>(Expression.TryCatch(calls,
        Expression.Catch(typeof(Thrown), Expression.Empty(), Expression.Block(calls, Expression.Constant(true))),
        Expression.Catch(typeof(Thrown), Expression.Empty()))).Compile();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      try { throw new Thrown(1); } catch (Thrown) when (Filter()) { } catch (Thrown) { Leaf(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool Filter()
    {
      Begin();
      dynamic();
      Throw();
      return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw()
    {
      Begin();
      throw new Thrown(2);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>
  /// .NET 9 tells two ends of R: of two calls, not of a block and its call; then nothing of the block that calls Leaf, since
  /// that is a dynamic method's.
  /// </summary>
  static class DynamicFinally
  {
    static readonly Action dynamic = Make();

    static Action Make() => Expression.Lambda<Action>(Expression.TryFinally(
      Expression.Call(((Action<int>)R).Method, Expression.Constant(1)), Expression.Call(((Action)Leaf).Method))).Compile();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      try { dynamic(); } catch (Thrown) { }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void R(int depth)
    {
      Begin();
      if (depth == 0)
        throw new Thrown(1);
      R(depth - 1);
      Leaf();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>The end of M might be that of its block on .NET 9, and the next that is known is what calls Leaf.</summary>
  static class BelowDynamicFinally
  {
    static readonly Action dynamic = Make();

    static Action Make() => Expression.Lambda<Action>(Expression.TryFinally(
      Expression.Call(((Action)M).Method), Expression.Call(((Action)Leaf).Method))).Compile();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      try { dynamic(); } catch (Thrown) { }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void M()
    {
      Begin();
      try { Throw(); } catch (Thrown) { Throw(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw()
    {
      Begin();
      throw new Thrown(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>
  /// Native code catches what a static constructor throws, and throws another one itself: .NET 9 and 10 do not tell that Fail
  /// has ended, and what is called then comes from further in than Fail did.
  /// </summary>
  static class BrokenType
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      var type = Fresh.Of(typeof(Broken<>));
      using (new Watch(Noticed))
        try { RuntimeHelpers.RunClassConstructor(type.TypeHandle); } catch (TypeInitializationException) when (Filter()) { Leaf(); }
    }

    static class Broken<T>
    {
      static Broken()
      {
        Tally.Unwound(1);
        Fail();
      }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Fail()
    {
      Begin();
      throw new Thrown(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Noticed() => Begin();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool Filter()
    {
      Begin();
      return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }

  /// <summary>
  /// The same of a method that is invoked for the first time, which native code does; from there .NET 9 and 10 throw the same
  /// exception once more.
  /// </summary>
  static class Invoked
  {
    public static readonly string Again = Environment.Version.Major >= 9 ? "Noticed " : "";

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run()
    {
      Begin();
      var method = Fresh.Of(typeof(Caller<>)).GetMethod(nameof(Caller<int>.Call))!;
      using (new Watch(Noticed))
        try { method.Invoke(null, null); } catch (TargetInvocationException) when (Filter()) { Leaf(); }
    }

    static class Caller<T>
    {
      [MethodImpl(MethodImplOptions.NoInlining)]
      public static void Call()
      {
        Tally.Unwound(1);
        Throw();
      }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw()
    {
      Begin();
      throw new Thrown(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Noticed() => Begin();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool Filter()
    {
      Begin();
      return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf() => Begin();
  }
}

/// <summary>Instances of generic types that nobody has used yet.</summary>
static class Fresh
{
  static readonly object gate = new();
  static Type last = typeof(object);

  public static Type Of(Type generic)
  {
    lock (gate)
      return generic.MakeGenericType(last = typeof(List<>).MakeGenericType(last));
  }
}

/// <summary>Is told of each exception that the thread throws meanwhile.</summary>
sealed class Watch : IDisposable
{
  [ThreadStatic] static Action? watching;

  static Watch() => AppDomain.CurrentDomain.FirstChanceException += (_, _) => watching?.Invoke();

  public Watch(Action told) => watching = told;

  public void Dispose() => watching = null;
}
