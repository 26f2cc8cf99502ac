// SPDX-License-Identifier: MIT
// Calls from managed to native code and back, in all ways, each known how often.
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// <c>--work N</c> calls of each kind by each of <c>--threads</c> (1). <c>out</c> and <c>in</c>: how often which method was
/// called to native code, and from there; <c>left</c>: calls that an exception ended before there was any native code, or
/// that had not ended, of which runtimes tell as they like. <c>least_ns</c>: how long those slept at least
/// that slept; <c>most_ns</c>: how long calls took at most that were called back, less what these took.
/// <c>--end</c>: a thread ends in native code, and one stays there; with <c>--wait</c> all wait for the end of the input then.
/// <c>--hot</c> is for measuring: one call after the other,
/// <c>ns</c> of CPU for each in the best of many rounds.
/// </summary>
static unsafe partial class Transitions
{
  const string Library = "libtruth_nofp.so";
  const int Naps = 4, Back = 3, Deep = 40;
  const long NapNs = 3_000_000, BusyNs = 2_000_000;

  [DllImport(Library, EntryPoint = "truth_next")] static extern int Plain(int x);
  [DllImport(Library, EntryPoint = "truth_next")] static extern int Inlined(int x);
  [DllImport(Library, EntryPoint = "truth_length", CharSet = CharSet.Ansi)] static extern int Marshalled(string text);
  [DllImport(Library, EntryPoint = "truth_fail", SetLastError = true)] static extern int Failing(int error);
  [DllImport(Library, EntryPoint = "truth_fail", PreserveSig = false)] static extern void Throwing(int error);
  [DllImport(Library, EntryPoint = "truth_next"), SuppressGCTransition] static extern int Suppressed(int x);
  [LibraryImport(Library, EntryPoint = "truth_length", StringMarshalling = StringMarshalling.Utf8)]
  private static partial int Generated(string text);
  [DllImport(Library, EntryPoint = "truth_nap")] static extern void Nap(long ns);
  [DllImport(Library, EntryPoint = "truth_each")]
  static extern int Each(delegate* unmanaged<int, int> callback, int n, long napNs);
  [DllImport(Library, EntryPoint = "truth_each")] static extern int EachDelegate(Step step, int n, long napNs);
  [DllImport(Library, EntryPoint = "truth_vanish")] static extern void Vanish();
  [DllImport(Library, EntryPoint = "truth_stay")] static extern void Stay();
  [DllImport(Library, EntryPoint = "truth_there")] static extern int There();
  [DllImport(Library)] static extern int truth_missing(int x);
  [DllImport("libtruth_absent.so", EntryPoint = "truth_next")] static extern int Absent(int x);

  [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate int Step(int i);

  static int threads;
  static long mostEach, mostDelegate; // all threads' together
  [ThreadStatic] static long inside;
  [ThreadStatic] static int depth;

  public static JsonObject Run(Options o)
  {
    int n = (int)o.Work;
    threads = o.Number("--threads", 1);
    if (o.Has("--hot"))
      return Hot(n);
    nint library = NativeLibrary.Load(Library, typeof(Transitions).Assembly, null);
    var next = NativeLibrary.GetExport(library, "truth_next");
    var all = Enumerable.Range(0, threads).Select(i => new Thread(() => Play(n, next)) { Name = $"crossing-{i}" }).ToList();
    all.ForEach(t => t.Start());
    all.ForEach(t => t.Join());
    End(o);
    int t = threads;
    return new JsonObject {
      ["work"] = n,
      ["out"] = new JsonObject {
        ["Plain"] = n * t, ["Suppressed"] = n * t, ["Inlined"] = n * t, ["Marshalled"] = n * t, ["Failing"] = n * t, ["Throwing"] = n * t, ["Generated"] = n * t,
        ["Nap"] = Naps * t, ["Each"] = (1 + Deep) * t, ["EachDelegate"] = 2 * t, ["Invoke"] = n * t, ["pointer"] = n * t,
      },
      ["in"] = new JsonObject { ["Called"] = Back * t, ["Invoke"] = (Back + n) * t, ["Down"] = Deep * t },
      ["left"] = new JsonObject {
        ["truth_missing"] = n * t, ["Absent"] = n * t, ["Vanish"] = o.Has("--end") ? 1 : 0, ["Stay"] = o.Has("--end") ? 1 : 0,
      },
      ["least_ns"] = new JsonObject { ["Nap"] = Naps * NapNs * t, ["Each"] = Back * NapNs * t, ["EachDelegate"] = Back * NapNs * t },
      ["longest_ns"] = NapNs,
      ["most_ns"] = new JsonObject { ["Each"] = mostEach, ["EachDelegate"] = mostDelegate },
      ["inside_ns"] = Back * BusyNs * t,
    };
  }

  static long Now() => (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));

