// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Native code that works where a thread's stack is nearly used up: no signal has room there. Then the thread goes back
/// and works on, on the first thread and on one of the program's own.
/// </summary>
static class StackEnd
{
  const ulong Ns = 60_000_000;

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Afterwards() => Burn.For(150_000_000);

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void AtTheEnd()
  {
    ulong burnt = Helper.truth_burn_at_end(Ns, 1024);
    Check.That(burnt >= Ns, "truth_burn_at_end: too short");
    Afterwards();
  }

  public static JsonObject Run(Options o)
  {
    AtTheEnd();
    var thread = new Thread(AtTheEnd, 1 << 20) { Name = "stack-end" };
    thread.Start();
    thread.Join();
    return new JsonObject { ["burnt_ns"] = 2 * Ns };
  }
}
