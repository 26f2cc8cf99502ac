// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;
using System.Threading.Channels;

namespace Truth;

/// <summary>Tasks in all their forms; each sums numbers whose sum is known.</summary>
static class Async
{
  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    RunAsync(budget).GetAwaiter().GetResult();
    return new JsonObject { ["work"] = budget.Done };
  }

  static async Task RunAsync(Budget budget)
  {
    while (budget.More()) {
      Check.Same("await chain", 20L, await Chain(20));
      Check.Same("ValueTask", 1000L, await Values(1000));
      Check.Same("channel", 1999L * 1000, await Pipe(2000));
      Check.Same("Parallel.For", 4950L * 20, Parallel());
      Check.Same("PLINQ", 49995000L, Plinq());
      Check.Same("timers", 5, await Timers(5));
      Check.Same("failing task", "async failure", await Fails());
    }
  }

  static async Task<long> Chain(int depth)
  {
    Burn.Steps(20_000);
    if (depth == 0)
      return 0;
    await Task.Yield();
    return await Chain(depth - 1) + 1;
  }

  static async Task<long> Values(int n)
  {
    long sum = 0;
    for (int i = 0; i < n; i++)
      sum += await One(i);
    return sum;
  }

  static async ValueTask<int> One(int i)
  {
    if (i % 50 == 0)
      await Task.Yield();
    Burn.Steps(200);
    return 1;
  }

  static async Task<long> Pipe(int n)
  {
    var channel = Channel.CreateBounded<int>(16);
    var producer = Task.Run(async () => {
      for (int i = 0; i < n; i++)
        await channel.Writer.WriteAsync(i);
      channel.Writer.Complete();
    });
    long sum = 0;
    await foreach (int i in channel.Reader.ReadAllAsync()) {
      Burn.Steps(200);
      sum += i;
    }
    await producer;
    return sum;
  }

  static long Parallel()
  {
    long sum = 0;
    System.Threading.Tasks.Parallel.For(0, 100, i => {
      Burn.Steps(20_000);
      Interlocked.Add(ref sum, 20L * i);
    });
    return sum;
  }

  static long Plinq() =>
    Enumerable.Range(0, 10_000).AsParallel().Where(i => i >= 0).Select(i => (long)i).Sum();

  static async Task<int> Timers(int n)
  {
    var delays = Enumerable.Range(1, n).Select(async i => {
      await Task.Delay(i);
      return 1;
    });
    return (await Task.WhenAll(delays)).Sum();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static async Task<string> Fails()
  {
    try {
      await Task.Run(() => throw new InvalidOperationException("async failure"));
      return "no failure";
    } catch (InvalidOperationException e) {
      return e.Message;
    }
  }
}
