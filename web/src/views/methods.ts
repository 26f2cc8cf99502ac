// SPDX-License-Identifier: MIT
// The table of methods, and beside it callers and callees of the chosen one.

import type { Sums } from '../model/answers.ts';
import { KINDS } from '../model/kinds.ts';
import { amount, count, percent } from '../model/format.ts';
import { nameParts } from '../model/names.ts';
import type { State } from '../model/selection.ts';
import type { StackTree } from '../model/tree.ts';
import { breakable, el, setText } from '../ui/dom.ts';
import { FlameGraph } from '../ui/flamegraph.ts';
import type { Item } from '../ui/menu.ts';
import { Table, type Column } from '../ui/table.ts';
import { exactly } from './flame.ts';
import type { Key, Page, View } from './view.ts';

/** A flame graph of a tree of its own, with a zoom of its own. */
class Side {
  readonly graph: FlameGraph;
  private focus: readonly number[] = [];
  private tree: StackTree | null = null;
  private redraw = () => {};

  constructor(page: Page, label: string, reversed: boolean, menu: (frame: number) => Item[]) {
    this.graph = new FlameGraph(page, {
      label,
      reversed: () => reversed,
      onFocus: (node) => {
        this.focus = this.tree!.path(node);
        this.redraw();
      },
      menu,
    });
  }

  reset(): void {
    this.focus = [];
  }

  show(tree: StackTree, rest: Omit<Parameters<FlameGraph['show']>[0], 'tree' | 'focus'>): void {
    this.tree = tree;
    this.redraw = () => this.graph.show({ ...rest, tree, focus: tree.find(this.focus) });
    this.redraw();
  }
}

export class MethodsView implements View {
  readonly name = 'methods';
  readonly title = 'Methods';
  readonly element: HTMLElement;
  readonly keys: readonly Key[];
  private readonly table: Table;
  private readonly callers: Side;
  private readonly callees: Side;
  private readonly chosenName = el('h2', {});
  private readonly chosenFacts = el('p', { class: 'facts' });
  private readonly chosen: HTMLElement;
  private self: Float64Array = new Float64Array(0);
  private total: Float64Array = new Float64Array(0);
  private waiting: Sums | null = null;
  private sum = 1;
  private shown: number | null = null;

  constructor(private readonly page: Page) {
    this.table = new Table({
      label: 'Methods', columns: this.columns(), sort: 'self%', rowHeight: 26, compactBelow: 760,
      empty: 'No method in this selection.',
      choose: (frame) => page.store.set({ method: frame }),
      open: (frame) => this.openInFlame(frame),
      chosen: (frame) => page.store.state.method === frame,
      menu: (frame, x, y) => page.menu.open(this.menu(frame), x, y),
      activated: (frame) => this.announce(frame),
    });
    this.callers = new Side(page, 'Callers of the method', true, (frame) => this.menu(frame));
    this.callees = new Side(page, 'Callees of the method', false, (frame) => this.menu(frame));
    this.chosen = this.sandwich();
    const beside = el('section', { class: 'sandwich', 'aria-label': 'Callers and callees' }, this.chosen);
    this.element = el('div', { class: 'view methods' }, this.table.element, beside);
    this.keys = [
      { keys: [], label: '↑ ↓ PgUp PgDn', what: 'move in the table' },
      { keys: [], label: 'Enter', what: 'callers and callees of the method' },
      { keys: [], label: 'Shift Enter', what: 'the method in the flame graph' },
      { keys: [], label: 'Shift F10', what: 'what else to do with the method' },
      { keys: ['Escape'], label: 'Esc', what: 'close callers and callees', run: () => this.close() },
      { keys: ['y'], label: 'y', what: 'copy the name of the chosen method', run: () => this.copyChosen() },
    ];
  }

  private sandwich(): HTMLElement {
    const open = () => {
      const { method } = this.page.store.state;
      if (method !== null) this.openInFlame(method);
    };
    const actions = el(
      'div', { class: 'actions' },
      el('button', { type: 'button', class: 'small', onclick: open }, 'In the flame graph'),
      el('button', { type: 'button', class: 'small', onclick: () => this.copyChosen() }, 'Copy name'),
      el('button', { type: 'button', class: 'small', onclick: () => this.close() }, 'Close'),
    );
    return el(
      'div', { class: 'sandwich-inner', hidden: true },
      el('div', { class: 'sandwich-head' }, this.chosenName, this.chosenFacts, actions),
      el('h3', {}, 'Callers'), this.callers.graph.element,
      el('h3', {}, 'Callees'), this.callees.graph.element,
    );
  }

