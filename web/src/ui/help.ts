// SPDX-License-Identifier: MIT
// All keys, on "?". The list is made from the keys themselves, so none can be forgotten.

import { el } from './dom.ts';
import type { Key } from './page.ts';

export interface KeyGroup {
  readonly title: string;
  readonly keys: readonly Key[];
}

export class Help {
  readonly element = el('dialog', { class: 'help', 'aria-label': 'Keys' });

  constructor(groups: readonly KeyGroup[]) {
    const close = el('button', { type: 'button', class: 'small', onclick: () => this.element.close() }, 'Close');
    const sections = groups.map((group) =>
      el(
        'section', {}, el('h3', {}, group.title),
        el('dl', {}, ...group.keys.flatMap((k) => [el('dt', {}, el('kbd', {}, k.label)), el('dd', {}, k.what)])),
      ),
    );
    this.element.append(
      el('div', { class: 'help-head' }, el('h2', {}, 'Keys'), close),
      el('div', { class: 'help-groups' }, ...sections),
    );
    this.element.addEventListener('click', (e) => e.target === this.element && this.element.close());
  }

  toggle(): void {
    if (this.element.open) this.element.close();
    else this.element.showModal();
  }
}
