// SPDX-License-Identifier: MIT
using Shop.Data;

namespace Shop.Reports;

static class SalesReports
{
  public static string Summary(List<Order> orders, List<Visit> visits)
  {
    var (country, revenue) = RevenueByCountry(orders).First();
    var (month, count) = BusiestMonth(orders);
    return $"{country} {revenue:F2}, {month} {count:N0} orders, {BestCustomer(orders)}, " +
      $"{FavouritePairs(orders).First()}, median {MedianBasket(orders):F2}, {SlowestHour(visits)}";
  }

  static IEnumerable<(string Country, decimal Revenue)> RevenueByCountry(List<Order> orders) =>
    orders.GroupBy(o => o.Country)
      .Select(g => (g.Key, g.Sum(o => o.Total)))
      .OrderByDescending(c => c.Item2);

  static (string Month, int Count) BusiestMonth(List<Order> orders) =>
    orders.GroupBy(o => o.Placed.ToString("yyyy-MM"))
      .Select(g => (g.Key, g.Count()))
      .OrderByDescending(m => m.Item2).ThenBy(m => m.Key, StringComparer.Ordinal).First();

  static string BestCustomer(List<Order> orders) =>
    orders.SelectMany(o => o.Lines, (o, l) => (o.Customer, Value: l.Quantity * l.Price))
      .GroupBy(x => x.Customer)
      .MaxBy(g => g.Sum(x => x.Value))!.Key;

  /// <summary>What is bought together: every pair of products of every order.</summary>
  static IEnumerable<string> FavouritePairs(List<Order> orders) =>
    (from o in orders
     from a in o.Lines
     from b in o.Lines
     where string.CompareOrdinal(a.Product, b.Product) < 0
     group o by (a.Product, b.Product) into pair
     orderby pair.Count() descending, pair.Key.Item1, pair.Key.Item2
     select $"{pair.Key.Item1} + {pair.Key.Item2} ({pair.Count()})");

  static decimal MedianBasket(List<Order> orders) =>
    orders.Select(o => o.Total).Order().ElementAt(orders.Count / 2);

  static string SlowestHour(List<Visit> visits) =>
    visits.ToLookup(v => v.When.Hour)
      .Select(h => $"{h.Key:D2}h {h.Average(v => v.Bytes):F1} bytes")
      .Order(StringComparer.Ordinal).First();
}