  static void Play(int n, nint next)
  {
    Out(n, next);
    Optimized(n);
    Thrown(n);
    for (int i = 0; i < Naps; i++)
      Nap(NapNs);
    GoBack(n);
    long begin = Now();
    Check.Same("bottom", Deep, Descend(0));
    Interlocked.Add(ref mostEach, Now() - begin);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Out(int n, nint next)
  {
    var pointer = (delegate* unmanaged<int, int>)next;
    var made = Marshal.GetDelegateForFunctionPointer<Step>(next);
    for (int i = 0; i < n; i++) {
      Check.Same("Plain", i + 1, Plain(i));
      Check.Same("Suppressed", i + 1, Suppressed(i));
      Check.Same("Marshalled", 5, Marshalled("abcde"));
      Check.Same("Generated", 4, Generated("abcd"));
      Check.Same("pointer", i + 1, pointer(i));
      Check.Same("Invoke", i + 1, made(i));
      Check.Same("Failing", -1, Failing(i % 100 + 1));
      Check.Same("errno", i % 100 + 1, Marshal.GetLastPInvokeError());
    }
  }

  [MethodImpl(MethodImplOptions.AggressiveInlining)]
  static int Wrapper(int x) => Inlined(x);

  /// <summary>Code that the compiler makes as good as it can.</summary>
  [MethodImpl(MethodImplOptions.AggressiveOptimization)]
  static void Optimized(int n)
  {
    for (int i = 0; i < n; i++)
      Check.Same("Inlined", i + 1, Wrapper(i));
  }

  /// <summary>Calls that end by an exception: before, and after there was any native code.</summary>
  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Thrown(int n)
  {
    int missing = 0, absent = 0, failed = 0;
    for (int i = 0; i < n; i++) {
      try {
        truth_missing(i);
      } catch (EntryPointNotFoundException) {
        missing++;
      }
      try {
        Absent(i);
      } catch (DllNotFoundException) {
        absent++;
      }
      try {
        Throwing(1);
      } catch (COMException) {
        failed++;
      }
    }
    Check.Same("calls of what is not there, and failures", (n, n, n), (missing, absent, failed));
  }

  static void Busy()
  {
    long begin = Now();
    while (Now() - begin < BusyNs)
      Thread.SpinWait(20);
    inside += Now() - begin;
  }

  [UnmanagedCallersOnly]
  static int Called(int i)
  {
    Busy();
    return i;
  }

  static int CalledDelegate(int i)
  {
    Busy();
    return i;
  }

  static int Catching(int i)
  {
    try {
      throw new InvalidOperationException();
    } catch (InvalidOperationException) {
      return 1;
    }
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void GoBack(int n)
  {
    long begin = Now();
    inside = 0;
    Check.Same("Each", 3, Each(&Called, Back, NapNs));
    Interlocked.Add(ref mostEach, Now() - begin - inside);
    Step called = CalledDelegate, catching = Catching;
    begin = Now();
    inside = 0;
    Check.Same("EachDelegate", 3, EachDelegate(called, Back, NapNs));
    Check.Same("EachDelegate", n, EachDelegate(catching, n, 0));
    Interlocked.Add(ref mostDelegate, Now() - begin - inside);
    GC.KeepAlive(called);
    GC.KeepAlive(catching);
  }

  /// <summary>Native and managed code by turns, many deep.</summary>
  [UnmanagedCallersOnly]
  static int Down(int i) => Descend(i);

  static int Descend(int i)
  {
    if (depth == Deep)
      return Deep;
    depth++;
    return Each(&Down, 1, 0);
  }

  /// <summary>A thread that ends in native code, and one that is still there when the process ends.</summary>
  static void End(Options o)
  {
    if (!o.Has("--end"))
      return;
    new Thread(() => Vanish()) { IsBackground = true, Name = "vanishing" }.Start();
    new Thread(() => Stay()) { IsBackground = true, Name = "staying" }.Start();
    while (There() < 2)
      Thread.Sleep(1);
    if (o.Has("--wait"))
      while (Console.In.Read() >= 0) { }
  }

  static JsonObject Hot(int n)
  {
    var best = long.MaxValue;
    for (int round = 0; round < 20; round++) {
      long begin = Clock.Thread();
      int x = 0;
      for (int i = 0; i < n; i++)
        x = Plain(x);
      Check.Same("Plain", n, x);
      best = Math.Min(best, Clock.Thread() - begin);
    }
    return new JsonObject { ["work"] = n, ["ns"] = (double)best / n };
  }
}
