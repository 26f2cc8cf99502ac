// SPDX-License-Identifier: MIT
using System.Linq.Expressions;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Truth.Calls;

class Base
{
  [MethodImpl(MethodImplOptions.NoInlining)]
  protected Base(int start)
  {
    Tally.Hit("Base..ctor");
    Value = start;
  }

  public int Value
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    get { Tally.Hit("Base.get_Value"); return field; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    set { Tally.Hit("Base.set_Value"); field = value; }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public virtual int Virtual()
  {
    Tally.Hit("Base.Virtual");
    return 1;
  }
}

sealed class Derived : Base
{
  [MethodImpl(MethodImplOptions.NoInlining)]
  public Derived() : this(2) => Tally.Hit("Derived..ctor");

  [MethodImpl(MethodImplOptions.NoInlining)]
  public Derived(int start) : base(start) => Tally.Hit("Derived..ctor");

  public int this[int i]
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    get { Tally.Hit("Derived.get_Item"); return i; }
  }

  public event Action? Changed
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    add { Tally.Hit("Derived.add_Changed"); changed += value; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    remove { Tally.Hit("Derived.remove_Changed"); changed -= value; }
  }

  Action? changed;

  [MethodImpl(MethodImplOptions.NoInlining)]
  public override int Virtual()
  {
    Tally.Hit("Derived.Virtual");
    changed?.Invoke();
    return base.Virtual() + 1;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static Derived operator +(Derived a, int b)
  {
    Tally.Hit("Derived.op_Addition");
    return new Derived(a.Value + b);
  }
}

struct Pair
{
  readonly long a, b, c;

  [MethodImpl(MethodImplOptions.NoInlining)]
  public Pair(long a, long b)
  {
    Tally.Hit("Pair..ctor");
    (this.a, this.b, c) = (a, b, a + b);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public override readonly int GetHashCode()
  {
    Tally.Hit("Pair.GetHashCode");
    return (int)(a ^ b ^ c);
  }
}

/// <summary>Constructors, accessors, operators, virtual methods, delegates, local functions.</summary>
static class Members
{
  public static void All()
  {
    var it = new Derived() + 3;
    Check.Same("value", 5, it.Value);
    it.Value = 7;
    it.Changed += Notify;
    it.Changed += Notify;
    Check.Same("virtual", 2, ((Base)it).Virtual());
    it.Changed -= Notify;
    Check.Same("indexer", 4, it[4]);
    Check.Same("made by reflection", 2, Activator.CreateInstance<Derived>().Value);
    Check.Same("hash of a boxed struct", 3 ^ 4 ^ 7, Hash(new Pair(3, 4)));
    Check.Same("local function", 120, Locally(5));
    Check.Same("delegate", 10, ((Func<int, int>)Extended).Invoke(5));
    Check.Same("closed delegate", 6, ((Func<int>)it.Virtual)() * 3);
    Check.Same("by dynamic code", 12, Loose(it));
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Notify() => Tally.Hit("Members.Notify");

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Hash(object boxed)
  {
    Tally.Hit("Members.Hash");
    return boxed.GetHashCode();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Extended(int n)
  {
    Tally.Hit("Members.Extended");
    return n * 2;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Locally(int n)
  {
    Tally.Hit("Members.Locally");
    return Factorial(n);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Factorial(int n)
    {
      Tally.Hit("Members.Locally.Factorial");
      return n < 2 ? 1 : n * Factorial(n - 1);
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Loose(Derived it)
  {
    Tally.Hit("Members.Loose");
    var item = typeof(Derived).GetProperty("Item")!;
    return (int)item.GetValue(it, [5])! + it.Value;
  }
}

/// <summary>Static constructors: once for a type, and for each struct that a generic one is made of.</summary>
static class Statics
{
  public static void All()
  {
    Check.Same("static constructor", 1, Once.Value);
    Check.Same("of shared code", 2, Made<string>.Value + Made<Rock>.Value);
    Check.Same("of structs", 3, Made<int>.Value + Made<long>.Value + Made<Pebble>.Value);
    Check.Same("one that waits for another", 4, Above.Value);
  }
}

static class Once
{
  static Once() => Tally.Hit("Once..cctor");
  public static int Value { [MethodImpl(MethodImplOptions.NoInlining)] get; } = 1;
}

static class Made<T>
{
  static Made() => Tally.Hit("Made..cctor");
  public static int Value { [MethodImpl(MethodImplOptions.NoInlining)] get; } = 1;
}

static class Above
{
  static Above()
  {
    Tally.Hit("Above..cctor");
    Value = Below.Value + 1;
  }

  public static readonly int Value;
}

static class Below
{
  static Below()
  {
    Tally.Hit("Below..cctor");
    Thread.Sleep(5);
    Value = 3;
  }

  public static readonly int Value;
}

/// <summary>Methods that no file holds call ones that count, and are called by them.</summary>
static class Dynamics
{
  public static void All()
  {
    var twice = Dynamic();
    for (int i = 0; i < 200; i++)
      Check.Same("dynamic method", 2 * i, twice(i));
    var thrown = 0;
    try { Failing()(1); } catch (Thrown e) { thrown = e.Tag; }
    Check.Same("thrown through a dynamic method", 1, thrown);
    Check.Same("compiled expression", 2 * 4950, Compiled()(100));
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static int Same(int n)
  {
    Tally.Hit("Dynamics.Same");
    return n;
  }

  /// <summary>Same(n) + Same(n)</summary>
  static Func<int, int> Dynamic()
  {
    var method = new DynamicMethod("Twice", typeof(int), [typeof(int)], typeof(Dynamics).Module, true);
    var il = method.GetILGenerator();
    for (int i = 0; i < 2; i++) {
      il.Emit(OpCodes.Ldarg_0);
      il.Emit(OpCodes.Call, typeof(Dynamics).GetMethod(nameof(Same))!);
    }
    il.Emit(OpCodes.Add);
    il.Emit(OpCodes.Ret);
    return method.CreateDelegate<Func<int, int>>();
  }

  static Action<int> Failing()
  {
    var method = new DynamicMethod("Fails", null, [typeof(int)], typeof(Dynamics).Module, true);
    var il = method.GetILGenerator();
    il.Emit(OpCodes.Ldarg_0);
    il.Emit(OpCodes.Call, typeof(Throwing).GetMethod(nameof(Throwing.Throw))!);
    il.Emit(OpCodes.Ret);
    return method.CreateDelegate<Action<int>>();
  }

  /// <summary>2 * (Same(0) + … + Same(n - 1))</summary>
  static Func<int, int> Compiled()
  {
    var n = Expression.Parameter(typeof(int));
    var i = Expression.Variable(typeof(int));
    var sum = Expression.Variable(typeof(int));
    var end = Expression.Label(typeof(int));
    var same = typeof(Dynamics).GetMethod(nameof(Same))!;
    var loop = Expression.Loop(Expression.IfThenElse(Expression.LessThan(i, n),
      Expression.AddAssign(sum, Expression.Call(same, Expression.PostIncrementAssign(i))),
      Expression.Break(end, sum)), end);
    return Expression.Lambda<Func<int, int>>(
      Expression.Multiply(Expression.Constant(2), Expression.Block([i, sum], loop)), n).Compile();
  }
}
