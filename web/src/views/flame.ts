// SPDX-License-Identifier: MIT
// The flame graph of the selection, the way to its focus, and how it is drawn.

import { ROOT } from '../data/trie.ts';
import { escapeRegex } from '../model/search.ts';
import type { State } from '../model/selection.ts';
import { nameParts } from '../model/names.ts';
import { amount, percent } from '../model/format.ts';
import { el, setPressed, setText, toggle } from '../ui/dom.ts';
import { FlameGraph } from '../ui/flamegraph.ts';
import type { Item } from '../ui/menu.ts';
import type { Key, Page } from '../ui/page.ts';
import type { View } from './view.ts';

/** Of a long way to the focus, the last steps are shown. */
const LAST_CRUMBS = 3;

/** The way to a frame in a tree in which a method that calls itself is one frame. */
const folded = (stack: readonly number[]) => stack.filter((f, i) => f !== stack[i - 1]);

/** A search that means this one name. */
export const exactly = (name: string) => ({ search: `^${escapeRegex(name)}$`, regex: true });

export class FlameView implements View {
  readonly name = 'flame';
  readonly title = 'Flame graph';
  readonly element: HTMLElement;
  readonly keys: readonly Key[];
  private readonly graph: FlameGraph;
  private readonly crumbs = el('nav', { class: 'crumbs', 'aria-label': 'Way to the frame in focus' });
  private readonly focusShare = el('span', { class: 'focus-share' });
  private readonly reverse: HTMLButtonElement;
  private readonly collapse: HTMLButtonElement;
  private readonly byName: HTMLButtonElement;
  private readonly flames: HTMLButtonElement;

  constructor(private readonly page: Page) {
    const { store } = page;
    const flip = {
      reverse: () => store.set({ reverse: !store.state.reverse }),
      collapse: () => store.set({ collapse: !store.state.collapse }),
      order: () => store.set({ order: store.state.order === 'name' ? 'weight' : 'name' }),
      flames: () => store.set({ flames: !store.state.flames }),
    };
    this.reverse = toggle('Leaf first', 'What ran, and below it what called it', flip.reverse);
    this.collapse = toggle('Fold recursion', 'A method that calls itself is drawn once', flip.collapse);
    this.byName = toggle('By name', 'Order by name instead of heaviest first', flip.order);
    this.flames = toggle('Root below', 'Grow upward from the root', flip.flames);
    const toggles = el(
      'div', { class: 'toggles', role: 'group', 'aria-label': 'How it is drawn' },
      this.reverse, this.collapse, this.byName, this.flames,
    );
    const toolbar = el('div', { class: 'toolbar' }, this.crumbs, this.focusShare, toggles);
    this.graph = new FlameGraph(page, {
      label: 'Flame graph. Arrows walk, Enter zooms in, Backspace zooms out, question mark lists all keys.',
      reversed: () => store.state.reverse,
      onFocus: (node) => store.set({ focus: this.tree().path(node) }),
      menu: (frame) => this.menu(frame),
    });
    this.element = el('div', { class: 'view' }, toolbar, this.graph.element);
    this.keys = [
      { keys: [], label: '↑ ↓ ← →', what: 'walk from frame to frame' },
      { keys: [], label: 'Enter', what: 'zoom in on the frame' },
      { keys: [], label: 'Backspace', what: 'zoom out by one frame' },
      { keys: ['Escape', '0'], label: 'Esc or 0', what: 'zoom out to everything', run: () => store.set({ focus: [] }) },
      { keys: [], label: 'Home', what: 'go to the root' },
      { keys: [], label: 'y', what: 'copy the name of the frame' },
      { keys: [], label: 'Shift F10', what: 'what else to do with the frame' },
      { keys: ['r'], label: 'r', what: 'leaf first: callers below what ran', run: flip.reverse },
      { keys: ['f'], label: 'f', what: 'fold recursion', run: flip.collapse },
      { keys: ['n'], label: 'n', what: 'order by name or heaviest first', run: flip.order },
      { keys: ['o'], label: 'o', what: 'root above or below', run: flip.flames },
    ];
  }

  private tree() {
    const { state } = this.page.store;
    return this.page.answers.tree(state, state.order);
  }

  private menu(frame: number): Item[] {
    const { store, recording, answers } = this.page;
    const name = recording.name(frame);
    const whole = { label: 'Zoom out to everything', key: 'Esc', run: () => store.set({ focus: [] }) };
    if (frame === recording.trie.frame[ROOT]) return [whole];
    return [
      whole,
      { label: 'Callers and callees', run: () => store.set({ view: 'methods', method: frame }) },
      { label: 'Find it everywhere', run: () => store.set({ ...exactly(name), only: false }) },
      {
        label: 'Zoom in where it is heaviest',
        run: () => store.set({ reverse: false, focus: answers.heaviestStack(store.state, frame) }),
      },
      { label: 'Copy name', key: 'y', run: () => this.page.copy(name) },
    ];
  }

  focus(): void {
    this.graph.focus();
  }

  render(state: State): void {
    const { answers } = this.page;
    const tree = this.tree();
    const { sum } = answers.weights(state);
    const { info, waiting, calls } = answers.rows(state);
    const focus = tree.find(state.collapse ? folded(state.focus) : state.focus);
    const matches = answers.matches(state)?.frames ?? null;
    this.graph.show({ tree, focus, sum, event: info, flames: state.flames, matches, waits: waiting !== null, calls: calls !== null });
    setPressed(this.reverse, state.reverse);
    setPressed(this.collapse, state.collapse);
    setPressed(this.byName, state.order === 'name');
    setPressed(this.flames, state.flames);
    this.showCrumbs(tree.path(focus));
    const total = tree.total(focus);
    setText(this.focusShare, focus === 0 ? amount(total, info) : `${amount(total, info)} · ${percent(total, sum)}`);
  }

  private showCrumbs(path: readonly number[]): void {
    const hidden = Math.max(0, path.length - LAST_CRUMBS);
    const parts: (HTMLElement | string)[] = [this.crumb('All', 'Everything', [], path.length === 0)];
    if (hidden > 0) parts.push(el('span', { class: 'crumb-gap' }, `${hidden} more`));
    path.slice(hidden).forEach((frame, i) => {
      const name = this.page.recording.name(frame);
      const end = hidden + i + 1;
      parts.push(this.crumb(nameParts(name).short, name, path.slice(0, end), end === path.length));
    });
    this.crumbs.replaceChildren(...parts);
  }

  private crumb(text: string, title: string, focus: readonly number[], current: boolean): HTMLElement {
    const onclick = () => this.page.store.set({ focus });
    const here = current ? 'location' : null;
    return el('button', { type: 'button', class: 'crumb', title, onclick, 'aria-current': here }, text);
  }
}
