// SPDX-License-Identifier: MIT
using Library;

foreach (string text in args)
  Console.WriteLine($"{Text.CountWords(text)} {Text.Reverse(text)}");
