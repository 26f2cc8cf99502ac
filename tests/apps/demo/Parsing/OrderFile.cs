// SPDX-License-Identifier: MIT
using System.Globalization;
using Shop.Data;

namespace Shop.Parsing;

static class OrderFile
{
  /// <summary>Lines of one order follow each other in the file.</summary>
  public static List<Order> Read(string path)
  {
    var orders = new List<Order>();
    var row = new CsvRow();
    foreach (string line in File.ReadLines(path).Skip(1)) {
      var fields = row.Split(line);
      int id = int.Parse(fields[0]);
      if (orders.Count == 0 || orders[^1].Id != id)
        orders.Add(ParseOrder(id, fields));
      orders[^1].Lines.Add(ParseLine(fields));
    }
    return orders;
  }

  static Order ParseOrder(int id, IReadOnlyList<string> fields) => new() {
    Id = id,
    Placed = DateTime.Parse(fields[1], CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal),
    Customer = fields[2],
    Country = fields[3],
    Note = fields[7],
    Lines = [],
  };

  static Line ParseLine(IReadOnlyList<string> fields) => new() {
    Product = fields[4],
    Quantity = int.Parse(fields[5]),
    Price = decimal.Parse(fields[6], CultureInfo.InvariantCulture),
  };
}
