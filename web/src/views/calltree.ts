// SPDX-License-Identifier: MIT
// The tree of calls as a table: from the threads' starts, each method below what called it, with its
// time or samples and, where they are counted, its calls.

import { amount, callCount, count, figure, mean, percent } from '../model/format.ts';
import { nameParts } from '../model/names.ts';
import type { State } from '../model/selection.ts';
import type { StackTree } from '../model/tree.ts';
import { el, setPressed, toggle } from '../ui/dom.ts';
import type { Item } from '../ui/menu.ts';
import type { Key, Page } from '../ui/page.ts';
import { Table, type Column } from '../ui/table.ts';
import { exactly } from './flame.ts';
import type { View } from './view.ts';

/** Which nodes are open, by the frames on the way to them: another tree has other nodes. */
class Open {
  readonly children = new Map<number, Open>();

  get(path: readonly number[]): Open | undefined {
    let open: Open | undefined = this;
    for (const frame of path) open = open?.children.get(frame);
    return open;
  }

  set(path: readonly number[], on: boolean): void {
    let open: Open = this;
    for (const frame of path.slice(0, -1)) open = open.children.get(frame) ?? open;
    const last = path[path.length - 1]!;
    if (on) open.children.set(last, open.children.get(last) ?? new Open());
    else open.children.delete(last);
  }
}

/** The way is opened on as long as a callee has at least this part of its caller. */
const HEAVY = 0.5;
const OPENED_AT_ONCE = 60;

export class CallTreeView implements View {
  readonly name = 'tree';
  readonly title = 'Call tree';
  readonly element: HTMLElement;
  readonly keys: readonly Key[];
  private readonly table: Table;
  private readonly reverse: HTMLButtonElement;
  private readonly collapse: HTMLButtonElement;
  private open = new Open();
  private turned: boolean | null = null;
  private tree!: StackTree;
  private sum = 1;
  private counted = false;

  constructor(private readonly page: Page) {
    const { store } = page;
    this.table = new Table({
      label: 'Call tree', columns: this.columns(), sort: 'total%', rowHeight: 24, compactBelow: 620,
      empty: 'Nothing in this selection.',
      choose: (node) => store.set({ method: this.tree.frame(node), focus: this.tree.path(node) }),
      open: (node) => store.set({ view: 'flame', focus: this.tree.path(node) }),
      chosen: (node) => store.state.method === this.tree.frame(node),
      parent: (node) => (this.tree.parent(node) <= 0 ? node : this.tree.parent(node)),
      expanded: (node) => (this.tree.childCount(node) === 0 ? null : this.isOpen(node)),
      expand: (node, open) => this.expand(node, open),
      menu: (node, x, y) => page.menu.open(this.menu(node), x, y),
      activated: (node) => this.announce(node),
    });
    const flip = {
      reverse: () => store.set({ reverse: !store.state.reverse }),
      collapse: () => store.set({ collapse: !store.state.collapse }),
      heavy: () => this.openHeavy(),
    };
    this.reverse = toggle('Leaf first', 'What ran, and below it what called it', flip.reverse);
    this.collapse = toggle('Fold recursion', 'A method that calls itself is one row', flip.collapse);
    const button = (label: string, title: string, onclick: () => void) =>
      el('button', { type: 'button', class: 'small', title, onclick }, label);
    const toolbar = el(
      'div', { class: 'toolbar' },
      button('Open the heaviest', 'Open the way along the heaviest calls', flip.heavy),
      button('Close all', 'Close all rows', () => this.closeAll()),
      el('div', { class: 'toggles', role: 'group', 'aria-label': 'Which tree' }, this.reverse, this.collapse),
    );
    this.element = el('div', { class: 'view calltree' }, toolbar, this.table.element);
    this.keys = [
      { keys: [], label: '↑ ↓ PgUp PgDn', what: 'move in the tree' },
      { keys: [], label: '→ ←', what: 'open and close a row; ← goes to the caller' },
      { keys: [], label: 'Enter', what: 'choose the method, in all views' },
      { keys: [], label: 'Shift Enter', what: 'the row in the flame graph' },
      { keys: ['h'], label: 'h', what: 'open the way along the heaviest calls', run: flip.heavy },
      { keys: ['r'], label: 'r', what: 'leaf first: callers below what ran', run: flip.reverse },
      { keys: ['f'], label: 'f', what: 'fold recursion', run: flip.collapse },
    ];
  }

  private event() {
    return this.page.answers.rows(this.page.store.state).info;
  }

