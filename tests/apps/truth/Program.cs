// SPDX-License-Identifier: MIT
// Programs whose truth is known. Each knows what it did and how much CPU each part of it took, checks
// its own results, and prints both as one line of JSON, the last line of its output.
using System.Diagnostics;
using System.Globalization;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>A result that is not what it has to be: the profiler did harm, or the program is broken.</summary>
sealed class WrongResult(string message) : Exception(message);

static class Check
{
  public static void Same<T>(string what, T expected, T got)
  {
    if (!EqualityComparer<T>.Default.Equals(expected, got))
      throw new WrongResult($"{what}: expected {expected}, got {got}");
  }

  public static void That(bool holds, string what)
  {
    if (!holds)
      throw new WrongResult(what);
  }
}

/// <summary>
/// <c>--meter</c>: what CPU time the process had used after how many units of work, every few milliseconds, by the clock
/// of CLOCK_MONOTONIC; and the program ends when its input does.
/// </summary>
sealed class Meter
{
  const long Every = 5_000_000;

  readonly List<(long Time, long Cpu, long Done)> readings = [];
  volatile bool ended;

  public Meter() => new Thread(() => {
    while (Console.In.Read() >= 0) { }
    ended = true;
  }) { IsBackground = true }.Start();

  public bool Ended => ended;

  public void Read(long done)
  {
    long cpu = Clock.Process();
    if (readings.Count == 0 || cpu - readings[^1].Cpu >= Every)
      readings.Add((Stopwatch.GetTimestamp(), cpu, done));
  }

  public JsonArray ToJson() => [.. readings.Select(r => new JsonArray(r.Time, r.Cpu, r.Done))];
}

/// <summary>Tells a program how much to do: <c>--work N</c> units, or <c>--seconds N</c> of CPU time.</summary>
/// <remarks>With <c>--rests</c> it sleeps about twice as long as it works: for tests that only need it to be there.</remarks>
sealed class Budget(double seconds, long work, Meter? meter, bool rests)
{
  readonly long end = Clock.Process() + (long)(seconds * 1e9);

  long worksSince = Environment.TickCount64;

  public long Done { get; private set; }

  public double Seconds => seconds;

  /// <summary>Called once before each unit of work.</summary>
  public bool More()
  {
    meter?.Read(Done);
    if (meter?.Ended == true || (work > 0 ? Done >= work : Clock.Process() >= end))
      return false;
    if (rests)
      TakeRest();
    Done++;
    return true;
  }

  void TakeRest()
  {
    Thread.Sleep((int)Math.Clamp(2 * (Environment.TickCount64 - worksSince), 1, 20));
    worksSince = Environment.TickCount64;
  }
}

sealed class Options
{
  public double Seconds = 2;
  public long Work;
  public Meter? Meter;
  public bool Rests;
  public readonly List<string> Rest = [];

  public static Options Parse(ReadOnlySpan<string> args)
  {
    var o = new Options();
    for (int i = 0; i < args.Length; i++) {
      if (args[i] == "--seconds")
        o.Seconds = double.Parse(args[++i], CultureInfo.InvariantCulture);
      else if (args[i] == "--work")
        o.Work = long.Parse(args[++i], CultureInfo.InvariantCulture);
      else if (args[i] == "--meter")
        o.Meter = new Meter();
      else if (args[i] == "--rests")
        o.Rests = true;
      else
        o.Rest.Add(args[i]);
    }
    return o;
  }

  public Budget Budget() => new(Seconds, Work, Meter, Rests);

  public bool Has(string flag) => Rest.Contains(flag);

  public string? When => Rest.IndexOf("--when") is >= 0 and var at ? Rest[at + 1] : null;

  /// <summary><c>--when FILE</c>: makes FILE.ready, and waits until FILE is there.</summary>
  public void WaitToBegin()
  {
    if (When is not string file)
      return;
    File.WriteAllText(file + ".ready", "");
    while (!File.Exists(file))
      Thread.Sleep(10);
  }

  /// <summary>Makes FILE.done, and waits until FILE has gone.</summary>
  public void SayDone()
  {
    if (When is not string file)
      return;
    File.WriteAllText(file + ".done", "");
    while (File.Exists(file))
      Thread.Sleep(10);
  }

  public int Number(string flag, int initial)
  {
    int at = Rest.IndexOf(flag);
    return at < 0 ? initial : int.Parse(Rest[at + 1], CultureInfo.InvariantCulture);
  }
}

