// SPDX-License-Identifier: MIT
// What is under the pointer, next to it.

import { breakable, el } from './dom.ts';

const DISTANCE = 14;
const MARGIN = 8;

export interface Fact {
  readonly label: string;
  readonly value: string;
}

export interface Card {
  readonly title: string;
  readonly subtitle?: string;
  readonly color?: string;
  readonly facts: readonly Fact[];
}

export class Tooltip {
  readonly element = el('div', { class: 'tooltip', role: 'tooltip', hidden: true });
  private shown: Card | null = null;

  show(card: Card, x: number, y: number): void {
    if (card !== this.shown) this.fill(card);
    this.element.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = this.element;
    const left = x + DISTANCE + w + MARGIN > innerWidth ? x - DISTANCE - w : x + DISTANCE;
    const top = y + DISTANCE + h + MARGIN > innerHeight ? y - DISTANCE - h : y + DISTANCE;
    this.element.style.left = `${Math.max(MARGIN, left)}px`;
    this.element.style.top = `${Math.max(MARGIN, top)}px`;
  }

  hide(): void {
    this.element.hidden = true;
    this.shown = null;
  }

  private fill(card: Card): void {
    this.shown = card;
    const swatch = el('span', { class: 'swatch' });
    if (card.color) swatch.style.background = card.color;
    const rows = card.facts.flatMap((f) => [el('dt', {}, f.label), el('dd', {}, f.value)]);
    this.element.replaceChildren(
      el('div', { class: 'tooltip-title' }, ...breakable(card.title)),
      card.subtitle ? el('div', { class: 'tooltip-sub' }, card.color ? swatch : null, card.subtitle) : '',
      el('dl', {}, ...rows),
    );
  }
}
