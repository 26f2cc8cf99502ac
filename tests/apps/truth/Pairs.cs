// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// What a call costs, for <c>bench/trace</c>: little methods called over and over, in nanoseconds of the calling
/// thread's CPU. Compiled once and never inlined, so that only what a profiler adds changes it.
/// <c>--calls N</c> in each of <c>--rounds N</c>, on each of <c>--threads N</c>; <c>--paths N</c> instead of the
/// little methods: calls by so many ways from the root, each eighteen deep.
/// </summary>
static class Pairs
{
  public static JsonObject Run(Options o)
  {
    int calls = o.Number("--calls", 1_000_000), rounds = o.Number("--rounds", 15);
    int threads = o.Number("--threads", 1), paths = o.Number("--paths", 0);
    var costs = new Costs();
    long begin = System.Diagnostics.Stopwatch.GetTimestamp();
    Crew.Run(Enumerable.Range(0, threads).Select(n => ($"pairs-{n}", (Action)(() => {
      for (int i = 0; i < rounds; i++)
        if (paths > 0)
          costs.Add("paths", paths * (long)Ways.Depth, () => Ways.Go(paths));
        else
          foreach (var (name, go) in methods)
            costs.Add(name, calls, () => go(calls));
    }))));
    double wall = System.Diagnostics.Stopwatch.GetElapsedTime(begin).TotalNanoseconds;
    return new JsonObject { ["ns"] = costs.ToJson(), ["calls"] = costs.Calls, ["wall_ns"] = (long)wall };
  }

  sealed class Costs
  {
    readonly SortedDictionary<string, List<double>> all = [];

    public long Calls { get; private set; }

    public void Add(string name, long calls, Action go)
    {
      long begin = Clock.Thread();
      go();
      double each = (Clock.Thread() - begin) / (double)calls;
      lock (all) {
        if (!all.TryGetValue(name, out var list))
          all[name] = list = [];
        list.Add(each);
        Calls += calls;
      }
    }

    /// <summary>The first round is left out: it compiles, and makes what is made once.</summary>
    public JsonObject ToJson()
    {
      var json = new JsonObject();
      foreach (var (name, list) in all) {
        var sorted = list.Skip(list.Count > 1 ? 1 : 0).Order().ToList();
        json[name] = new JsonObject { ["min"] = sorted[0], ["median"] = sorted[sorted.Count / 2] };
      }
      return json;
    }
  }

  static readonly (string, Action<int>)[] methods = [
    ("leaf", n => Check.That(Leaves(n) == 3L * n, "leaf")), ("leaf8", n => Check.That(Leaves8(n) == 36.0 * n, "leaf8")),
  ];

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static long Leaves(int n)
  {
    long sum = 0;
    for (int i = 0; i < n; i++)
      sum += Leaf(i) - i;
    return sum;
  }

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static int Leaf(int n) => n + 3;

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static double Leaves8(int n)
  {
    double sum = 0;
    for (int i = 0; i < n; i++)
      sum += Leaf8(1, 2, 3, 4, 5, 6, 7, 8);
    return sum;
  }

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  static double Leaf8(double a, long b, double c, long d, double e, long f, double g, long h) =>
    a + b + c + d + e + f + g + h;
}

abstract class Way
{
  public abstract ulong Step(ulong state, int depth);
}

/// <summary>As many methods as there are pairs of types.</summary>
sealed class Way<A, B> : Way where A : struct where B : struct
{
  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  public override ulong Step(ulong state, int depth)
  {
    if (depth == 0)
      return state;
    state = state * 6364136223846793005 + 1442695040888963407;
    return Ways.All[(state >> 33) % (ulong)Ways.All.Length].Step(state, depth - 1) + 1;
  }
}

/// <summary>A tree of calls as large as one likes: by chance, but by the same ways each time.</summary>
static class Ways
{
  public const int Depth = 18;

  static readonly Type[] types = [typeof(byte), typeof(short), typeof(int), typeof(long), typeof(float), typeof(double)];

  public static readonly Way[] All = [.. from a in types from b in types
    select (Way)Activator.CreateInstance(typeof(Way<,>).MakeGenericType(a, b))!];

  [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
  public static ulong Go(int paths)
  {
    ulong sum = 0;
    for (int i = 0; i < paths; i++)
      sum += All[i % All.Length].Step((ulong)i, Depth - 1);
    return sum;
  }
}