static class Program
{
  /// <summary>Programs that end with a line of truth.</summary>
  static readonly SortedDictionary<string, Func<Options, JsonObject>> programs = new() {
    ["alloc"] = Alloc.Run,
    ["amid"] = Collections.EndAmid,
    ["astray"] = Astray.Run,
    ["async"] = Async.Run,
    ["atexit"] = AtExit.Run,
    ["below"] = Below.Run,
    ["brief"] = Brief.Run,
    ["calls"] = Calls.Suite.Run,
    ["collections"] = Collections.Run,
    ["compiled"] = Compiled.Run,
    ["cpu"] = Cpu.Run,
    ["crowd"] = Crowd.Run,
    ["deadlock"] = Deadlock.Run,
    ["deep"] = Deep.Run,
    ["dynamic"] = Unload.RunDynamic,
    ["endless"] = Endless.Run,
    ["exceptions"] = Exceptions.Run,
    ["finalizers"] = Finalizers.Run,
    ["fork"] = Fork.Run,
    ["forks"] = Forks.Run,
    ["funclets"] = InFunclets.Run,
    ["garbage"] = Garbage.Run,
    ["gc"] = InGc.Run,
    ["handles"] = Handles.Run,
    ["hijacked"] = Hijacked.Run,
    ["in-its-place"] = Unload.RunInItsPlace,
    ["identity"] = Identity.Run,
    ["idle"] = Idle.Run,
    ["inward"] = Inward.Run,
    ["jit"] = InJit.Run,
    ["loaded"] = Loaded.Run,
    ["loader"] = InLoader.Run,
    ["leaks"] = Leaks.Run,
    ["lent"] = Lent.Run,
    ["locks"] = Locks.Run,
    ["malloc"] = InMalloc.Run,
    ["marks"] = Marks.Run,
    ["messages"] = Messages.Run,
    ["mix"] = Mix.Run,
    ["naps"] = Naps.Run,
    ["native"] = Native.Run,
    ["osr"] = Osr.Run,
    ["ownstack"] = OnOwnStack.Run,
    ["pairs"] = Pairs.Run,
    ["pauses"] = Pauses.Run,
    ["plt"] = InPlt.Run,
    ["prologs"] = InPrologs.Run,
    ["registers"] = Registers.Run,
    ["resolver"] = InResolver.Run,
    ["remade"] = Unload.RunRemade,
    ["reused"] = Reused.Run,
    ["safepoints"] = Safepoints.Run,
    ["serialise"] = Serialise.Run,
    ["shortthreads"] = ShortThreads.Run,
    ["signals"] = Signals.Run,
    ["sizes"] = Sizes.Run,
    ["sleepers"] = Sleepers.Run,
    ["threads8"] = Threads8.Run,
    ["stackend"] = StackEnd.Run,
    ["thrown"] = Thrown.Run,
    ["transitions"] = Transitions.Run,
    ["traps"] = Signals.Traps,
    ["unload"] = Unload.Run,
    ["turns"] = Turns.Run,
    ["values"] = CallsValues.Run,
    ["vdso"] = InVdso.Run,
    ["wall"] = Wall.Run,
    ["waits"] = Waits.Run,
  };

  /// <summary>Programs of which only the way they end, or what they copy, matters.</summary>
  static readonly SortedDictionary<string, Func<Options, int>> endings = new() {
    ["become"] = Endings.Become,
    ["crash"] = Endings.Crash,
    ["env"] = Endings.Env,
    ["exitcode"] = Endings.ExitCode,
    ["onsignal"] = Endings.OnSignal,
    ["overflow"] = Endings.Overflow,
    ["stdin"] = Endings.Stdin,
    ["unhandled"] = Unhandled.Run,
  };

  static int Main(string[] args)
  {
    if (args.Length > 0 && endings.TryGetValue(args[0], out var ending))
      return ending(Options.Parse(args.AsSpan(1)));
    if (args.Length == 0 || !programs.TryGetValue(args[0], out var program)) {
      Console.Error.WriteLine("usage: truth PROGRAM [--seconds N | --work N] [option]...");
      Console.Error.WriteLine("programs: " + string.Join(' ', programs.Keys.Concat(endings.Keys)));
      return 2;
    }
    try {
      var options = Options.Parse(args.AsSpan(1));
      var truth = program(options);
      if (options.Meter != null)
        truth["meter"] = options.Meter.ToJson();
      Print(args[0], truth);
      return 0;
    } catch (WrongResult e) {
      Console.Error.WriteLine($"truth: {args[0]}: {e.Message}");
      return 1;
    }
  }

  static void Print(string name, JsonObject truth)
  {
    truth["program"] = name;
    truth["runtime"] = Environment.Version.ToString();
    truth["process_cpu_ns"] = Clock.Process();
    Console.WriteLine(truth.ToJsonString());
  }
}
