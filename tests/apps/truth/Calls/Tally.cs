// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth.Calls;

/// <summary>
/// What was called, by the methods' own account: each counts itself, by thread, as the first thing it does.
/// Methods that the compiler may inline are kept apart, since nobody sees a call that is not made.
/// </summary>
static class Tally
{
  sealed class Thread(string name)
  {
    public readonly string Name = name;
    public readonly Dictionary<string, long> Calls = [], MayInline = [], Native = [];
    public long Unwound;
  }

  [ThreadStatic] static Thread? own;
  static readonly List<Thread> threads = [];

  static Thread Own => own ??= Add();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Thread Add()
  {
    var thread = new Thread(System.Threading.Thread.CurrentThread.Name ?? "");
    lock (threads)
      threads.Add(thread);
    return thread;
  }

  /// <summary>A call of the method has begun; <paramref name="times"/>: so many will have, or have.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Hit(string method, long times = 1) => Count(Own.Calls, method, times);

  /// <summary>The same for a method that may be inlined.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Maybe(string method, long times = 1) => Count(Own.MayInline, method, times);

  /// <summary>A native method has been called so many times: seen with --transitions only.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Native(string method, long times) => Count(Own.Native, method, times);

  /// <summary>So many calls of these methods did not return but were ended by an exception.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Unwound(long times) => Own.Unwound += times;

  static void Count(Dictionary<string, long> counts, string method, long times) =>
    counts[method] = counts.GetValueOrDefault(method) + times;

  public static JsonObject ToJson()
  {
    var truth = new JsonObject();
    lock (threads) {
      truth["calls"] = Sum(threads.Select(t => t.Calls));
      truth["may_inline"] = Sum(threads.Select(t => t.MayInline));
      truth["native"] = Sum(threads.Select(t => t.Native));
      truth["unwound"] = threads.Sum(t => t.Unwound);
      var byThread = new JsonObject();
      foreach (var named in threads.GroupBy(t => t.Name))
        byThread[named.Key] = Sum(named.Select(t => t.Calls));
      truth["by_thread"] = byThread;
    }
    return truth;
  }

  static JsonObject Sum(IEnumerable<Dictionary<string, long>> counts)
  {
    var sums = new SortedDictionary<string, long>(StringComparer.Ordinal);
    foreach (var (method, times) in counts.SelectMany(c => c))
      sums[method] = sums.GetValueOrDefault(method) + times;
    var json = new JsonObject();
    foreach (var (method, times) in sums)
      json[method.StartsWith("Plugin.") ? method : "Truth.Calls." + method] = times;
    return json;
  }
}
