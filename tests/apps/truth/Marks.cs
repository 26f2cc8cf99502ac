// SPDX-License-Identifier: MIT
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;
using Dnprof;

namespace Truth;

/// <summary>Points and spans, managed and native, on two threads and over awaits; each is counted and timed.</summary>
/// <remarks>
/// <c>--when FILE</c> waits for that file before anything is said, makes FILE.done afterwards and waits until FILE has
/// gone. <c>--native</c> has native code say it, too; <c>--recorded</c> waits until somebody listens to that.
/// <c>--long</c> says texts that are cut, where a character stands; <c>--nul</c> one with such a character;
/// <c>--listener</c> says one while the source is made; <c>--burst N</c> so many spans as fast as it can.
/// </remarks>
static class Marks
{
  const string Library = "libtruth_nofp.so";

  [DllImport(Library)]
  static extern int truth_mark_is_on();

  [DllImport(Library)]
  static extern void truth_mark([MarshalAs(UnmanagedType.LPUTF8Str)] string text);

  [DllImport(Library)]
  static extern ulong truth_span_begin([MarshalAs(UnmanagedType.LPUTF8Str)] string name);

  [DllImport(Library)]
  static extern void truth_span_end(ulong id);

  [DllImport(Library)]
  static extern double truth_mark_ns(int calls);

  /// <summary>What is known of the spans of one name: how many, and times that are not longer and not shorter.</summary>
  sealed class Known
  {
    public long Count, Inside, Outside, Elsewhere;
    public JsonNode ToJson() => new JsonObject {
      ["count"] = Count, ["inside_ns"] = Inside, ["outside_ns"] = Outside, ["elsewhere"] = Elsewhere };
  }

  static readonly SortedDictionary<string, Known> spans = [];
  static readonly SortedDictionary<string, long> points = [];

  static void Book(string name, long outside, long inside, long inner, bool elsewhere)
  {
    long end = Stopwatch.GetTimestamp();
    lock (spans) {
      if (!spans.TryGetValue(name, out var known))
        spans[name] = known = new();
      known.Count++;
      known.Inside += inner - inside;
      known.Outside += end - outside;
      known.Elsewhere += elsewhere ? 1 : 0;
    }
  }

  static void Point(string text)
  {
    Mark.Point(text);
    lock (points)
      points[text] = points.GetValueOrDefault(text) + 1;
  }

  static void Sync(string name, Action body)
  {
    long outside = Stopwatch.GetTimestamp(), inside, inner;
    using (Mark.Span(name)) {
      inside = Stopwatch.GetTimestamp();
      body();
      inner = Stopwatch.GetTimestamp();
    }
    Book(name, outside, inside, inner, false);
  }

  static async Task Over(string name)
  {
    long outside = Stopwatch.GetTimestamp(), inside, inner;
    int thread;
    using (Mark.Span(name)) {
      inside = Stopwatch.GetTimestamp();
      thread = Environment.CurrentManagedThreadId;
      await Task.Delay(1).ConfigureAwait(false);
      inner = Stopwatch.GetTimestamp();
    }
    Book(name, outside, inside, inner, thread != Environment.CurrentManagedThreadId);
  }

  static void InNative(string name)
  {
    long outside = Stopwatch.GetTimestamp();
    ulong id = truth_span_begin(name);
    long inside = Stopwatch.GetTimestamp();
    truth_mark("native point");
    lock (points)
      points["native point"] = points.GetValueOrDefault("native point") + 1;
    long inner = Stopwatch.GetTimestamp();
    truth_span_end(id);
    Book(name, outside, inside, inner, false);
  }

  /// <summary>A listener of the program's own, which says something as soon as it hears of any source.</summary>
  sealed class Talkative : EventListener
  {
    public static readonly List<string> Failures = [];
    public static bool Spoke;

    protected override void OnEventSourceCreated(EventSource source)
    {
      if (source.Name != "Dnprof-Mark")
        return;
      try {
        Mark.Point("while it is made");
        using (Mark.Span("while it is made"))
          Spoke = true;
      } catch (Exception e) {
        Failures.Add(e.GetType().Name);
      }
    }
  }

  static void Unit(bool native)
  {
    for (int i = 0; i < 10; i++) {
      Sync("outer", () => {
        Sync("inner", () => Burn.Steps(20_000));
        Point("größer ✓");
      });
      if (native)
        InNative("native");
    }
    Over("await").Wait();
  }

  public static JsonObject Run(Options o)
  {
    bool native = o.Has("--native");
    var listener = o.Has("--listener") ? new Talkative() : null;
    o.WaitToBegin();
    while (o.Has("--recorded") && truth_mark_is_on() == 0)
      Thread.Sleep(10);
    if (o.Has("--long")) {
      Mark.Point(new string('m', 511) + "😀 and more");
      truth_mark("n" + new string('é', 600));
    }
    if (o.Has("--nul"))
      Mark.Point("before\0behind");
    for (int i = o.Number("--burst", 0); i > 0; i--)
      using (Mark.Span("fast")) { }
    var open = o.Has("--open") ? Mark.Span("open") : default;
    var budget = o.Budget();
    while (budget.More())
      Crew.Run(Enumerable.Range(0, 2).Select(n => ($"marks-{n}", (Action)(() => Unit(native)))));
    o.SayDone();
    var truth = new JsonObject {
      ["work"] = budget.Done,
      ["spans"] = new JsonObject(spans.Select(s => KeyValuePair.Create(s.Key, (JsonNode?)s.Value.ToJson()))),
      ["points"] = new JsonObject(points.Select(p => KeyValuePair.Create(p.Key, (JsonNode?)p.Value))),
    };
    if (listener != null)
      truth["listener"] = new JsonObject {
        ["spoke"] = Talkative.Spoke, ["failures"] = new JsonArray([.. Talkative.Failures.Select(f => (JsonNode?)f)]) };
    if (o.Has("--cost"))
      truth["cost_ns"] = new JsonObject { ["managed"] = Cost(), ["native"] = truth_mark_ns(10_000_000) };
    GC.KeepAlive(open);
    return truth;
  }

  /// <summary>Of one call when nobody records, the best of some rounds.</summary>
  static double Cost()
  {
    double best = double.MaxValue;
    for (int round = 0; round < 200; round++) {
      long start = Stopwatch.GetTimestamp();
      for (int i = 0; i < 100_000; i++)
        using (Mark.Span("cost")) { }
      best = Math.Min(best, (Stopwatch.GetTimestamp() - start) / 100_000.0);
    }
    return best;
  }
}
