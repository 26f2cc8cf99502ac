// SPDX-License-Identifier: MIT
using Library;
using Xunit;

namespace Checks;

public class TextChecks
{
  [Theory]
  [InlineData("", 0)]
  [InlineData("one", 1)]
  [InlineData("  two\twords ", 2)]
  public void Counts_words(string text, int expected) => Assert.Equal(expected, Text.CountWords(text));

  [Fact]
  public void Reverses() => Assert.Equal("cba", Text.Reverse("abc"));

  [Fact]
  public void Knows_palindromes()
  {
    Assert.True(Text.IsPalindrome("A man, a plan, a canal: Panama"));
    Assert.False(Text.IsPalindrome("palindrome"));
  }

  [Fact]
  public void Fails_on_purpose() => Assert.Equal(1, Text.CountWords("this test fails, with and without a profiler"));

  [Fact(Skip = "skipped on purpose")]
  public void Is_skipped() { }

  [Fact]
  public async Task Waits_for_many_tasks()
  {
    var tasks = Enumerable.Range(0, 200).Select(async i => {
      await Task.Delay(i % 7);
      return Text.Reverse(i.ToString()).Length;
    });
    Assert.Equal(10 + 90 * 2 + 100 * 3, (await Task.WhenAll(tasks)).Sum());
  }

  [Fact]
  public void Catches_a_null_reference()
  {
    for (int i = 0; i < 2000; i++)
      Assert.Throws<NullReferenceException>(() => Text.Reverse(null!));
  }
}
