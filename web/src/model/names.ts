// SPDX-License-Identifier: MIT
// Shorter forms of a method's name, for places where the whole does not fit.
//
// Written are `Namespace.Type.Method(args)` for managed code, `library!symbol(args)` for native and
// `[k] symbol` for kernel code; C++ symbols use `::`. What stands in <> or () belongs to one part.

const OPEN = '<([{';
const CLOSE = '>)]}';

/**
 * Where the argument list begins: the bracket that matches the last ')', if the name ends in one. Behind a blank it is none:
 * `gen 0 (allocation)`.
 */
function argumentsAt(name: string): number {
  const end = name.lastIndexOf(')');
  if (end < 0 || name.indexOf(' ', end) >= 0) return -1;
  let depth = 0;
  for (let i = end; i > 0; i--) {
    if (name[i] === ')') depth++;
    else if (name[i] === '(' && --depth === 0) return name[i - 1] === ' ' ? -1 : i;
  }
  return -1;
}

/**
 * The starts of the parts between '.' or '::' outside of brackets. A library is one part; the dots of
 * native symbols (`memcpy.part.0`) separate nothing.
 */
function partStarts(name: string, native: boolean): number[] {
  let starts = [0];
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i]!;
    if (OPEN.includes(c)) depth++;
    else if (CLOSE.includes(c)) depth = Math.max(0, depth - 1);
    else if (depth > 0 || i === 0) continue;
    else if (c === '.' && !native && name[i - 1] !== '.') starts.push(i + 1);
    // `library!+0x1234` has no symbol: the library is all that says something.
    else if (c === '!') starts = name[i + 1] === '+' ? [0] : [0, i + 1];
    else if (c === ':' && name[i - 1] === ':') starts.push(i + 1);
  }
  return starts.filter((start) => start < name.length);
}

/** `List<System.String>` → `List<String>`: what is in brackets without its namespaces. */
const withoutInnerNamespaces = (name: string) => name.replace(/(?<=[<,[(&*\s])(?:\w+(?:\.|::))+(?=\w)/g, '');

/** `[k] ` and the like. */
const markOf = (name: string) => (name.startsWith('[') ? (/^\[[^\]]*\] */.exec(name)?.[0] ?? '') : '');

function split(name: string) {
  const mark = markOf(name);
  const whole = name.slice(mark.length);
  const at = argumentsAt(whole);
  const bare = at > 0 ? whole.slice(0, at) : whole;
  const starts = partStarts(bare, mark.startsWith('[k]') || bare.includes('!'));
  // A library is where a symbol is, not what it belongs to.
  const outer = bare[starts[1]! - 1] === '!' ? 1 : 0;
  const last = (parts: number) => starts[Math.max(outer, starts.length - parts)]!;
  return { mark, bare, last };
}

/** Forms of a name from the whole to the bare method, each shorter than the one before. */
export function nameForms(name: string): string[] {
  const { mark, bare, last } = split(name);
  const short = (parts: number) => withoutInnerNamespaces(bare.slice(last(parts)));
  const forms = [name, mark + bare, short(2), short(1)];
  return forms.filter((form, i) => i === 0 || form.length < forms[i - 1]!.length);
}

/** A name for a list: `Type.Method`, and apart from it where that is. */
export function nameParts(name: string): { short: string; place: string } {
  const { mark, bare, last } = split(name);
  const place = bare.slice(0, last(2)).replace(/(\.|::|!)$/, '');
  return { short: mark + withoutInnerNamespaces(bare.slice(last(2))), place };
}

const ELLIPSIS = '…';

/** Measures text in pixels. */
export type Measure = (text: string) => number;

/** The longest beginning of `text` that fits with an ellipsis, or nothing if that says nothing. */
export function cut(text: string, width: number, measure: Measure): string {
  const room = width - measure(ELLIPSIS);
  let used = 0;
  let end = 0;
  while (end < text.length) {
    const next = String.fromCodePoint(text.codePointAt(end)!);
    used += measure(next);
    if (used > room) break;
    end += next.length;
  }
  return end < 2 ? '' : text.slice(0, end) + ELLIPSIS;
}

/** Remembers for each frame its forms and their widths. */
export class Fitter {
  private readonly forms: (string[] | undefined)[] = [];
  private readonly widths: (number[] | undefined)[] = [];

  constructor(
    private readonly name: (frame: number) => string,
    private readonly measure: Measure,
  ) {}

  /** The longest form that fits into `width`; the shortest is cut if none does. */
  fit(frame: number, width: number): string {
    const forms = (this.forms[frame] ??= nameForms(this.name(frame)));
    const widths = (this.widths[frame] ??= forms.map(this.measure));
    for (let i = 0; i < forms.length; i++) if (widths[i]! <= width) return forms[i]!;
    return cut(forms[forms.length - 1]!, width, this.measure);
  }
}
