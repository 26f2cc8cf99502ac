// SPDX-License-Identifier: MIT
using System.Globalization;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Native code whose stack seems to go on in precompiled methods that nobody has ever called: in a library that is only
/// loaded. The runtime, asked for such a method, looks for one that was called before it, beyond all that there are.
/// </summary>
static unsafe class Astray
{
  const string Library = "libtruth_nofp.so", NeverUsed = "System.Net.Mail";
  const int Methods = 50;
  const ulong Rounds = 20_000_000;

  [DllImport(Library)] static extern nint truth_astray(nint caller, ulong rounds);

  public static JsonObject Run(Options o)
  {
    nint[] callers = [.. MethodsOf(ImageOf(Assembly.Load(NeverUsed))).Take(Methods)];
    Check.Same("precompiled methods", Methods, callers.Length);
    var budget = o.Budget();
    while (budget.More()) {
      nint caller = callers[budget.Done % Methods] + 1; // behind no call
      Check.Same("caller", caller, truth_astray(caller, Rounds));
    }
    return new JsonObject { ["work"] = budget.Done };
  }

  /// <summary>Where they begin, by the image's table of functions (the exception directory of a PE32+ file).</summary>
  static IEnumerable<nint> MethodsOf(nint image)
  {
    int directory = Word(image, 0x3c) + 24 + 112 + 3 * 8, table = Word(image, directory), bytes = Word(image, directory + 4);
    for (int at = 0; at < bytes; at += 12)
      yield return image + Word(image, table + at);
  }

  static int Word(nint image, int at) => *(int*)(image + at);

  static nint ImageOf(Assembly assembly) =>
    OperatingSystem.IsWindows() ? Marshal.GetHINSTANCE(assembly.ManifestModule) : ImageOf(assembly.Location);

  /// <summary>Its header is mapped before its code.</summary>
  static nint ImageOf(string path)
  {
    nint header = 0;
    foreach (string line in File.ReadLines("/proc/self/maps").Where(line => line.EndsWith(path))) {
      if (line.Contains(" r-xp "))
        return header;
      header = nint.Parse(line.Split('-')[0], NumberStyles.HexNumber);
    }
    throw new FileNotFoundException("no code is mapped", path);
  }
}
