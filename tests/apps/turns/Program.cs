// SPDX-License-Identifier: MIT
// turns [SECONDS]: the program of R. Lut's "Monitoring thread execution": five threads that wait for each other, and the
// main one. On a time line the second is to be seen to run when the first fires, and the third when the second leaves the
// section.
//
//     fires          fires an event, sleeps 300 ms
//     computes       waits for that, computes for 60 ms in a section
//     fights         computes for 20 ms in the same section, sleeps 100 ms
//     never stops    computes, below normal priority
//     high priority  computes for 10 ms, sleeps 200 ms
//
// Prints when it all happened by its own clock, which is the system's monotonic one, in nanoseconds.
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text.Json;

var turns = new Turns();
turns.Run(TimeSpan.FromSeconds(args.Length > 0 ? double.Parse(args[0]) : 3));
Console.WriteLine(JsonSerializer.Serialize(turns.Moments));

sealed class Turns
{
    /// <summary>What happened when; each list is one thread's.</summary>
    public readonly Dictionary<string, List<long>> Moments = [];

    readonly AutoResetEvent fired = new(false);
    readonly object section = new();
    volatile bool over;

    public void Run(TimeSpan time)
    {
        Thread[] threads =
        [
            Start("fires", ThreadPriority.Normal, Fire),
            Start("computes", ThreadPriority.Normal, ComputeWhenFired),
            Start("fights", ThreadPriority.Normal, Fight),
            Start("never stops", ThreadPriority.BelowNormal, NeverStop),
            Start("high priority", ThreadPriority.AboveNormal, ComputeNowAndThen),
        ];

        Thread.Sleep(time);
        over = true;
        fired.Set();
        foreach (var thread in threads)
            thread.Join();
    }

    Thread Start(string name, ThreadPriority priority, Action<Action<string>> work)
    {
        var moments = new Dictionary<string, List<long>>();

        void Note(string what)
        {
            long now = Clock();
            if (!moments.TryGetValue(what, out var list))
                moments[what] = list = new(1000);
            list.Add(now);
        }

        var thread = new Thread(() =>
        {
            SetPriority(priority);
            work(Note);
            lock (Moments)
                foreach (var (what, list) in moments)
                    Moments[what] = list;
        })
        { Name = name };
        thread.Start();
        return thread;
    }

    void Fire(Action<string> note)
    {
        while (!over)
        {
            note("fires");
            fired.Set();
            Thread.Sleep(300);
        }
    }

    void ComputeWhenFired(Action<string> note)
    {
        for (; ; )
        {
            fired.WaitOne();
            note("woken");
            if (over)
                return;
            lock (section)
            {
                Compute(60);
                note("leaves");
            }
        }
    }

    void Fight(Action<string> note)
    {
        while (!over)
        {
            note("wants");
            lock (section)
            {
                note("enters");
                Compute(20);
            }
            Thread.Sleep(100);
        }
    }

    void NeverStop(Action<string> note)
    {
        while (!over)
            Compute(1);
    }

    void ComputeNowAndThen(Action<string> note)
    {
        while (!over)
        {
            Compute(10);
            Thread.Sleep(200);
        }
    }

    /// <summary>Until so many milliseconds are over.</summary>
    static void Compute(int ms)
    {
        long end = Clock() + ms * 1_000_000L;
        while (Clock() < end)
            Thread.SpinWait(20);
    }

    static long Clock() => Stopwatch.GetTimestamp() * (1_000_000_000 / Stopwatch.Frequency);

    /// <summary>By the system: .NET's own priorities mean nothing on Linux. Only root may raise one.</summary>
    static void SetPriority(ThreadPriority priority)
    {
        Thread.CurrentThread.Priority = priority;
        _ = setpriority(0, 0, priority switch { ThreadPriority.BelowNormal => 5, ThreadPriority.AboveNormal => -5, _ => 0 });
    }

    /// <summary>Of this thread, on Linux.</summary>
    [DllImport("libc")]
    static extern int setpriority(int which, uint who, int value);
}
