// SPDX-License-Identifier: MIT
using System.Text.Json.Nodes;
using Newtonsoft.Json;

namespace Truth;

/// <summary>Newtonsoft.Json writes and reads objects: an ordinary library of many small methods.</summary>
static class Serialise
{
  sealed record Line(string Article, int Count, decimal Price, double Weight);
  sealed record Order(int Number, DateTime At, string Customer, Dictionary<string, string> Notes, List<Line> Lines);

  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    var orders = Enumerable.Range(0, 100).Select(Make).ToList();
    string expected = JsonConvert.SerializeObject(orders);
    while (budget.More()) {
      string written = JsonConvert.SerializeObject(orders);
      Check.Same("written", expected, written);
      var read = JsonConvert.DeserializeObject<List<Order>>(written)!;
      Check.Same("read", orders[^1].Lines[^1], read[^1].Lines[^1]);
    }
    return new JsonObject { ["work"] = budget.Done, ["bytes"] = expected.Length };
  }

  static Order Make(int n) => new(n, new DateTime(2024, 1, 1).AddHours(n), $"customer {n}",
    new() { ["colour"] = "green", ["\"quoted\""] = "tab\there" },
    Enumerable.Range(0, 10).Select(i => new Line($"article {i}", n * i, 1.25m * i, n / (i + 1.0))).ToList());
}
