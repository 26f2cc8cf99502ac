// SPDX-License-Identifier: MIT
using System.Text.RegularExpressions;
using Shop.Data;

namespace Shop.Search;

/// <summary>Finds personal data and bulky goods in free text, with an interpreted and with compiled expressions.</summary>
static class TextSearch
{
  static readonly Regex mail = new(@"[\w.+-]+@[\w-]+(\.[\w-]+)+", RegexOptions.Compiled);
  static readonly Regex phone = new(@"\+\d{1,3}( ?\d{2,4}){2,4}");
  static readonly Regex bulky = new(@"(?i)\b(black|white|gr[ae]y)\s+(?:\w+\s+)*(desk|shelf|bicycle)\b");
  static readonly Regex product = new(@"^/product/(?<id>\d+)$", RegexOptions.Compiled);

  public static string Run(List<Order> orders, List<Visit> visits)
  {
    int mails = orders.Count(o => mail.IsMatch(o.Note)), phones = orders.Count(o => phone.IsMatch(o.Note));
    int masked = orders.Sum(o => Mask(o.Note).Count(c => c == '*'));
    int bulkyLines = orders.Sum(o => o.Lines.Count(l => bulky.IsMatch(l.Product)));
    return $"{bulkyLines:N0} bulky, {mails:N0} mails, {phones:N0} phones, {masked:N0} characters masked, product {Favourite(visits)}";
  }

  static string Mask(string note) => phone.Replace(mail.Replace(note, Stars), Stars);

  static string Stars(Match m) => new('*', m.Length);

  static string Favourite(List<Visit> visits) =>
    visits.Select(v => product.Match(v.Path)).Where(m => m.Success).Select(m => m.Groups["id"].Value)
      .CountBy().OrderByDescending(p => p.Count).ThenBy(p => p.Key, StringComparer.Ordinal).First().Key;

  static IEnumerable<(string Key, int Count)> CountBy(this IEnumerable<string> keys)
  {
    var counts = new Dictionary<string, int>();
    foreach (string key in keys)
      counts[key] = counts.GetValueOrDefault(key) + 1;
    return counts.Select(c => (c.Key, c.Value));
  }
}
