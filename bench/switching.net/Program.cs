// SPDX-License-Identifier: MIT
// switching-net events ROUNDS: two threads hand their turn to each other by events.
// switching-net pool ROUNDS: 200 asynchronous loops that yield and work a little.
// switching-net threads ROUNDS: so many threads that end at once, one after the other.
// Prints the CPU time of the process for that, and how long it took, in nanoseconds a round.
int rounds = int.Parse(args[1]);

Action work = args[0] switch { "events" => Events, "threads" => Threads, _ => Pool };
work(); // all is compiled, and threads are there
var before = Environment.CpuUsage.TotalTime;
var clock = System.Diagnostics.Stopwatch.StartNew();
work();
var took = clock.Elapsed;
var used = Environment.CpuUsage.TotalTime - before;
Console.WriteLine($"{{\"ns\":{used.TotalNanoseconds / rounds:F1},\"wall_ns\":{took.TotalNanoseconds / rounds:F1}}}");

void Events()
{
    using var there = new AutoResetEvent(false);
    using var back = new AutoResetEvent(false);
    var other = new Thread(() =>
    {
        for (int i = 0; i < rounds; i++)
        {
            there.WaitOne();
            back.Set();
        }
    });

    other.Start();
    for (int i = 0; i < rounds; i++)
    {
        there.Set();
        back.WaitOne();
    }
    other.Join();
}

void Pool()
{
    const int loops = 200;

    async Task Loop()
    {
        for (int i = 0; i < rounds / loops; i++)
        {
            await Task.Yield();
            Thread.SpinWait(500);
        }
    }

    Task.WaitAll([.. Enumerable.Range(0, loops).Select(_ => Task.Run(Loop))]);
}

void Threads()
{
    for (int i = 0; i < rounds; i++)
    {
        var thread = new Thread(() => { });

        thread.Start();
        thread.Join();
    }
}
