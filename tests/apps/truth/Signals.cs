// SPDX-License-Identifier: MIT
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// System calls that wait and must not be interrupted, a program's own use of SIGPROF, alternative stacks
/// and CPU timers, and signals that managed code asked for.
/// </summary>
static unsafe class Signals
{
  const string Library = "libtruth_nofp.so";
  const int User1 = 10, Hangup = 1, WindowChange = 28, ProfilerHz = 100, WaitRounds = 15;

  struct SigprofResult { public int Ticks, TicksElsewhere, StackKept, HandlerKept; }

  struct TrapsResult { public int Own, Strangers; }

  [DllImport(Library)]
  static extern int truth_waits(int rounds);

  [DllImport(Library)]
  static extern int truth_traps(ulong ns, int times, TrapsResult* result);

  [DllImport(Library)]
  static extern int truth_sigprof(ulong ns, int hz, SigprofResult* result);

  [DllImport("libc")]
  static extern int kill(int pid, int signal);

  public static JsonObject Run(Options o)
  {
    double part = o.Seconds / 2;
    int interrupted = Waits((long)(part * 1e9));
    Check.Same("waiting calls that failed with EINTR", 0, interrupted);
    int ticks = Sigprof((ulong)(part * 1e9));
    int delivered = Registrations();
    return new JsonObject {
      ["work"] = 1,
      ["interrupted"] = interrupted,
      ["sigprof_ticks"] = ticks,
      ["delivered"] = delivered,
      ["caught"] = Mask("SigCgt:"),
      ["ignored"] = Mask("SigIgn:"),
      ["blocked"] = Mask("SigBlk:"),
    };
  }

  /// <summary>Waits in two threads while a third burns CPU and so attracts samples.</summary>
  static int Waits(long ns)
  {
    int interrupted = 0;
    bool busy = true;
    void Wait()
    {
      while (Volatile.Read(ref busy)) {
        int n = truth_waits(WaitRounds);
        Check.That(n >= 0, "a call that waits failed");
        Interlocked.Add(ref interrupted, n);
      }
    }
    Crew.Run([
      ("wait-0", Wait), ("wait-1", Wait),
      ("busy", () => { Burn.For(ns); Volatile.Write(ref busy, false); }),
    ]);
    return interrupted;
  }

  static int Sigprof(ulong ns)
  {
    var r = new SigprofResult();
    Check.Same("setting up SIGPROF", 0, truth_sigprof(ns, ProfilerHz, &r));
    Check.Same("SIGPROF on another stack than asked for", 0, r.TicksElsewhere);
    Check.Same("alternative stack kept", 1, r.StackKept);
    Check.Same("SIGPROF handler kept", 1, r.HandlerKept);
    double expected = ns / 1e9 * ProfilerHz;
    // Ticks that come while one waits to be taken merge with it: on a busy machine a few do.
    Check.That(r.Ticks > expected * 0.8 - 3 && r.Ticks < expected * 1.3 + 2,
      $"SIGPROF: expected about {expected} signals, got {r.Ticks}");
    return r.Ticks;
  }

  /// <summary>Each signal is sent again only after it arrived, since equal ones merge.</summary>
  static int Registrations()
  {
    int delivered = 0;
    foreach (int signal in new[] { User1, Hangup, WindowChange }) {
      using var arrived = new AutoResetEvent(false);
      using var registration = PosixSignalRegistration.Create((PosixSignal)signal, context => {
        context.Cancel = true;
        arrived.Set();
      });
      for (int i = 0; i < 20; i++, delivered++) {
        kill(Environment.ProcessId, signal);
        Check.That(arrived.WaitOne(10_000), $"signal {signal} was not delivered");
      }
    }
    return delivered;
  }

  /// <summary>
  /// Computes, with a handler of SIGTRAP of its own for the second third of the time.
  /// </summary>
  public static JsonObject Traps(Options o)
  {
    const int Times = 50;
    long part = (long)(o.Seconds / 3 * 1e9);
    var r = new TrapsResult();
    Burn.For(part);
    Check.Same("setting up SIGTRAP", 0, truth_traps((ulong)part, Times, &r));
    Check.Same("breakpoints and signals", 2 * Times, r.Own);
    Burn.For(part);
    return new JsonObject { ["work"] = 1, ["strangers"] = r.Strangers };
  }

  static string Mask(string field) =>
    File.ReadLines("/proc/self/status").First(l => l.StartsWith(field)).Split('\t')[1];
}
