// SPDX-License-Identifier: MIT
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;

namespace Truth;

/// <summary>What ordinary programs do: regular expressions, JSON, LINQ, generics over classes and structs.</summary>
static class Mix
{
  sealed record Person(int Id, string Name, double Score, string[] Tags);

  static readonly Regex pattern = new(@"(\w+)@(\w+)\.(com|org)", RegexOptions.Compiled);

  public static JsonObject Run(Options o)
  {
    var budget = o.Budget();
    var ledger = new Ledger();
    var people = Enumerable.Range(0, 300).Select(i => new Person(i, $"name{i % 17}", i * 0.5,
      [$"t{i % 3}", $"u{i % 5}"])).ToArray();
    string mail = string.Concat(people.Select(p => $"{p.Name}@example.{(p.Id % 2 == 0 ? "com" : "net")} "));
    string? hash = null;
    while (budget.More()) {
      long t = Clock.Thread();
      Check.Same("regex", 150, Mails(mail));
      t = ledger.Book("Truth.Mix.Mails", t);
      Check.Same("JSON", people.Sum(p => p.Score), RoundTrip(people));
      t = ledger.Book("Truth.Mix.RoundTrip", t);
      Check.Same("LINQ", "name0:18", Query(people));
      t = ledger.Book("Truth.Mix.Query", t);
      Check.Same("generics", 300 * 299 / 2 * 2, Generics(people));
      t = ledger.Book("Truth.Mix.Generics", t);
      string now = Text(people);
      Check.Same("hash of a text", hash ??= now, now);
      ledger.Book("Truth.Mix.Text", t);
    }
    return new JsonObject { ["work"] = budget.Done, ["methods"] = ledger.ToJson() };
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Mails(string text)
  {
    int n = 0;
    for (Match m = pattern.Match(text); m.Success; m = m.NextMatch())
      n += m.Groups[1].Length > 0 ? 1 : 0;
    return n;
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static double RoundTrip(Person[] people)
  {
    byte[] json = JsonSerializer.SerializeToUtf8Bytes(people);
    return JsonSerializer.Deserialize<Person[]>(json)!.Sum(p => p.Score);
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static string Query(Person[] people) =>
    people.GroupBy(p => p.Name).Select(g => (g.Key, Count: g.Count()))
      .OrderByDescending(g => g.Count).ThenBy(g => g.Key, StringComparer.Ordinal)
      .Select(g => $"{g.Key}:{g.Count}").First();

  [MethodImpl(MethodImplOptions.NoInlining)]
  static int Generics(Person[] people)
  {
    var byName = new Dictionary<string, List<Person>>();
    var byId = new Dictionary<(int, long), int>();
    foreach (var p in people) {
      if (!byName.TryGetValue(p.Name + p.Id, out var list))
        byName[p.Name + p.Id] = list = [];
      list.Add(p);
      byId[(p.Id, p.Id)] = p.Id;
    }
    return byName.Values.Sum(l => l.Sum(p => p.Id)) + byId.Values.Sum();
  }

  [MethodImpl(MethodImplOptions.NoInlining)]
  static string Text(Person[] people)
  {
    var text = new StringBuilder();
    foreach (var p in people)
      text.Append(p.Id).Append(' ').AppendFormat("{0:F3}", p.Score).Append(p.Name.ToUpperInvariant()).AppendLine();
    return Convert.ToHexString(SHA256.HashData(Encoding.UTF8.GetBytes(text.ToString())));
  }
}
