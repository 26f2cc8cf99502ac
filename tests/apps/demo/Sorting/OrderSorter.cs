// SPDX-License-Identifier: MIT
using Shop.Data;

namespace Shop.Sorting;

static class OrderSorter
{
  /// <summary>Largest first; equal ones in the order they came, so it has to be a stable sort.</summary>
  public static Order[] ByValue(List<Order> orders)
  {
    var sorted = orders.ToArray();
    MergeSort(sorted, new Order[sorted.Length], 0, sorted.Length, new ByTotal());
    return sorted;
  }

  sealed class ByTotal : IComparer<Order>
  {
    public int Compare(Order? a, Order? b) => b!.Total.CompareTo(a!.Total);
  }

  static void MergeSort<T>(T[] items, T[] scratch, int start, int end, IComparer<T> order)
  {
    if (end - start < 2)
      return;
    int middle = (start + end) / 2;
    MergeSort(items, scratch, start, middle, order);
    MergeSort(items, scratch, middle, end, order);
    Merge(items, scratch, start, middle, end, order);
  }

  static void Merge<T>(T[] items, T[] scratch, int start, int middle, int end, IComparer<T> order)
  {
    Array.Copy(items, start, scratch, start, end - start);
    for (int to = start, a = start, b = middle; to < end; to++) {
      bool left = b >= end || (a < middle && order.Compare(scratch[a], scratch[b]) <= 0);
      items[to] = left ? scratch[a++] : scratch[b++];
    }
  }
}
