// SPDX-License-Identifier: MIT
namespace Library;

public static class Text
{
  public static int CountWords(string text) =>
    text.Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries).Length;

  public static string Reverse(string text)
  {
    char[] characters = text.ToCharArray();
    Array.Reverse(characters);
    return new string(characters);
  }

  public static bool IsPalindrome(string text)
  {
    string letters = string.Concat(text.Where(char.IsLetter)).ToLowerInvariant();
    return letters == Reverse(letters);
  }
}
