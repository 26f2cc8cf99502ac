// SPDX-License-Identifier: MIT
// What can be done with one frame: a small menu at the pointer or the cursor.

import { el } from './dom.ts';

export interface Item {
  readonly label: string;
  readonly key?: string;
  run(): void;
}

export class Menu {
  readonly element = el('div', { class: 'menu', role: 'menu', hidden: true, tabindex: -1 });
  private before: Element | null = null;

  constructor() {
    this.element.addEventListener('keydown', (e) => this.onKey(e));
    this.element.addEventListener('focusout', (e) => {
      if (!this.element.contains(e.relatedTarget as Node | null)) this.element.hidden = true;
    });
  }

  open(items: readonly Item[], x: number, y: number): void {
    this.before = document.activeElement;
    this.element.replaceChildren(...items.map((item) => this.button(item)));
    this.element.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = this.element;
    this.element.style.left = `${Math.max(0, Math.min(x, innerWidth - w - 8))}px`;
    this.element.style.top = `${Math.max(0, Math.min(y, innerHeight - h - 8))}px`;
    this.buttons()[0]?.focus();
  }

  private button(item: Item): HTMLButtonElement {
    const onclick = () => {
      this.close();
      item.run();
    };
    const hint = item.key ? el('kbd', {}, item.key) : null;
    return el('button', { type: 'button', role: 'menuitem', tabindex: -1, onclick }, item.label, hint);
  }

  private buttons(): HTMLElement[] {
    return [...this.element.querySelectorAll('button')];
  }

  private close(): void {
    this.element.hidden = true;
    if (this.before instanceof HTMLElement) this.before.focus();
  }

  private onKey(event: KeyboardEvent): void {
    const buttons = this.buttons();
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    const to = (i: number) => buttons[(i + buttons.length) % buttons.length]?.focus();
    if (event.key === 'Escape' || event.key === 'Tab') this.close();
    else if (event.key === 'ArrowDown') to(at + 1);
    else if (event.key === 'ArrowUp') to(at - 1);
    else if (event.key === 'Home') to(0);
    else if (event.key === 'End') to(-1);
    else return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  }
}
