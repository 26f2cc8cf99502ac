// SPDX-License-Identifier: MIT
using System.Threading.Channels;
using Shop.Data;

namespace Shop.Pipelines;

/// <summary>Orders go through a channel to workers that price them, and on to one that adds up.</summary>
static class PricePipeline
{
  const int Workers = 3, BatchSize = 500;

  public static async Task<string> Run(List<Order> orders)
  {
    var batches = Channel.CreateBounded<Order[]>(Workers * 2);
    var prices = Channel.CreateBounded<decimal>(Workers * 2);
    var workers = Enumerable.Range(0, Workers).Select(_ => PriceBatches(batches.Reader, prices.Writer)).ToArray();
    var total = AddUp(prices.Reader);
    await SendBatches(orders, batches.Writer);
    await Task.WhenAll(workers);
    prices.Writer.Complete();
    return $"{await total:F2} after discounts and tax";
  }

  static async Task SendBatches(List<Order> orders, ChannelWriter<Order[]> to)
  {
    foreach (var batch in orders.Chunk(BatchSize))
      await to.WriteAsync(batch);
    to.Complete();
  }

  static async Task PriceBatches(ChannelReader<Order[]> from, ChannelWriter<decimal> to)
  {
    await Task.Yield();
    await foreach (var batch in from.ReadAllAsync()) {
      decimal sum = 0;
      foreach (var order in batch)
        sum += await PriceOf(order);
      await to.WriteAsync(sum);
    }
  }

  /// <summary>Some prices have to wait for an answer, as from a service.</summary>
  static async ValueTask<decimal> PriceOf(Order order)
  {
    if (order.Id % 1000 == 0)
      await Task.Delay(1);
    return Math.Round(order.Lines.Sum(Discounted) * (1 + Tax(order.Country)), 2);
  }

  /// <summary>The best of all discounts up to 60 %, found the slow way.</summary>
  static decimal Discounted(Line line)
  {
    decimal best = line.Quantity * line.Price;
    for (int percent = 1; percent <= 60; percent++) {
      decimal price = line.Quantity * line.Price * (100 - percent) / 100;
      if (line.Quantity * 3 >= percent && price < best)
        best = price;
    }
    return best;
  }

  static decimal Tax(string country) => country switch {
    "DE" => 0.19m, "FR" or "AT" => 0.20m, "DK" or "SE" => 0.25m, _ => 0.21m,
  };

  static async Task<decimal> AddUp(ChannelReader<decimal> from)
  {
    decimal total = 0;
    await foreach (decimal price in from.ReadAllAsync())
      total += price;
    return total;
  }
}
