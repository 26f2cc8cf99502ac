// SPDX-License-Identifier: MIT
// Light, dark, or as the system says; and the colours a canvas needs of the current one.

import { KINDS } from '../model/kinds.ts';

export type Theme = 'auto' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];
const KEY = 'dnprof-theme';

export interface Colors {
  readonly dark: boolean;
  readonly background: string;
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly accent: string;
  /** By kind and shade: fills, and the same for what stands back. */
  readonly fills: readonly string[];
  readonly faded: readonly string[];
  readonly kinds: readonly string[];
  readonly label: string;
  readonly fadedLabel: string;
  /** Lines over what is of threads that did not run. */
  readonly hatch: string;
  /** Of threads over time: had a processor, lost it, not known. */
  readonly ran: Rgb;
  readonly preempted: Rgb;
  readonly unknown: Rgb;
  /** Waits for what another thread holds. */
  readonly held: Rgb;
  readonly onRan: string;
}

/** Neighbours of one kind get different shades, so that their edges are seen. */
export const SHADES = 4;
const SHADE_STEP = 0.045;
const FADED_PART = 0.22;

export type Rgb = readonly [number, number, number];

const parse = (hex: string): Rgb =>
  [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
const mix = (a: Rgb, b: Rgb, part: number): Rgb =>
  a.map((v, i) => v + (b[i]! - v) * part) as unknown as Rgb;
export const css = (c: Rgb) => `rgb(${c.map(Math.round).join(' ')})`;

function shades(base: Rgb, towards: Rgb): Rgb[] {
  return Array.from({ length: SHADES }, (_, i) => mix(base, towards, i * SHADE_STEP));
}

function readColors(): Colors {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const dark = get('scheme') === 'dark';
  const background = parse(get('panel'));
  const towards: Rgb = dark ? [0, 0, 0] : [255, 255, 255];
  const kinds = KINDS.map((k) => (dark ? k.dark : k.light));
  const fills = kinds.flatMap((k) => shades(parse(k), towards));
  return {
    dark,
    background: css(background),
    text: get('text'),
    muted: get('muted'),
    line: get('line'),
    accent: get('accent'),
    fills: fills.map(css),
    faded: fills.map((c) => css(mix(background, c, FADED_PART))),
    kinds,
    label: get('on-kind'),
    fadedLabel: get('muted'),
    hatch: get('hatch'),
    ran: parse(get('ran')),
    preempted: parse(get('preempted')),
    unknown: parse(get('unknown')),
    held: parse(get('held')),
    onRan: get('on-ran'),
  };
}

export class ThemeSwitch {
  private readonly system = window.matchMedia('(prefers-color-scheme: dark)');
  private theme: Theme;
  private current: Colors | null = null;

  /** Called when the colours are others. */
  changed: () => void = () => {};

  constructor() {
    this.theme = this.stored();
    this.apply();
    this.system.addEventListener('change', () => this.apply());
  }

  get name(): Theme {
    return this.theme;
  }

  get colors(): Colors {
    return (this.current ??= readColors());
  }

  next(): void {
    this.theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length]!;
    try {
      localStorage.setItem(KEY, this.theme);
    } catch {
      // Storage may be forbidden for files; the choice then lasts as long as the page.
    }
    this.apply();
  }

  private stored(): Theme {
    try {
      return THEMES.find((t) => t === localStorage.getItem(KEY)) ?? 'auto';
    } catch {
      return 'auto';
    }
  }

  private apply(): void {
    const system = this.system.matches ? 'dark' : 'light';
    document.documentElement.dataset['theme'] = this.theme === 'auto' ? system : this.theme;
    this.current = null;
    this.changed();
  }
}
