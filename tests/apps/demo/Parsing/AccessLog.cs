// SPDX-License-Identifier: MIT
using System.Globalization;
using System.Text.RegularExpressions;
using Shop.Data;

namespace Shop.Parsing;

static class AccessLog
{
  static readonly Regex entry = new(
    """^(?<address>\S+) - - \[(?<when>[^\]]+)\] "(?<method>[A-Z]+) (?<path>\S+) HTTP/[\d.]+" (?<status>\d{3}) (?<bytes>\d+)$""",
    RegexOptions.Compiled | RegexOptions.CultureInvariant);

  public static List<Visit> Read(string path) => File.ReadLines(path).Select(ParseEntry).ToList();

  static Visit ParseEntry(string line)
  {
    Match m = entry.Match(line);
    if (!m.Success)
      throw new FormatException($"not an entry of the access log: {line}");
    return new Visit(
      DateTime.Parse(m.Groups["when"].ValueSpan, CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal),
      m.Groups["address"].Value, m.Groups["method"].Value, m.Groups["path"].Value,
      int.Parse(m.Groups["status"].ValueSpan), int.Parse(m.Groups["bytes"].ValueSpan));
  }
}
