// SPDX-License-Identifier: MIT
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Exceptions of types that nobody has named before, thrown while another thread makes collections, which move them: what they
/// say is what their type is.
/// </summary>
static class Messages
{
  const int Kinds = 300, Throwing = 3;

  sealed class Of<T>(string message) : Exception(message);

  static void Throw(Type kind)
  {
    var type = typeof(Of<>).MakeGenericType(kind);
    try {
      throw (Exception)Activator.CreateInstance(type, $"I am {type}")!;
    } catch (Exception e) {
      Check.Same("what it says", $"I am {type}", e.Message);
    }
  }

  public static JsonObject Run(Options o)
  {
    Type[] kinds = [.. Types.Some(Kinds)];
    bool over = false;
    var collecting = new Thread(() => {
      for (object? kept = null; !Volatile.Read(ref over); GC.KeepAlive(kept)) {
        for (int i = 0; i < 100; i++)
          kept = new byte[1000];
        GC.Collect(0);
      }
    });
    collecting.Start();
    Crew.Run(Enumerable.Range(0, Throwing).Select(n => ("throwing", (Action)(() => {
      for (int i = n; i < Kinds; i += Throwing)
        Throw(kinds[i]);
    }))));
    Volatile.Write(ref over, true);
    collecting.Join();
    return new JsonObject { ["work"] = 1, ["kinds"] = Kinds };
  }
}
