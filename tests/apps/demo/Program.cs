// SPDX-License-Identifier: MIT
// A shop's nightly run, about ten seconds of the work that real programs do. What it found goes to stdout
// and is the same each time; how long each phase took goes to stderr.
using System.Diagnostics;
using System.Globalization;
using Shop.Archive;
using Shop.Data;
using Shop.Export;
using Shop.Parsing;
using Shop.Pipelines;
using Shop.Reports;
using Shop.Search;
using Shop.Sorting;

namespace Shop;

static class Program
{
  const int FullOrders = 220_000;

  static async Task<int> Main(string[] args)
  {
    CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
    if (args.Length > 1 || !TryScale(args, out double scale)) {
      Console.Error.WriteLine("usage: shop [SCALE]   (1 is about ten seconds of work)");
      return 2;
    }
    string folder = Directory.CreateTempSubdirectory("shop-").FullName;
    try {
      await NightlyRun(folder, (int)(FullOrders * scale));
      return 0;
    } finally {
      Directory.Delete(folder, recursive: true);
    }
  }

  static bool TryScale(string[] args, out double scale)
  {
    scale = 1;
    return args.Length == 0 ||
      (double.TryParse(args[0], CultureInfo.InvariantCulture, out scale) && scale is > 0 and <= 100);
  }

  static async Task NightlyRun(string folder, int orderCount)
  {
    var day = new Phases();
    string csv = Path.Combine(folder, "orders.csv"), log = Path.Combine(folder, "access.log");

    day.Do("generate", () => {
      Generator.WriteOrders(csv, orderCount);
      Generator.WriteLog(log, orderCount);
      return $"{new FileInfo(csv).Length:N0} bytes of orders, {new FileInfo(log).Length:N0} of log";
    });
    var orders = day.Do("parse orders", () => OrderFile.Read(csv), o => $"{o.Count:N0} orders");
    var visits = day.Do("parse log", () => AccessLog.Read(log),
      v => $"{v.Count:N0} visits, {v.Count(x => x.Status >= 500):N0} failed");
    day.Do("sort", () => {
      var byValue = OrderSorter.ByValue(orders);
      return $"largest order {byValue[0].Id}, smallest {byValue[^1].Id}";
    });
    day.Do("report", () => SalesReports.Summary(orders, visits));
    string json = day.Do("serialise", () => JsonExport.Write(orders), j => $"{j.Length:N0} characters");
    day.Do("deserialise", () => {
      var back = JsonExport.Read(json);
      return $"{back.Count:N0} orders, total {back.Sum(o => o.Total):F2}";
    });
    day.Do("search", () => TextSearch.Run(orders, visits));
    await day.DoAsync("prices", () => PricePipeline.Run(orders));
    day.Do("forecast", () => Forecast.Run(orders));
    day.Do("archive", () => Zip.Archive(json));
    day.PrintTimes();
  }
}

/// <summary>Runs a phase after the other, says what each did and remembers what it took.</summary>
sealed class Phases
{
  readonly List<(string Name, TimeSpan Wall)> done = [];

  public T Do<T>(string name, Func<T> phase, Func<T, string> describe)
  {
    long start = Stopwatch.GetTimestamp();
    T result = phase();
    Finish(name, start, describe(result));
    return result;
  }

  public void Do(string name, Func<string> phase) => Do(name, phase, s => s);

  public async Task DoAsync(string name, Func<Task<string>> phase)
  {
    long start = Stopwatch.GetTimestamp();
    string result = await phase();
    Finish(name, start, result);
  }

  void Finish(string name, long start, string result)
  {
    done.Add((name, Stopwatch.GetElapsedTime(start)));
    Console.WriteLine($"{name,-14} {result}");
  }

  public void PrintTimes()
  {
    foreach (var (name, wall) in done)
      Console.Error.WriteLine($"{name,-14} {wall.TotalSeconds,6:F2} s");
    Console.Error.WriteLine($"{"all",-14} {done.Sum(d => d.Wall.TotalSeconds),6:F2} s");
  }
}
