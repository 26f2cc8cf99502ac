// SPDX-License-Identifier: MIT
namespace Shop.Data;

public sealed class Line
{
  public required string Product { get; init; }
  public required int Quantity { get; init; }
  public required decimal Price { get; init; }
}

public sealed class Order
{
  public required int Id { get; init; }
  public required DateTime Placed { get; init; }
  public required string Customer { get; init; }
  public required string Country { get; init; }
  public required string Note { get; init; }
  public required List<Line> Lines { get; init; }

  public decimal Total => Lines.Sum(l => l.Quantity * l.Price);
}

public readonly record struct Visit(DateTime When, string Address, string Method, string Path, int Status, int Bytes);
