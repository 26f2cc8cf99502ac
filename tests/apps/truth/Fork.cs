// SPDX-License-Identifier: MIT
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;
using System.IO.Pipes;

namespace Truth;

/// <summary>Children in every way: forked without exec, started by C code, by .NET, and .NET themselves.</summary>
static class Fork
{
  const string Library = "libtruth_nofp.so";

  [DllImport(Library)]
  static extern int truth_fork(ulong ns, int runHandlers, int status);

  [DllImport(Library)]
  static extern int truth_env(int fd);

  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    bool mayProfile = o.Has("--children-profiled");
    while (budget.More()) {
      Check.Same("status of a forked child that ends with _exit", 7 << 8, truth_fork(20_000_000, 0, 7));
      Check.Same("status of a forked child that ends with exit", 8 << 8, ForkAndExit(8));
      Burn.For(50_000_000);
      Check.Same("status of /bin/true", 0, Start("/bin/true", []).Status);
      Check.Same("status of /bin/false", 1, Start("/bin/false", []).Status);
      if (!mayProfile)
        Environments();
      var (status, output) = Start(Environment.ProcessPath!, [.. Self(), "exitcode", "9"]);
      Check.Same("status of a .NET child", 9, status);
      Check.Same("output of a .NET child", "leaving with 9\n", output);
    }
    return new JsonObject { ["work"] = budget.Done };
  }

  /// <summary>
  /// In exit the runtime takes the thread out of its list. If another thread was just at that list when the process was
  /// forked, the child waits for it in vain, with a profiler or without: one in some thousands. Two in a row are no chance.
  /// </summary>
  static int ForkAndExit(int code)
  {
    int status = truth_fork(20_000_000, 1, code);
    return status == Forks.Killed ? truth_fork(20_000_000, 1, code) : status;
  }

  /// <summary>What comes before the program's name: the assembly, if the host is `dotnet`.</summary>
  static string[] Self() =>
    Path.GetFileNameWithoutExtension(Environment.ProcessPath) == "dotnet"
      ? [Path.Combine(AppContext.BaseDirectory, "truth.dll")] : [];

  static void Environments()
  {
    Clean("this process", Environment.GetEnvironmentVariables().Keys.Cast<string>());
    Clean("a child started by C code", EnvFromC());
    Clean("a child started by .NET", Start("/usr/bin/env", []).Output.Split('\n'));
    var (status, output) = Start(Environment.ProcessPath!, [.. Self(), "env"]);
    Check.Same("status of a .NET child that prints its environment", 0, status);
    Clean("a .NET child", output.Split('\n'));
  }

  static void Clean(string whose, IEnumerable<string> variables)
  {
    string left = string.Join(' ', variables.Where(Endings.IsProfilers));
    Check.Same($"variables of the profiler in the environment of {whose}", "", left);
  }

  static string[] EnvFromC()
  {
    using var pipe = new AnonymousPipeServerStream(PipeDirection.In);
    int fd = int.Parse(pipe.GetClientHandleAsString());
    Check.Same("status of env", 0, truth_env(fd));
    pipe.DisposeLocalCopyOfClientHandle();
    return new StreamReader(pipe).ReadToEnd().Split('\n');
  }

  static (int Status, string Output) Start(string file, string[] arguments)
  {
    using var child = Process.Start(new ProcessStartInfo(file, arguments) { RedirectStandardOutput = true })!;
    string output = child.StandardOutput.ReadToEnd();
    child.WaitForExit();
    return (child.ExitCode, output);
  }
}

/// <summary>Children that never execute another program, one after the other, while other threads work.</summary>
static class Forks
{
  const string Library = "libtruth_nofp.so";
  internal const int Killed = -2;

  static readonly string[] children = ["--exits", "--loads", "--walks", "--returns"];

  static bool done;

  [DllImport(Library)]
  static extern int truth_child(int what, string library);

  [DllImport(Library)]
  static extern int truth_await(int pid, int patience_ms);

  [DllImport(Library)]
  static extern void truth_leave(int status);

  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    int what = Array.FindIndex(children, o.Has), hung = 0;
    string library = Path.Combine(AppContext.BaseDirectory, "libtruth_lazy.so");
    int patienceMs = o.Number("--patience-ms", 2000);
    var workers = new List<Thread>();
    if (o.Has("--burns"))
      workers.Add(new Thread(() => { while (!Volatile.Read(ref done)) Burn.Steps(100_000); }));
    if (o.Has("--compiles"))
      workers.Add(new Thread(() => { while (!Volatile.Read(ref done)) InJit.Compile(); }));
    workers.ForEach(t => t.Start());
    var time = Stopwatch.StartNew();
    while (budget.More()) {
      int pid = truth_child(what, library);
      if (pid == 0)
        truth_leave((int)(Burn.Steps(1_000) & 0));
      int status = truth_await(pid, patienceMs);
      if (status != Killed)
        Check.Same("status of a forked child", 0, status);
      hung += status == Killed ? 1 : 0;
    }
    Volatile.Write(ref done, true);
    workers.ForEach(t => t.Join());
    return new JsonObject { ["work"] = budget.Done, ["hung"] = hung, ["elapsed_ms"] = time.ElapsedMilliseconds };
  }
}
