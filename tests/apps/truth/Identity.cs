// SPDX-License-Identifier: MIT
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Sets the ids of its user, to what they are: the C library sends every thread a signal for that, and waits until
/// each has handled it.
/// </summary>
static class Identity
{
  [DllImport("libc")]
  static extern int setresuid(uint real, uint effective, uint saved);

  public static JsonObject Run(Options o)
  {
    bool busy = true;
    long changes = 0;
    o.WaitToBegin();
    Crew.Run([
      ("busy", () => { Burn.For((long)(o.Seconds * 1e9)); Volatile.Write(ref busy, false); }),
      ("changes", () => {
        do {
          Check.Same("setresuid", 0, setresuid(uint.MaxValue, uint.MaxValue, uint.MaxValue));
          changes++;
          Thread.Sleep(1);
        } while (Volatile.Read(ref busy));
      }),
    ]);
    o.SayDone();
    Check.That(changes > 0, "nothing was changed");
    return new JsonObject { ["work"] = 1 };
  }
}
