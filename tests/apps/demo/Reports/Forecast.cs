// SPDX-License-Identifier: MIT
using Shop.Data;

namespace Shop.Reports;

/// <summary>Smooths the hourly sales and looks for their period: numbers only, and Math.Sin in the middle.</summary>
static class Forecast
{
  public static string Run(List<Order> orders)
  {
    double[] hours = HourlySales(orders);
    double[] smooth = Smooth(hours, width: 12);
    var best = Enumerable.Range(2, 60).Select(p => (Period: p, Strength: Strength(smooth, p))).MaxBy(s => s.Strength);
    return $"{hours.Length:N0} hours, period {best.Period}, strength {best.Strength:E3}";
  }

  static double[] HourlySales(List<Order> orders)
  {
    var start = orders[0].Placed.Date;
    var hours = new double[(int)(orders[^1].Placed - start).TotalHours + 1];
    foreach (var o in orders)
      hours[(int)(o.Placed - start).TotalHours] += (double)o.Total;
    return hours;
  }

  static double[] Smooth(double[] values, int width)
  {
    var smooth = new double[values.Length];
    for (int i = 0; i < values.Length; i++) {
      double sum = 0, weight = 0;
      for (int j = Math.Max(0, i - width); j <= Math.Min(values.Length - 1, i + width); j++) {
        double w = Math.Exp(-Math.Abs(i - j));
        sum += w * values[j];
        weight += w;
      }
      smooth[i] = sum / weight;
    }
    return smooth;
  }

  /// <summary>How much of a wave with this period there is, at the phase that fits best.</summary>
  static double Strength(double[] values, int period)
  {
    double strongest = 0;
    for (int phase = 0; phase < period; phase++) {
      double sum = 0;
      for (int i = 0; i < values.Length; i++)
        sum += values[i] * Math.Sin(2 * Math.PI * (i + phase) / period);
      strongest = Math.Max(strongest, Math.Abs(sum));
    }
    return strongest;
  }
}
