// SPDX-License-Identifier: MIT
// Programs whose truth is known. Each knows what it did and how much CPU each part of it took, checks
// its own results, and prints both as one line of JSON, the last line of its output.
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

/// <summary>Tells a program how much to do: <c>--work N</c> units, or <c>--seconds N</c> of CPU time.</summary>
sealed class Budget(double seconds, long work)
{
  readonly long end = Clock.Process() + (long)(seconds * 1e9);

  public long Done { get; private set; }

  public double Seconds => seconds;

  /// <summary>Called once before each unit of work.</summary>
  public bool More()
  {
    if (work > 0 ? Done >= work : Clock.Process() >= end)
      return false;
    Done++;
    return true;
  }
}

sealed class Options
{
  public double Seconds = 2;
  public long Work;
  public readonly List<string> Rest = [];

  public static Options Parse(ReadOnlySpan<string> args)
  {
    var o = new Options();
    for (int i = 0; i < args.Length; i++) {
      if (args[i] == "--seconds")
        o.Seconds = double.Parse(args[++i], CultureInfo.InvariantCulture);
      else if (args[i] == "--work")
        o.Work = long.Parse(args[++i], CultureInfo.InvariantCulture);
      else
        o.Rest.Add(args[i]);
    }
    return o;
  }

  public Budget Budget() => new(Seconds, Work);

  public bool Has(string flag) => Rest.Contains(flag);
}

static class Program
{
  /// <summary>Programs that end with a line of truth.</summary>
  static readonly SortedDictionary<string, Func<Options, JsonObject>> programs = new() {
    ["alloc"] = Alloc.Run,
    ["async"] = Async.Run,
    ["atexit"] = AtExit.Run,
    ["cpu"] = Cpu.Run,
    ["crowd"] = Crowd.Run,
    ["deadlock"] = Deadlock.Run,
    ["deep"] = Deep.Run,
    ["endless"] = Endless.Run,
    ["exceptions"] = Exceptions.Run,
    ["fork"] = Fork.Run,
    ["funclets"] = InFunclets.Run,
    ["gc"] = InGc.Run,
    ["idle"] = Idle.Run,
    ["jit"] = InJit.Run,
    ["loader"] = InLoader.Run,
    ["malloc"] = InMalloc.Run,
    ["mix"] = Mix.Run,
    ["naps"] = Naps.Run,
    ["native"] = Native.Run,
    ["osr"] = Osr.Run,
    ["ownstack"] = OnOwnStack.Run,
    ["pauses"] = Pauses.Run,
    ["plt"] = InPlt.Run,
    ["prologs"] = InPrologs.Run,
    ["resolver"] = InResolver.Run,
    ["shortthreads"] = ShortThreads.Run,
    ["signals"] = Signals.Run,
    ["sleepers"] = Sleepers.Run,
    ["threads8"] = Threads8.Run,
    ["unload"] = Unload.Run,
    ["vdso"] = InVdso.Run,
    ["wall"] = Wall.Run,
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
      Print(args[0], program(Options.Parse(args.AsSpan(1))));
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
