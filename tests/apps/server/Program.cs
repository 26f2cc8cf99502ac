// SPDX-License-Identifier: MIT
// A web server that answers its own clients: server [--requests N] [--seconds N] [--meter] [--costs N] [--slow] [--when FILE], of
// each of four at once. With --seconds N they go on for so long.
// With --meter it tells what CPU time the process had used after how many requests, every few milliseconds, by the clock that
// Stopwatch has, and the end of its input ends it.
// Counts how often each of its handlers was called, and what it was asked for, and prints that as its last line.
// With --costs N each asks N times for what computes, in one go and in parts, and has the threads that answer work for
// nobody in between; what each of the three took is counted by their own clocks.
// With --tenants it takes /t/NAME off paths before it looks where they lead, answers what is not there by a page of its own,
// and has routes that are hard to tell from what was asked for; the clients ask for all of that.
// With --held each asks for something that is not answered before FILE has gone.
// With --slow some of that sleeps, waits, fails or is not there. --when FILE makes FILE.ready, waits for FILE before
// anything is asked, makes FILE.done afterwards and waits until FILE has gone.
using System.Diagnostics;
using System.Net.Http.Json;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json;

namespace Server;

sealed record Item(int Number, string Name, decimal Price);

static class Counts
{
  static readonly Dictionary<string, long> calls = [];

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Hit(string method)
  {
    lock (calls)
      calls["Server." + method] = calls.GetValueOrDefault("Server." + method) + 1;
  }

  /// <summary>What clients asked for: how often, with which result, and how long the handlers were at it at least.</summary>
  public sealed class Asked
  {
    public long count { get; set; }
    public int status { get; set; }
    public long least_ns { get; set; }
  }

  static readonly Dictionary<string, Asked> requests = [];

  static Asked Of(string route)
  {
    if (!requests.TryGetValue(route, out var asked))
      requests[route] = asked = new();
    return asked;
  }

  static List<long[]>? meter;
  static long asked;

  public static void Measure() => meter = [];

  static void Read()
  {
    const long Every = 5_000_000;
    long time = Stopwatch.GetTimestamp();
    asked++;
    if (meter != null && (meter.Count == 0 || time - meter[^1][0] >= Every))
      meter.Add([time, Work.ProcessNow(), asked]);
  }

  public static void Ask(string route, int status)
  {
    lock (calls) {
      Read();
      Of(route).count++;
      Of(route).status = status;
    }
  }

  public static void Took(string route, long ns)
  {
    lock (calls)
      Of(route).least_ns += ns;
  }

  static readonly Dictionary<string, long> costs = [];

  public static void Cost(string route, long ns)
  {
    lock (calls)
      costs[route] = costs.GetValueOrDefault(route) + ns;
  }

  public static string ToJson()
  {
    lock (calls)
      return JsonSerializer.Serialize(new { program = "server", calls, requests, costs, meter });
  }
}

/// <summary>Work for a given time of the thread's own clock, which is booked.</summary>
static class Work
{
  public const string Beside = "beside";

  [StructLayout(LayoutKind.Sequential)]
  struct Timespec
  {
    public long seconds, nanoseconds;
  }

  [DllImport("libc", EntryPoint = "clock_gettime")]
  static extern int GetTime(int clock, out Timespec time);

  static long Read(int clock)
  {
    GetTime(clock, out var time);
    return time.seconds * 1_000_000_000 + time.nanoseconds;
  }

  static long Now() => Read(3);

