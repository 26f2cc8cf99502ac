// SPDX-License-Identifier: MIT
using System.Text;

namespace Shop.Data;

/// <summary>The same "random" numbers in every run, on every runtime.</summary>
sealed class Dice(ulong seed)
{
  ulong state = seed;

  public int Next(int sides)
  {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (int)((state >> 33) % (ulong)sides);
  }

  public T Pick<T>(T[] items) => items[Next(items.Length)];
}

/// <summary>Writes the files that the shop's systems would have left during the day.</summary>
static class Generator
{
  static readonly string[] countries = ["AT", "BE", "CZ", "DE", "DK", "ES", "FI", "FR", "IT", "NL", "PL", "PT", "SE"];
  static readonly string[] first = ["Ada", "Alan", "Barbara", "Edsger", "Frances", "Grace", "Ken", "Niklaus", "Tony"];
  static readonly string[] last = ["Allen", "Dijkstra", "Hoare", "Hopper", "Liskov", "Lovelace", "Turing", "Wirth"];
  static readonly string[] colours = ["black", "blue", "green", "grey", "red", "white", "yellow"];
  static readonly string[] things = ["bicycle", "chair", "desk", "kettle", "lamp", "notebook", "pan", "radio", "shelf"];
  static readonly string[] paths = ["/", "/cart", "/checkout", "/help", "/login", "/product/", "/search?q="];
  static readonly string[] notes = ["", "", "leave at door", "call +31 20 555 0143", "gift, no invoice",
    "reply to ada@example.org", "quote \"\"A-17\"\" please"];

  public static void WriteOrders(string path, int count)
  {
    var dice = new Dice(2024);
    using var file = new StreamWriter(path, append: false, Encoding.UTF8);
    file.WriteLine("order,placed,customer,country,product,quantity,price,note");
    var placed = new DateTime(2024, 1, 1, 0, 0, 0, DateTimeKind.Utc);
    for (int id = 1; id <= count; id++) {
      placed = placed.AddSeconds(dice.Next(500));
      string customer = $"{dice.Pick(last)}, {dice.Pick(first)}", country = dice.Pick(countries), note = dice.Pick(notes);
      for (int lines = 1 + dice.Next(4); lines > 0; lines--)
        file.WriteLine($"{id},{placed:yyyy-MM-ddTHH:mm:ssZ},\"{customer}\",{country}," +
          $"{dice.Pick(colours)} {dice.Pick(things)},{1 + dice.Next(9)},{dice.Next(200)}.{dice.Next(100):D2},\"{note}\"");
    }
  }

  public static void WriteLog(string path, int count)
  {
    var dice = new Dice(77);
    using var file = new StreamWriter(path, append: false, Encoding.ASCII);
    var when = new DateTime(2024, 1, 1, 0, 0, 0, DateTimeKind.Utc);
    for (int i = 0; i < count; i++) {
      when = when.AddMilliseconds(dice.Next(2000));
      string target = dice.Pick(paths);
      if (target.EndsWith('/') && target.Length > 1)
        target += dice.Next(5000);
      else if (target.EndsWith('='))
        target += dice.Pick(things);
      int status = dice.Next(50) switch { 0 => 500, 1 => 404, 2 => 302, _ => 200 };
      file.WriteLine($"10.{dice.Next(4)}.{dice.Next(256)}.{dice.Next(256)} - - [{when:yyyy-MM-ddTHH:mm:ss.fffZ}] " +
        $"\"{(dice.Next(5) == 0 ? "POST" : "GET")} {target} HTTP/1.1\" {status} {dice.Next(90_000)}");
    }
  }
}
