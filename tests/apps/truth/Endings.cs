// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Truth;

/// <summary>Programs of which only the way they end, or what they copy, matters.</summary>
static class Endings
{
  public static bool IsProfilers(string variable) =>
    variable.StartsWith("CORECLR_", StringComparison.Ordinal) ||
    variable.StartsWith("DNPROF_", StringComparison.Ordinal) ||
    variable == "DOTNET_EnableWriteXorExecute";

  public static int ExitCode(Options o)
  {
    int code = int.Parse(o.Rest[0]);
    Console.WriteLine($"leaving with {code}");
    return code;
  }

  public static int Crash(Options o)
  {
    Burn.For((long)(o.Seconds * 1e9));
    throw new InvalidOperationException("crash on purpose");
  }

  [DllImport("libc", EntryPoint = "execv")]
  static extern int Execute(string path, string?[] arguments);

  /// <summary>Becomes another program while its threads work.</summary>
  public static int Become(Options o)
  {
    for (int i = 0; i < 3; i++)
      new Thread(() => Burn.For(60_000_000_000)) { IsBackground = true }.Start();
    Burn.For((long)(o.Seconds * 1e9));
    Execute("/bin/echo", new[] { "echo", "became another program", null });
    return 1;
  }

  /// <summary>Prints the variables of a profiler that this process was given, one a line.</summary>
  public static int Env(Options o)
  {
    foreach (string name in Environment.GetEnvironmentVariables().Keys)
      if (IsProfilers(name))
        Console.WriteLine(name);
    return 0;
  }

  /// <summary>Says that it is ready, waits for one signal while it works, leaves with 100 + its number.</summary>
  public static int OnSignal(Options o)
  {
    using var arrived = new ManualResetEventSlim();
    int number = 0;
    var registrations = new[] { (PosixSignal.SIGHUP, 1), (PosixSignal.SIGINT, 2), (PosixSignal.SIGQUIT, 3),
      ((PosixSignal)10, 10), ((PosixSignal)12, 12), (PosixSignal.SIGTERM, 15) }.Select(s =>
      PosixSignalRegistration.Create(s.Item1, context => {
        context.Cancel = true;
        number = s.Item2;
        arrived.Set();
      })).ToList();
    Console.WriteLine("ready");
    while (!arrived.IsSet)
      Burn.For(10_000_000);
    registrations.ForEach(r => r.Dispose());
    return 100 + number;
  }

  public static int Overflow(Options o)
  {
    Burn.For(200_000_000);
    if (!o.Has("--thread"))
      return Endless(1);
    var thread = new Thread(() => Endless(1));
    thread.Start();
    thread.Join();
    return 0;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Endless(int x) => Endless(x + 1) + Endless(x + 2);

  /// <summary>Copies stdin to stdout and says on stderr how many bytes there were.</summary>
  public static int Stdin(Options o)
  {
    using var input = Console.OpenStandardInput();
    using var output = Console.OpenStandardOutput();
    var buffer = new byte[65536];
    long bytes = 0;
    for (int n; (n = input.Read(buffer)) > 0; bytes += n)
      output.Write(buffer, 0, n);
    Console.Error.WriteLine($"{bytes} bytes");
    return 0;
  }
}
