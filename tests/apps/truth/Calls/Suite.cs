// SPDX-License-Identifier: MIT
using System.Text.Json.Nodes;

namespace Truth.Calls;

/// <summary>
/// Every way that calls begin and end: <c>truth calls [CASE] [--threads N]</c> runs a case, or all in turn, on so
/// many threads at once, and says how often each method was called.
/// </summary>
static class Suite
{
  /// <summary>Each with how often a thread repeats it in a unit of work.</summary>
  static readonly (string Name, int Repeat, Action Body)[] cases = [
    ("exceptions", 3, Throwing.All), ("hardware", 3, Hardware.All), ("frames", 3, Passing.All),
    ("tails", 3, Tails.All), ("emitted", 3, Emitted.All), ("generics", 20, Generics.All),
    ("tasks", 3, Awaiting.All), ("iterators", 5, Iterating.All), ("dynamic", 3, Dynamics.All),
    ("members", 20, Members.All), ("statics", 1, Statics.All), ("recursion", 1, Recursion.All),
    ("ends", 1, Ends.All), ("native", 3, Crossing.All), ("tiers", 1, Tiers.All), ("osr", 1, Loops.All),
    ("inlining", 5, Inlining.All), ("locks", 3, Locking.All), ("finalizers", 1, Finalizing.All),
    ("unload", 1, Unloading.All), ("unwinding", 2, Unwinding.All),
  ];

  public static JsonObject Run(Options o)
  {
    string which = o.Rest.Count > 0 && !o.Rest[0].StartsWith('-') ? o.Rest[0] : "all";
    var chosen = cases.Where(c => which == "all" || which == c.Name).ToList();
    Check.That(chosen.Count > 0, $"no case {which}; there are: {string.Join(' ', cases.Select(c => c.Name))}");
    int threads = o.Number("--threads", 1);
    var budget = o.Budget();
    while (budget.More())
      foreach (var (_, repeat, body) in chosen)
        Crew.Run(Enumerable.Range(0, threads).Select(n => ($"calls-{n}", (Action)(() => Repeat(repeat, body)))));
    var truth = Tally.ToJson();
    truth["work"] = budget.Done;
    truth["case"] = which;
    truth["unwinding"] = Unwinding.ToJson();
    return truth;
  }

  static void Repeat(int times, Action body)
  {
    for (int i = 0; i < times; i++)
      body();
  }
}