  public static long ProcessNow() => Read(2);

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static void Burn(string route, double ms)
  {
    long begin = Now(), end = begin + (long)(ms * 1e6), now;
    do
      Spin(2000);
    while ((now = Now()) < end);
    Counts.Cost(route, now - begin);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static double Spin(int n)
  {
    double sum = 0;
    for (int i = 0; i < n; i++)
      sum += Math.Sqrt(i);
    return sum;
  }
}

static class Handlers
{
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static Item Get(int number)
  {
    Counts.Hit("Handlers.Get");
    return new Item(number, $"item {number}", number * 1.25m);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static int Sum(Item[] items)
  {
    Counts.Hit("Handlers.Sum");
    return items.Sum(Number);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Number(Item item)
  {
    Counts.Hit("Handlers.Number");
    return item.Number;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static string Fail(int number)
  {
    Counts.Hit("Handlers.Fail");
    throw new BadHttpRequestException($"not {number}");
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static string Sleep(int ms)
  {
    long begin = Stopwatch.GetTimestamp();
    Thread.Sleep(ms);
    Counts.Took("GET /sleep/{ms}", Stopwatch.GetTimestamp() - begin);
    return "slept";
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static async Task<string> Wait(string name, int ms)
  {
    long begin = Stopwatch.GetTimestamp();
    await Task.Delay(ms);
    Counts.Took("GET /wait/{name}/for/{ms}", Stopwatch.GetTimestamp() - begin);
    return name;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  public static string Cost(int ms)
  {
    Work.Burn("GET /cost/{ms}", ms);
    return "done";
  }

  /// <summary>The same in parts: before and after waiting, on threads of their own choice, and in tasks of its own.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static async Task<string> Hops(int ms)
  {
    const string route = "GET /hops/{ms}";
    Work.Burn(route, ms / 4.0);
    await Task.Delay(1);
    Work.Burn(route, ms / 4.0);
    var tasks = Task.WhenAll(Task.Run(() => Work.Burn(route, ms / 4.0)), Task.Run(() => Work.Burn(route, ms / 8.0)));
    await tasks;
    await Task.Yield();
    Work.Burn(route, ms / 8.0);
    return "done";
  }

  public static string Break() => throw new InvalidOperationException("broken");
}

static class Program
{
  const int Clients = 4;

  static async Task Main(string[] args)
  {
    string? seconds = Option(args, "--seconds");
    int requests = int.Parse(Option(args, "--requests") ?? (seconds == null ? "200" : "2147483647"));
    string? when = Option(args, "--when");
    var builder = WebApplication.CreateSlimBuilder();
    builder.Logging.ClearProviders();
    builder.WebHost.UseUrls("http://127.0.0.1:0");
    await using var app = builder.Build();
    app.Use(async (context, next) => {
      try { await next(); } catch (BadHttpRequestException e) { context.Response.StatusCode = e.StatusCode; }
    });
    if (args.Contains("--tenants"))
      ServeTenants(app);
    app.MapGet("/items/{number:int}", (int number) => Handlers.Get(number));
    app.MapPost("/sum", (Item[] items) => Handlers.Sum(items));
    app.MapGet("/fail/{number:int}", (int number) => Handlers.Fail(number));
    app.MapGet("/sleep/{ms:int}", (int ms) => Handlers.Sleep(ms));
    app.MapGet("/wait/{name}/for/{ms:int}", (string name, int ms) => Handlers.Wait(name, ms));
    app.MapGet("/cost/{ms:int}", (int ms) => Handlers.Cost(ms));
    app.MapGet("/hops/{ms:int}", (int ms) => Handlers.Hops(ms));
    app.MapGet("/broken", () => Handlers.Break());
    var release = new TaskCompletionSource();
    int holding = 0;
    app.MapGet("/held/{client}", (string client) => {
      Interlocked.Increment(ref holding);
      return release.Task;
    });
    await app.StartAsync();
    var address = new Uri(app.Urls.First());
    if (when != null)
      File.WriteAllText(when + ".ready", "");
    while (when != null && !File.Exists(when))
      await Task.Delay(10);
    var time = Stopwatch.StartNew();
    bool ended = false;
    if (args.Contains("--meter")) {
      Counts.Measure();
      new Thread(() => {
        while (Console.In.Read() >= 0) { }
        Volatile.Write(ref ended, true);
      }) { IsBackground = true }.Start();
    }
    var limit = seconds == null ? TimeSpan.MaxValue : TimeSpan.FromSeconds(double.Parse(seconds));
    await Task.WhenAll(Enumerable.Range(0, Clients).Select(_ => Ask(address, n => n < requests && time.Elapsed < limit && !Volatile.Read(ref ended))));
    if (Option(args, "--costs") is string costs)
      await Task.WhenAll(Enumerable.Range(0, Clients).Select(_ => AskForWork(address, int.Parse(costs))));
    if (args.Contains("--tenants"))
      await Task.WhenAll(Enumerable.Range(0, Clients).Select(n => AskAsTenant(address, n)));
    if (args.Contains("--slow"))
      await Task.WhenAll(Enumerable.Range(0, Clients).Select(n => AskSlowly(address, n)));
    var held = args.Contains("--held") ? AskForHeld(address) : Task.CompletedTask;
    while (args.Contains("--held") && Volatile.Read(ref holding) < Clients)
      await Task.Delay(10);
    if (when != null)
      File.WriteAllText(when + ".done", "");
    while (when != null && File.Exists(when))
      await Task.Delay(10);
    release.SetResult();
    await held;
    await app.StopAsync();
    Console.WriteLine(Counts.ToJson());
  }

  static void ServeTenants(WebApplication app)
  {
    app.Use((context, next) => {
      var parts = (context.Request.Path.Value ?? "").Split('/', 4);
      if (parts.Length == 4 && parts[1] == "t")
        (context.Request.PathBase, context.Request.Path) = ("/t/" + parts[2], "/" + parts[3]);
      return next();
    });
    app.UseStatusCodePagesWithReExecute("/err/{0}");
    app.UseRouting();
    app.MapGet("/any/{x}", (string x) => x);
    app.MapGet("/img-{id}", (string id) => id);
    app.MapGet("/err/{code}", (string code) => code);
  }

  static async Task AskAsTenant(Uri address, int client)
  {
    using var http = new HttpClient { BaseAddress = address };
    await Get(http, $"/t/customer{client}/any/5", $"/t/customer{client}/any/{{x}}", 200);
    await Get(http, $"/anna{client}@example.org/404", $"/anna{client}@example.org/{{code}}", 404);
    await Get(http, "/any/any", "/any/{x}", 200);
    await Get(http, $"/img-{client}", "/img-{id}", 200);
  }

  static string? Option(string[] args, string name)
  {
    int at = Array.IndexOf(args, name);
    return at < 0 ? null : args[at + 1];
  }

  static async Task Ask(Uri address, Func<int, bool> more)
  {
    using var client = new HttpClient { BaseAddress = address };
    for (int i = 0; more(i); i++) {
      var item = await client.GetFromJsonAsync<Item>($"/items/{i}");
      Counts.Ask("GET /items/{number}", 200);
      Check(item == new Item(i, $"item {i}", i * 1.25m), "item");
      var sum = await client.PostAsJsonAsync("/sum", new[] { item, item });
      Counts.Ask("POST /sum", 200);
      Check(await sum.Content.ReadAsStringAsync() == $"{2 * i}", "sum");
      var failed = await client.GetAsync($"/fail/{i}");
      Counts.Ask("GET /fail/{number}", 400);
      Check((int)failed.StatusCode == 400, "failure");
    }
  }

  /// <summary>Of 60 ms in all a third is for each route, and as much for nobody, on the threads that served somebody before.</summary>
  static async Task AskForWork(Uri address, int times)
  {
    using var http = new HttpClient { BaseAddress = address };
    for (int i = 0; i < times; i++) {
      await Get(http, "/cost/20", "/cost/{ms}", 200);
      await Get(http, "/hops/20", "/hops/{ms}", 200);
      await Task.Run(() => Work.Burn(Work.Beside, 20));
    }
  }

  static async Task AskForHeld(Uri address)
  {
    using var http = new HttpClient { BaseAddress = address };
    await Task.WhenAll(Enumerable.Range(0, Clients).Select(n => Get(http, $"/held/{n}", "/held/{client}", 200)));
  }

  static async Task AskSlowly(Uri address, int client)
  {
    using var http = new HttpClient { BaseAddress = address };
    await Get(http, $"/sleep/{20 + client}", "/sleep/{ms}", 200);
    await Get(http, $"/wait/größer 7/for/{30 + client}?secret=1", "/wait/{name}/for/{ms}", 200);
    await Get(http, "/broken", "/broken", 500);
    await Get(http, $"/none/{client}", $"/none/{client}", 404);
  }

  static async Task Get(HttpClient http, string path, string route, int status)
  {
    var answer = await http.GetAsync(path);
    Counts.Ask("GET " + route, status);
    Check((int)answer.StatusCode == status, path);
  }

  static void Check(bool holds, string what)
  {
    if (!holds)
      throw new InvalidOperationException($"server: wrong {what}");
  }
}