  private columns(): Column[] {
    const { recording } = this.page;
    const kind = (f: number) => recording.frameKind[f]!;
    const text = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
    return [
      ...this.countColumns('self', 'Self', () => this.self, () => this.waiting?.self),
      ...this.countColumns('total', 'Total', () => this.total, () => this.waiting?.total),
      {
        name: 'name', title: 'Method', width: 'minmax(160px, 1fr)',
        compare: (a, b) => recording.rank[a]! - recording.rank[b]!,
        text: (f) => nameParts(recording.name(f)).short,
        aside: (f) => nameParts(recording.name(f)).place,
        swatch: (f) => this.page.colors().kinds[kind(f)]!,
        hint: (f) => recording.name(f),
      },
      {
        name: 'module', title: 'Module', width: 'minmax(60px, 0.32fr)', minor: true,
        compare: (a, b) => text(recording.module(a), recording.module(b)),
        text: (f) => recording.module(f),
        hint: (f) => recording.module(f),
      },
      {
        name: 'kind', title: 'Kind', width: '86px', minor: true,
        compare: (a, b) => kind(a) - kind(b),
        text: (f) => KINDS[kind(f)]!.name,
      },
    ];
  }

  /** A count, and its share of the selection. */
  private countColumns(
    name: string, title: string, counts: () => Float64Array, waiting: () => Float64Array | undefined,
  ): Column[] {
    const compare = (a: number, b: number) => counts()[a]! - counts()[b]!;
    const part = (f: number) => counts()[f]! / this.sum;
    const hint = (f: number) => (waiting() ? `waited ${percent(waiting()![f]!, counts()[f]!)} of it` : '');
    return [
      { name, title, width: '76px', numeric: true, minor: true, compare, text: (f) => count(counts()[f]!) },
      {
        name: `${name}%`, title: `${title} %`, width: '84px', numeric: true, compare,
        text: (f) => percent(counts()[f]!, this.sum), bar: part, hint,
        hatched: (f) => (waiting()?.[f] ?? 0) / this.sum,
      },
    ];
  }

  private menu(frame: number): Item[] {
    const { store, recording } = this.page;
    const name = recording.name(frame);
    return [
      { label: 'Callers and callees', key: 'Enter', run: () => store.set({ method: frame }) },
      { label: 'In the flame graph', key: 'Shift Enter', run: () => this.openInFlame(frame) },
      { label: 'Find it everywhere', run: () => store.set({ ...exactly(name), only: false }) },
      { label: 'Copy name', key: 'y', run: () => this.page.copy(name) },
    ];
  }

  private close(): void {
    this.page.store.set({ method: null });
  }

  private copyChosen(): void {
    const { method } = this.page.store.state;
    if (method !== null) this.page.copy(this.page.recording.name(method));
  }

  /** Where the method is heaviest, with all its places brought out. */
  private openInFlame(frame: number): void {
    const { store, answers, recording } = this.page;
    const focus = answers.heaviestStack(store.state, frame);
    store.set({ view: 'flame', reverse: false, focus, ...exactly(recording.name(frame)), only: false });
  }

  private announce(frame: number): void {
    const { recording, announcer } = this.page;
    const shares = `self ${percent(this.self[frame]!, this.sum)}, total ${percent(this.total[frame]!, this.sum)}`;
    const waited = this.waiting && `, waited ${percent(this.waiting.total[frame]!, this.total[frame]!)} of it`;
    announcer.say(`${recording.name(frame)}, ${shares}${waited ?? ''}`);
  }

  focus(): void {
    this.table.focus();
  }

  render(state: State): void {
    const { answers } = this.page;
    const { self, total, waiting } = answers.methods(state);
    const matches = answers.matches(state);
    this.self = self;
    this.total = total;
    this.waiting = waiting;
    this.sum = Math.max(1, answers.weights(state).sum);
    const rows: number[] = [];
    for (let f = 1; f < total.length; f++)
      if (total[f]! > 0 && (!matches || matches.frames[f] === 1)) rows.push(f);
    this.table.show(rows);
    this.showChosen(state);
  }

  private showChosen(state: State): void {
    const { answers, recording } = this.page;
    const method = state.method;
    this.chosen.hidden = method === null;
    this.element.classList.toggle('with-sandwich', method !== null);
    if (method === null) return;
    const { info } = answers.rows(state);
    const [self, total] = [this.self[method]!, this.total[method]!];
    this.chosenName.title = recording.name(method);
    this.chosenName.replaceChildren(...breakable(recording.name(method)));
    const facts = [
      recording.module(method),
      KINDS[recording.frameKind[method]!]!.name,
      `self ${amount(self, info)} (${percent(self, this.sum)})`,
      `total ${amount(total, info)} (${percent(total, this.sum)})`,
      this.waiting && `waited ${percent(this.waiting.total[method]!, total)} of it`,
    ];
    setText(this.chosenFacts, facts.filter(Boolean).join('  ·  '));
    if (method !== this.shown) {
      this.callers.reset();
      this.callees.reset();
      this.shown = method;
    }
    const rest = { sum: this.sum, event: info, matches: null, waits: this.waiting !== null };
    this.callers.show(answers.callersOf(state, method, state.order), { ...rest, flames: true });
    this.callees.show(answers.calleesOf(state, method, state.order), { ...rest, flames: false });
  }
}