  private columns(): Column[] {
    const { recording } = this.page;
    const total = (n: number) => this.tree.total(n);
    const self = (n: number) => this.tree.self(n);
    const by = (value: (n: number) => number) => (a: number, b: number) => value(a) - value(b);
    const when = () => this.counted;
    // Of a tree that begins with the leaves these would be of the thread's start, and of who is called.
    const downwards = () => !this.page.store.state.reverse;
    const each = (n: number) => (this.tree.beside(n) > 0 ? total(n) / this.tree.beside(n) : 0);
    return [
      {
        name: 'name', title: 'Method', width: 'minmax(200px, 1fr)', fold: true,
        compare: (a, b) => recording.rank[this.tree.frame(a)]! - recording.rank[this.tree.frame(b)]!,
        text: (n) => nameParts(recording.name(this.tree.frame(n))).short,
        aside: (n) => nameParts(recording.name(this.tree.frame(n))).place,
        swatch: (n) => this.page.colors().kinds[recording.frameKind[this.tree.frame(n)]!]!,
        hint: (n) => recording.name(this.tree.frame(n)),
      },
      {
        name: 'total%', title: 'Total %', width: '84px', numeric: true, compare: by(total),
        text: (n) => percent(total(n), this.sum), bar: (n) => total(n) / this.sum,
      },
      { name: 'total', title: 'Total', width: '80px', numeric: true, compare: by(total), text: (n) => figure(total(n), this.event()) },
      { name: 'self', title: 'Self', width: '80px', numeric: true, minor: true, when: downwards, compare: by(self), text: (n) => figure(self(n), this.event()) },
      {
        name: 'calls', title: 'Calls', width: '90px', numeric: true, when,
        compare: by((n) => this.tree.beside(n)), text: (n) => count(this.tree.beside(n)),
      },
      {
        name: 'mean', title: 'Mean', width: '76px', numeric: true, when: () => this.counted && downwards(), compare: by(each),
        text: (n) => mean(total(n), this.tree.beside(n), this.event()),
        hint: () => 'Mean time of a call, with all that it called',
      },
    ];
  }

  private menu(node: number): Item[] {
    const { store, recording } = this.page;
    const frame = this.tree.frame(node);
    const name = recording.name(frame);
    return [
      { label: 'Callers and callees', run: () => store.set({ view: 'methods', method: frame }) },
      { label: 'In the flame graph', key: 'Shift Enter', run: () => store.set({ view: 'flame', focus: this.tree.path(node) }) },
      { label: 'Find it everywhere', run: () => store.set({ ...exactly(name), only: false }) },
      { label: 'Copy name', run: () => this.page.copy(name) },
    ];
  }

  private announce(node: number): void {
    const { recording, announcer } = this.page;
    const total = this.tree.total(node);
    const calls = this.counted ? `, ${callCount(this.tree.beside(node))}` : '';
    announcer.say(`${recording.name(this.tree.frame(node))}, total ${amount(total, this.event())}, ${percent(total, this.sum)}${calls}`);
  }

  private isOpen(node: number): boolean {
    return this.open.get(this.tree.path(node)) !== undefined;
  }

  private expand(node: number, open: boolean): void {
    this.open.set(this.tree.path(node), open);
    this.fill();
  }

  private closeAll(): void {
    this.open = new Open();
    this.fill();
  }

  private heaviestChild(node: number): number {
    const count = this.tree.childCount(node);
    const first = this.tree.firstChild(node);
    let best = -1;
    for (let c = first; c < first + count; c++) if (best < 0 || this.tree.total(c) > this.tree.total(best)) best = c;
    return best;
  }

  /** Opens rows from the root on, as long as one callee stands out. */
  private openHeavy(all = true): void {
    let node = this.heaviestChild(0);
    for (let i = 0; node > 0 && i < OPENED_AT_ONCE; i++) {
      if (this.tree.childCount(node) === 0) break;
      this.open.set(this.tree.path(node), true);
      const next = this.heaviestChild(node);
      if (!all && this.tree.total(next) < HEAVY * this.tree.total(node)) break;
      node = next;
    }
    this.fill();
  }

  focus(): void {
    this.table.focus();
  }

  render(state: State): void {
    const { answers } = this.page;
    this.tree = answers.tree(state, state.order);
    this.sum = Math.max(Number.MIN_VALUE, answers.weights(state).sum);
    this.counted = answers.rows(state).calls !== null;
    setPressed(this.reverse, state.reverse);
    setPressed(this.collapse, state.collapse);
    if (this.turned !== state.reverse) {
      this.turned = state.reverse;
      this.open = new Open();
      this.openHeavy(false);
    } else this.fill();
  }

  private fill(): void {
    const rows: number[] = [];
    const matches = this.page.answers.matches(this.page.store.state);
    const visit = (node: number, open: Open) => {
      const count = this.tree.childCount(node);
      const first = this.tree.firstChild(node);
      for (let c = first; c < first + count; c++) {
        rows.push(c);
        const below = open.children.get(this.tree.frame(c));
        if (below) visit(c, below);
      }
    };
    visit(0, this.open);
    this.table.show(rows, (node) => matches !== null && matches.frames[this.tree.frame(node)] === 0);
  }
}
