// SPDX-License-Identifier: MIT
// The list of threads: which ones the views count.

import type { ThreadInfo } from '../data/meta.ts';
import { count, duration, percent } from '../model/format.ts';
import type { State } from '../model/selection.ts';
import type { Page } from '../views/view.ts';
import { el, setText } from './dom.ts';
import { Table, type Column } from './table.ts';

const compareText = (a: string, b: string) => a.localeCompare(b, undefined, { numeric: true });

export class Threads {
  readonly element: HTMLElement;
  private readonly table: Table;
  private readonly filter: HTMLInputElement;
  private readonly all: HTMLButtonElement;
  private readonly heading = el('h2', {}, 'Threads');
  private readonly threads: readonly ThreadInfo[];
  private weights: Float64Array = new Float64Array(0);
  private heaviest = 1;
  private sum = 0;
  private state: State;

  constructor(private readonly page: Page) {
    this.state = page.store.state;
    this.threads = page.recording.meta.threads;
    this.filter = el('input', {
      type: 'search', placeholder: 'Filter threads', 'aria-label': 'Filter threads', spellcheck: 'false',
      oninput: () => this.fill(),
    });
    this.all = el('button', { type: 'button', class: 'small', onclick: () => this.choose(null) }, 'All');
    this.table = new Table({
      label: 'Threads', columns: this.columns(), sort: 'samples', rowHeight: 26, compactBelow: 300, multiple: true,
      empty: 'No thread of this name.',
      choose: (row, event) => this.onChoose(row, event),
      chosen: (row) => this.state.threads?.includes(row) ?? false,
    });
    this.element = el(
      'aside', { class: 'threads', 'aria-label': 'Threads' },
      el('div', { class: 'threads-head' }, this.heading, this.all), this.filter, this.table.element,
    );
  }

  private name(t: number): string {
    const { name, tid, process } = this.threads[t]!;
    const { processes } = this.page.recording.meta;
    const own = name || `thread ${tid}`;
    return processes.length > 1 ? `${own} · ${processes[process]?.name ?? process}` : own;
  }

  private columns(): Column[] {
    const { threads } = this;
    return [
      {
        name: 'name', title: 'Name', width: 'minmax(60px, 1fr)',
        compare: (a, b) => compareText(this.name(a), this.name(b)),
        text: (t) => this.name(t),
        hint: (t) => `${this.name(t)}, tid ${threads[t]!.tid}`,
      },
      {
        name: 'tid', title: 'TID', width: '52px', numeric: true, minor: true,
        compare: (a, b) => threads[a]!.tid - threads[b]!.tid,
        text: (t) => String(threads[t]!.tid),
      },
      {
        name: 'samples', title: 'Samples', width: '72px', numeric: true,
        compare: (a, b) => (this.weights[a] ?? 0) - (this.weights[b] ?? 0),
        text: (t) => count(this.weights[t] ?? 0),
        bar: (t) => (this.weights[t] ?? 0) / this.heaviest,
        hint: (t) => `${percent(this.weights[t] ?? 0, this.sum)} of the samples in this time`,
      },
      {
        name: 'cpu', title: 'CPU', width: '60px', numeric: true,
        compare: (a, b) => threads[a]!.cpu_ns - threads[b]!.cpu_ns,
        text: (t) => (threads[t]!.cpu_ns > 0 ? duration(threads[t]!.cpu_ns) : '–'),
        hint: () => 'CPU time in the whole recording',
      },
    ];
  }

  render(state: State): void {
    this.state = state;
    this.weights = this.page.answers.weights(state).byThread;
    this.heaviest = this.weights.reduce((most, w) => Math.max(most, w), 1);
    this.sum = this.weights.reduce((a, b) => a + b, 0);
    const all = count(this.threads.length);
    setText(this.heading, state.threads ? `${count(state.threads.length)} of ${all} threads` : `Threads (${all})`);
    this.all.hidden = state.threads === null;
    this.fill();
  }

  private fill(): void {
    const wanted = this.filter.value.toLowerCase();
    const rows: number[] = [];
    for (let t = 0; t < this.threads.length; t++)
      if (`${this.name(t)} ${this.threads[t]!.tid}`.toLowerCase().includes(wanted)) rows.push(t);
    this.table.show(rows);
  }

  focus(): void {
    this.table.focus();
  }

  private choose(threads: readonly number[] | null): void {
    const sorted = threads && [...new Set(threads)].sort((a, b) => a - b);
    this.page.store.set({ threads: sorted && sorted.length > 0 ? sorted : null });
  }

  /** A click chooses one thread, or none if it was the only one; Ctrl and the space bar add and remove. */
  private onChoose(row: number, event: MouseEvent | KeyboardEvent): void {
    const now = this.state.threads ?? [];
    const space = event instanceof KeyboardEvent && event.key === ' ';
    const adds = space || event.ctrlKey || event.metaKey || event.shiftKey;
    if (adds) this.choose(now.includes(row) ? now.filter((t) => t !== row) : [...now, row]);
    else this.choose(now.length === 1 && now[0] === row ? null : [row]);
  }
}
