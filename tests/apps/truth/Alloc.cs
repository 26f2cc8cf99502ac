// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;

namespace Truth;

/// <summary>
/// Allocates in two threads, keeps some of it, and checks that nothing moved into the wrong place. The threads are new ones for
/// each piece of work, but with <c>--hot</c>, for bench/events and bench/steady.
/// </summary>
static class Alloc
{
  sealed class Node(int value, Node? next)
  {
    public readonly int Value = value;
    public readonly Node? Next = next;
    public readonly byte[] Pad = new byte[value % 61];
  }

  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    int before = GC.CollectionCount(0);
    var kept = new Node?[64];
    if (o.Has("--hot"))
      Together(budget, n => Round(kept, n * 32));
    else
      while (budget.More())
        InTwo(n => Round(kept, n * 32));
    return new JsonObject {
      ["work"] = budget.Done,
      ["collections"] = GC.CollectionCount(0) - before,
      ["pause_ms"] = GC.GetTotalPauseDuration().TotalMilliseconds,
    };
  }

  static void InTwo(Action<int> body) =>
    Crew.Run(Enumerable.Range(0, 2).Select(n => ($"alloc-{n}", (Action)(() => body(n)))));

  /// <summary>The same two threads for all pieces of work.</summary>
  static void Together(Budget budget, Action<int> body)
  {
    bool more = budget.More();
    using var meeting = new Barrier(2, _ => more = more && budget.More());
    InTwo(n => {
      try {
        while (more) {
          body(n);
          meeting.SignalAndWait();
        }
      } finally {
        meeting.RemoveParticipant();
      }
    });
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Round(Node?[] kept, int offset)
  {
    for (int i = 0; i < 400; i++) {
      ref Node? slot = ref kept[offset + i % 32];
      if (slot != null)
        Verify(slot);
      slot = Chain(300);
    }
    var large = new int[50_000];
    large.AsSpan().Fill(7);
    Check.Same("sum of a large array", 350_000, large.Sum());
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static Node Chain(int length)
  {
    var head = new Node(0, null);
    for (int i = 1; i < length; i++)
      head = new Node(i, head);
    return head;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static void Verify(Node head)
  {
    int length = 0;
    for (Node? n = head; n != null; n = n.Next, length++) {
      Check.Same("value in a chain", 299 - length, n.Value);
      Check.Same("array in a chain", n.Value % 61, n.Pad.Length);
    }
    Check.Same("length of a chain", 300, length);
  }
}
