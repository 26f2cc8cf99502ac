// SPDX-License-Identifier: MIT
// The kinds of code, their colours, and the share of samples whose leaf is of each. Pointing at one
// brings it out in the pictures, so that no one has to tell colours apart; a click keeps it so.

import { percent } from '../model/format.ts';
import { KINDS } from '../model/kinds.ts';
import type { State } from '../model/selection.ts';
import { el, setPressed, setText } from './dom.ts';
import type { Page } from './page.ts';

/** The kind of code that is brought out: the one that is pointed at, or was clicked. */
export class Highlight {
  pointed: number | null = null;
  kept: number | null = null;

  get kind(): number | null {
    return this.pointed ?? this.kept;
  }
}

export class Legend {
  readonly element: HTMLElement;
  private readonly buttons: HTMLButtonElement[];
  private readonly swatches: HTMLElement[] = [];
  private readonly shares: HTMLElement[] = [];

  constructor(private readonly page: Page, private readonly highlight: Highlight, private readonly changed: () => void) {
    this.buttons = KINDS.map((kind, k) => {
      this.swatches[k] = el('span', { class: 'swatch', 'aria-hidden': 'true' });
      this.shares[k] = el('span', { class: 'legend-share' });
      return el(
        'button',
        {
          type: 'button', class: 'legend-item', title: `${kind.name}: ${kind.what}`, 'aria-pressed': 'false',
          onclick: () => this.keep(k),
          onpointerenter: () => this.point(k), onpointerleave: () => this.point(null),
        },
        this.swatches[k], kind.name, this.shares[k],
      );
    });
    this.element = el(
      'footer', { class: 'legend', role: 'group', 'aria-label': 'Kinds of code, by what ran' }, ...this.buttons,
    );
  }

  private point(kind: number | null): void {
    this.highlight.pointed = kind;
    this.changed();
  }

  private keep(kind: number): void {
    const { highlight } = this;
    highlight.kept = highlight.kept === kind ? null : kind;
    this.buttons.forEach((button, k) => setPressed(button, k === highlight.kept));
    this.changed();
  }

  render(state: State): void {
    const { page } = this;
    const kinds = page.answers.kinds(state);
    const { sum } = page.answers.weights(state);
    const colors = page.colors();
    this.buttons.forEach((button, k) => {
      this.swatches[k]!.style.background = colors.kinds[k]!;
      setText(this.shares[k]!, percent(kinds[k]!, sum));
      button.classList.toggle('none', kinds[k] === 0);
    });
  }
}
