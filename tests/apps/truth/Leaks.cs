// SPDX-License-Identifier: MIT
using System.Diagnostics.Tracing;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Objects of one type from six places: three forget them at once, one keeps one object in so many for ever (a leak), one
/// is a cache of fixed size that is replaced all the time, and one is a table that is filled in the beginning. What is
/// alive in the end is known. With <c>--late</c> there are objects besides that nobody has any more, but whose finalizer has
/// yet to come.
/// </summary>
static class Leaks
{
  sealed class Item(long number)
  {
    public readonly long Number = number;
    public readonly Filling Rest = default;
  }

  /// <summary>The first finalizer waits until all is over, and the others for it.</summary>
  sealed class Late(long number)
  {
    public readonly long Number = number;
    public readonly Filling Rest = default;

    ~Late() => over.Wait();
  }

  [InlineArray(24)]
  struct Filling
  {
    public long First;
  }

  const int Unit = 10_000, ItemBytes = 16 + 8 + 24 * 8, LargeBytes = 130_000, Cached = 30_000, Listed = 40_000;
  static readonly List<Item> forgotten = [];
  static readonly List<byte[]> hoarded = [];
  static readonly Item[] cache = new Item[Cached], table = new Item[Listed];
  static Item? last;
  static byte[]? lastLarge;
  static long made, dropped;
  static readonly ManualResetEventSlim over = new();

  /// <summary>How many handles the runtime has, as it says after a collection.</summary>
  sealed class Handles : EventListener
  {
    public volatile int Count = -1;

    protected override void OnEventSourceCreated(EventSource source)
    {
      if (source.Name == "Microsoft-Windows-DotNETRuntime")
        EnableEvents(source, EventLevel.Informational, (EventKeywords)1);
    }

    protected override void OnEventWritten(EventWrittenEventArgs e)
    {
      int at = e.EventName?.StartsWith("GCHeapStats") == true ? e.PayloadNames!.IndexOf("GCHandleCount") : -1;
      if (at >= 0)
        Count = (int)(uint)e.Payload![at]!;
    }

    public static int Now()
    {
      using var listener = new Handles();
      while (listener.Count < 0) {
        GC.Collect();
        Thread.Sleep(10);
      }
      return listener.Count;
    }
  }

  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    int oneIn = o.Number("--one-in", 10_000), collect = o.Number("--collect", 0);
    bool large = o.Has("--large");
    o.WaitToBegin();
    Fill();
    if (o.Has("--late"))
      Drop();
    for (long next = 0; budget.More();) {
      next = Work(next, oneIn);
      if (large)
        Large(budget.Done);
      if (collect > 0 && budget.Done % collect == 0)
        GC.Collect();
    }
    last = null;
    lastLarge = null;
    GC.Collect();
    GC.Collect();
    for (int i = 0; i < forgotten.Count; i++)
      Check.Same("an object that was kept", i * (long)oneIn, forgotten[i].Number);
    o.SayDone();
    over.Set();
    return new JsonObject {
      ["work"] = budget.Done,
      ["made"] = made,
      ["live"] = new JsonObject {
        ["Truth.Leaks.Forget"] = Live(forgotten.Count),
        ["Truth.Leaks.Cache"] = Live(cache.Count(item => item != null)),
        ["Truth.Leaks.Fill"] = Live(table.Length),
        ["Truth.Leaks.Drop"] = Live(dropped),
        ["Truth.Leaks.Hoard"] = new JsonArray(hoarded.Count, hoarded.Sum(bytes => (long)bytes.Length + 24)),
      },
      ["handles"] = o.Has("--handles") ? Handles.Now() : null,
      ["collections"] = GC.CollectionCount(0),
      ["full"] = GC.CollectionCount(2),
    };
  }

  static JsonArray Live(long n) => new(n, n * ItemBytes);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Fill()
  {
    for (int i = 0; i < table.Length; i++)
      table[i] = new Item(i);
    made += table.Length;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Drop()
  {
    for (; dropped < Listed; dropped++)
      GC.KeepAlive(new Late(dropped));
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static long Work(long next, int oneIn)
  {
    for (int i = 0; i < Unit; i++) {
      switch (i % 32) {
        case 0: Cache(i); break;
        case < 12: Parse(i); break;
        case < 22: Render(i); break;
        default: Route(i); break;
      }
      if ((made + i) / oneIn * oneIn >= next) {
        Forget(next);
        next += oneIn;
      }
    }
    made += Unit;
    return next;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Parse(int i) => last = new Item(i);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Render(int i) => last = new Item(i);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Route(int i) => last = new Item(i);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Forget(long i) => forgotten.Add(new Item(i));

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Cache(long i) => cache[(made + i) / 32 % Cached] = new Item(i);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Large(long unit)
  {
    if (unit % 50 == 0)
      Hoard();
    else
      lastLarge = new byte[LargeBytes];
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Hoard() => hoarded.Add(new byte[LargeBytes]);
}
