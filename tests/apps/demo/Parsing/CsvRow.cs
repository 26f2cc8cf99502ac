// SPDX-License-Identifier: MIT
using System.Text;

namespace Shop.Parsing;

/// <summary>Splits one line of RFC 4180 without line breaks in fields.</summary>
sealed class CsvRow
{
  readonly List<string> fields = [];
  readonly StringBuilder field = new();

  public IReadOnlyList<string> Split(string line)
  {
    fields.Clear();
    for (int i = 0; i <= line.Length; i++)
      i = i < line.Length && line[i] == '"' ? Quoted(line, i + 1) : Plain(line, i);
    return fields;
  }

  /// <summary>Returns where the comma is, or the end of the line.</summary>
  int Plain(string line, int start)
  {
    int end = line.IndexOf(',', start);
    if (end < 0)
      end = line.Length;
    fields.Add(line[start..end]);
    return end;
  }

  int Quoted(string line, int i)
  {
    field.Clear();
    for (; i < line.Length; i++) {
      if (line[i] != '"')
        field.Append(line[i]);
      else if (i + 1 < line.Length && line[i + 1] == '"')
        field.Append(line[i++]);
      else
        break;
    }
    fields.Add(field.ToString());
    return i + 1;
  }
}
