// SPDX-License-Identifier: MIT
// The table of methods, and beside it callers and callees of the chosen one.

import type { MethodCalls } from '../model/answers.ts';
import type { Sums } from '../model/wanted.ts';
import { KINDS } from '../model/kinds.ts';
import { amount, callCount, count, duration, figure, mean, percent } from '../model/format.ts';
import { nameParts } from '../model/names.ts';
import type { State } from '../model/selection.ts';
import type { StackTree } from '../model/tree.ts';
import { breakable, el, setText } from '../ui/dom.ts';
import { DurationBars } from '../ui/durations.ts';
import { FlameGraph } from '../ui/flamegraph.ts';
import type { Item } from '../ui/menu.ts';
import type { Key, Page } from '../ui/page.ts';
import { Table, type Column } from '../ui/table.ts';
import { exactly } from './flame.ts';
import type { View } from './view.ts';

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
  private calls: MethodCalls | null = null;
  private sum = 1;
  private readonly bars: DurationBars;
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
    this.bars = new DurationBars(page);
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
      this.bars.element,
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
      ...this.callColumns(),
      {
        name: 'name', title: 'Method', width: 'minmax(160px, 1fr)',
        compare: (a, b) => recording.rank[a]! - recording.rank[b]!,
        text: (f) => nameParts(recording.name(f)).short,
        aside: (f) => nameParts(recording.name(f)).place,
        swatch: (f) => this.page.colors().kinds[kind(f)]!,
        hint: (f) => recording.name(f),
      },
      {
        name: 'module', title: 'Module', width: 'minmax(60px, 0.32fr)', minor: true, when: () => this.calls === null,
        compare: (a, b) => text(recording.module(a), recording.module(b)),
        text: (f) => recording.module(f),
        hint: (f) => recording.module(f),
      },
      {
        name: 'kind', title: 'Kind', width: '86px', minor: true, when: () => this.calls === null,
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
      { name, title, width: '76px', numeric: true, minor: true, compare, text: (f) => figure(counts()[f]!, this.event()) },
      {
        name: `${name}%`, title: `${title} %`, width: '84px', numeric: true, compare,
        text: (f) => percent(counts()[f]!, this.sum), bar: part, hint,
        hatched: (f) => (waiting()?.[f] ?? 0) / this.sum,
      },
    ];
  }

  private event() {
    return this.page.answers.rows(this.page.store.state).info;
  }

  /** Calls, and how long they took. */
  private callColumns(): Column[] {
    const when = () => this.calls !== null;
    const timed = () => when() && this.event().calls?.depth !== 'tree';
    const by = (value: (f: number) => number) => (a: number, b: number) => value(a) - value(b);
    const calls = (f: number) => this.calls!.calls[f]!;
    const each = (f: number) => (calls(f) > 0 ? this.calls!.sum[f]! / calls(f) : 0);
    const span = (name: string, title: string, values: () => Float64Array): Column => ({
      name, title, width: '72px', numeric: true, minor: true, when: timed,
      compare: by((f) => values()[f]!),
      text: (f) => (this.calls!.longest[f]! > 0 ? duration(values()[f]!) : '–'),
      hint: () => `${title} call in the whole recording`,
    });
    return [
      { name: 'calls', title: 'Calls', width: '84px', numeric: true, when, compare: by(calls), text: (f) => count(calls(f)) },
      {
        name: 'mean', title: 'Mean', width: '72px', numeric: true, when, compare: by(each),
        text: (f) => mean(this.calls!.sum[f]!, calls(f), this.event()),
        hint: () => 'Mean time of a call, with all that it called',
      },
      span('shortest', 'Shortest', () => this.calls!.shortest),
      span('longest', 'Longest', () => this.calls!.longest),
    ];
  }

  private menu(frame: number): Item[] {
    const { store, recording } = this.page;
    const name = recording.name(frame);
    return [
      { label: 'Callers and callees', key: 'Enter', run: () => store.set({ method: frame }) },
      { label: 'In the flame graph', key: 'Shift Enter', run: () => this.openInFlame(frame) },
      ...(this.page.answers.single ? [{ label: 'Its calls in the flame chart', run: () => this.openInChart(frame) }] : []),
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

  private openInChart(frame: number): void {
    this.page.store.set({ view: 'chart', method: frame, ...exactly(this.page.recording.name(frame)), only: false });
  }

  private announce(frame: number): void {
    const { recording, announcer } = this.page;
    const shares = `self ${percent(this.self[frame]!, this.sum)}, total ${percent(this.total[frame]!, this.sum)}`;
    const waited = this.waiting && `, waited ${percent(this.waiting.total[frame]!, this.total[frame]!)} of it`;
    const called = this.calls && `, ${callCount(this.calls.calls[frame]!)}`;
    announcer.say(`${recording.name(frame)}, ${shares}${waited ?? ''}${called ?? ''}`);
  }

  focus(): void {
    this.table.focus();
  }

  render(state: State): void {
    const { answers } = this.page;
    const { self, total, waiting, calls } = answers.methods(state);
    const matches = answers.matches(state);
    this.self = self;
    this.total = total;
    this.waiting = waiting;
    this.calls = calls;
    this.sum = Math.max(1, answers.weights(state).sum);
    const rows: number[] = [];
    for (let f = 1; f < total.length; f++)
      if ((total[f]! > 0 || (calls && calls.calls[f]! > 0)) && (!matches || matches.frames[f] === 1)) rows.push(f);
    this.table.show(rows);
    this.showChosen(state);
  }

  private callsText(method: number, { calls, sum, longest, shortest }: MethodCalls): string {
    const times = longest[method]! > 0 ? `, from ${duration(shortest[method]!)} to ${duration(longest[method]!)}` : '';
    return `${callCount(calls[method]!)}, mean ${mean(sum[method]!, calls[method]!, this.event())}${times}`;
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
      this.calls && this.callsText(method, this.calls),
    ];
    this.bars.show(state, method);
    setText(this.chosenFacts, facts.filter(Boolean).join('  ·  '));
    if (method !== this.shown) {
      this.callers.reset();
      this.callees.reset();
      this.shown = method;
    }
    const rest = { sum: this.sum, event: info, matches: null, waits: this.waiting !== null, calls: this.calls !== null };
    this.callers.show(answers.callersOf(state, method, state.order), { ...rest, flames: true });
    this.callees.show(answers.calleesOf(state, method, state.order), { ...rest, flames: false });
  }
}
