// SPDX-License-Identifier: MIT
// The kinds of code, as the recording numbers them, and their colours.
//
// The hues follow the Okabe-Ito set, made lighter so that dark text stays readable on them; a unit
// test keeps every pair apart for the three common kinds of colour blindness.

export interface Kind {
  readonly name: string;
  readonly what: string;
  readonly light: string;
  readonly dark: string;
}

export const KINDS: readonly Kind[] = [
  { name: 'User', what: 'your own managed code', light: '#f5b04c', dark: '#a06a0a' },
  { name: 'Framework', what: 'managed code of .NET', light: '#a5cdf0', dark: '#2c527d' },
  { name: 'Native', what: 'native libraries', light: '#63bf9f', dark: '#2a8365' },
  { name: 'Kernel', what: 'the operating system', light: '#c58cc9', dark: '#a04fa8' },
  { name: 'GC', what: 'garbage collector', light: '#f3e58a', dark: '#827438' },
  { name: 'JIT', what: 'just-in-time compiler', light: '#e0705a', dark: '#883a33' },
  { name: 'Other', what: 'stubs and unknown code', light: '#cfd2d6', dark: '#4d515b' },
];
