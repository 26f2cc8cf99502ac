// SPDX-License-Identifier: MIT
// Why a thread waited: what for, since when, and its whole stack.

import type { Recording } from '../data/recording.ts';
import type { Wait } from '../data/waits.ts';
import { duration, instant } from '../model/format.ts';
import { el, setText } from './dom.ts';

export class WaitPanel {
  readonly element: HTMLElement;
  private readonly heading = el('h3', {});
  private readonly facts = el('span', { class: 'facts' });
  private readonly stack = el('ol', { class: 'runs-stack' });
  private readonly flame: HTMLButtonElement;
  private wait: Wait | null = null;

  constructor(private readonly recording: Recording, onFlame: (wait: Wait) => void) {
    this.flame = el('button', { type: 'button', class: 'small', title: 'All waits on this stack', onclick: () => onFlame(this.wait!) }, 'In the flame graph');
    const close = el('button', { type: 'button', class: 'small', onclick: () => this.show(null) }, 'Close');
    this.element = el(
      'section', { class: 'runs-wait', 'aria-label': 'Wait', hidden: true },
      el('div', { class: 'runs-wait-head' }, this.heading, this.facts, el('div', { class: 'toggles' }, this.flame, close)), this.stack,
    );
  }

  show(wait: Wait | null, woken = ''): void {
    this.wait = wait;
    this.element.hidden = wait === null;
    if (!wait) return;
    const { recording } = this;
    const frames = wait.node > 0 ? recording.trie.stack(wait.node).reverse() : [];
    setText(this.heading, `Waited ${duration(wait.to - wait.from)} for ${wait.kind.what}`);
    setText(this.facts, [wait.kind.name, wait.call, `from ${instant(wait.from)}`, woken].filter(Boolean).join('  ·  '));
    this.flame.hidden = frames.length === 0 || !recording.events.some((e) => e.info.name === 'wait');
    this.stack.replaceChildren(...frames.map((f) => el('li', { class: recording.isManaged(f) ? null : 'native' }, recording.name(f))));
  }
}
