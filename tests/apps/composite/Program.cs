// SPDX-License-Identifier: MIT
// composite SECONDS: the framework sorts and counts for so long, called from here; with DOTNET_TieredCompilation=0 all of it
// stays as it was compiled ahead of time.
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;

namespace Composite;

static class Program
{
    static void Main(string[] args)
    {
        var watch = Stopwatch.StartNew();
        var seconds = double.Parse(args[0], CultureInfo.InvariantCulture);
        long done = 0;
        while (watch.Elapsed.TotalSeconds < seconds)
            done += Sorting() + Counting();
        Console.WriteLine(done > 0 ? "done" : "nothing");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Sorting()
    {
        var numbers = new long[5000];
        for (int i = 0; i < numbers.Length; i++)
            numbers[i] = i * 7919L % 5003;
        Array.Sort(numbers, Comparer<long>.Create(Compared));
        return (int)numbers[1];
    }

    static int Compared(long a, long b) => a.CompareTo(b);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Counting()
    {
        var words = new SortedDictionary<string, int>(StringComparer.Ordinal);
        for (int i = 0; i < 2000; i++)
            words[(i * 7919 % 997).ToString(CultureInfo.InvariantCulture)] = i;
        return words.Count;
    }
}
