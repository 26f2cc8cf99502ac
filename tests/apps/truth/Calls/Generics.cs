// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;

namespace Truth.Calls;

interface IWeighed { long Weight { get; } }

readonly struct Pebble(long weight) : IWeighed
{
  public long Weight
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    get { Tally.Hit("Pebble.get_Weight"); return weight; }
  }
}

sealed class Rock(long weight) : IWeighed
{
  public long Weight
  {
    [MethodImpl(MethodImplOptions.NoInlining)]
    get { Tally.Hit("Rock.get_Weight"); return weight; }
  }
}

class Holder<T>
{
  T? held;

  [MethodImpl(MethodImplOptions.NoInlining)]
  public void Put(T item)
  {
    Tally.Hit("Holder.Put");
    held = item;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public virtual T? Take()
  {
    Tally.Hit("Holder.Take");
    return held;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public (T?, U) With<U>(U other)
  {
    Tally.Hit("Holder.With");
    return (held, other);
  }
}

sealed class Keeper<T> : Holder<T>
{
  [MethodImpl(MethodImplOptions.NoInlining)]
  public override T? Take()
  {
    Tally.Hit("Keeper.Take");
    return base.Take();
  }
}

/// <summary>Code shared by all classes, code of its own for each struct, and dictionaries that tell them apart.</summary>
static class Generics
{
  public static void All()
  {
    Check.Same("strings", "a", Round(new Holder<string>(), "a"));
    Check.Same("objects", (object)"b", Round<object>(new Keeper<object>(), "b"));
    Check.Same("ints", 3, Round(new Holder<int>(), 3));
    Check.Same("doubles", 4.5, Round(new Keeper<double>(), 4.5));
    Check.Same("pairs", (5, 6L), Round(new Holder<(int, long)>(), (5, 6L)));
    Check.Same("lists", 2, Round(new Keeper<List<int>>(), [1, 2])!.Count);
    Check.Same("weights of structs", 12L, Sum(new Pebble(5), new Pebble(7)));
    Check.Same("weights of classes", 24L, Sum(new Rock(11), new Rock(13)));
    Check.Same("nested", 4, Nested<string>(4));
    Check.Same("nested structs", 3, Nested<int>(3));
    Check.Same("type of shared code", "String", Name<string>());
    Check.Same("type of other shared code", "Rock", Name<Rock>());
    Check.Same("type of code of its own", "Int64", Name<long>());
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static T? Round<T>(Holder<T> holder, T item)
  {
    Tally.Hit("Generics.Round");
    holder.Put(item);
    var (held, other) = holder.With(item);
    Check.Same("with itself", held, other);
    Check.Same("with an int", 9, holder.With(9).Item2);
    return holder.Take();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Sum<T>(T a, T b) where T : IWeighed
  {
    Tally.Hit("Generics.Sum");
    return a.Weight + b.Weight;
  }

  /// <summary>Each level is another type.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Nested<T>(int depth)
  {
    Tally.Hit("Generics.Nested");
    return depth switch { 0 => 0, > 2 => Nested<Holder<T>>(depth - 1) + 1, _ => Nested<T>(depth - 1) + 1 };
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static string Name<T>()
  {
    Tally.Hit("Generics.Name");
    return typeof(T).Name;
  }
}
