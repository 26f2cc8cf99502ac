// SPDX-License-Identifier: MIT
// The list of threads: which ones the views count. Many that are alike are one row, which opens.

import type { ThreadInfo } from '../data/meta.ts';
import { isTold } from '../data/recording.ts';
import { clocked } from '../model/clocks.ts';
import { count, duration, isBytes, isTime, percent, statedTime } from '../model/format.ts';
import { findPools, type Pool } from '../model/pools.ts';
import type { State } from '../model/selection.ts';
import { el, setText } from './dom.ts';
import type { Page } from './page.ts';
import { Table, type Column } from './table.ts';

const compareText = (a: string, b: string) => a.localeCompare(b, undefined, { numeric: true });

interface Sums {
  readonly all: Float64Array;
  readonly waiting: Float64Array;
  readonly cpu_ns: Float64Array;
  readonly calls: Float64Array;
  /** Nanoseconds that they had a processor. */
  readonly ran: Float64Array;
}

/** A row is a thread's index or, behind all of those, a pool's. */
export class Threads {
  readonly element: HTMLElement;
  private readonly table: Table;
  private readonly filter: HTMLInputElement;
  private readonly all: HTMLButtonElement;
  private readonly heading = el('h2', {}, 'Threads');
  private readonly threads: readonly ThreadInfo[];
  private readonly pools: readonly Pool[];
  /** The row of the pool that a thread is in, or its own. */
  private readonly above: Int32Array;
  private readonly open = new Set<number>();
  private sums: Sums;
  private heaviest = 1;
  private sum = 0;
  private state: State;

  constructor(private readonly page: Page) {
    this.state = page.store.state;
    this.threads = page.recording.meta.threads;
    this.pools = findPools(this.threads);
    this.above = Int32Array.from({ length: this.threads.length + this.pools.length }, (_, row) => row);
    this.pools.forEach((p, i) => p.members.forEach((t) => (this.above[t] = this.threads.length + i)));
    this.sums = this.sumUp(null, null, null, null);
    this.filter = el('input', {
      type: 'search', placeholder: 'Filter threads', 'aria-label': 'Filter threads', spellcheck: 'false',
      oninput: () => this.fill(),
    });
    this.all = el('button', { type: 'button', class: 'small', onclick: () => this.choose(null) }, 'All');
    this.table = new Table({
      label: 'Threads', columns: this.columns(), sort: page.recording.stacks ? 'samples' : this.onCpu() ? 'ran' : 'cpu', rowHeight: 26, compactBelow: 300, multiple: true,
      empty: 'No thread of this name.',
      choose: (row, event) => this.onChoose(row, event),
      chosen: (row) => this.members(row).every((t) => this.state.threads?.includes(t) ?? false),
      parent: (row) => (this.listed() ? row : this.above[row]!),
      expanded: (row) => (this.pool(row) ? this.open.has(row) : null),
      expand: (row, open) => this.expand(row, open),
    });
    this.element = el(
      'aside', { class: 'threads', 'aria-label': 'Threads' },
      el('div', { class: 'threads-head' }, this.heading, this.all), this.filter, this.table.element,
    );
  }

  private pool(row: number): Pool | undefined {
    return this.pools[row - this.threads.length];
  }

  private members(row: number): readonly number[] {
    return this.pool(row)?.members ?? [row];
  }

  /** A filter finds threads, not pools. */
  private listed(): boolean {
    return this.filter.value !== '';
  }

  private expand(row: number, open: boolean): void {
    if (open) this.open.add(row);
    else this.open.delete(row);
    this.fill();
  }

  private name(row: number): string {
    const { processes } = this.page.recording.meta;
    const pool = this.pool(row);
    const { name, process } = pool ?? this.threads[row]!;
    const own = name.trim() ? name : (pool ? '(no name)' : `thread ${this.threads[row]!.tid}`);
    return processes.length > 1 ? `${own} · ${processes[process]?.name ?? process}` : own;
  }

  /** How many threads a pool has. */
  private size(row: number): string {
    const pool = this.pool(row);
    return pool ? `×${count(pool.members.length)}` : '';
  }

  private tid(row: number): number {
    return this.threads[this.members(row)[0]!]!.tid;
  }

  private knowsWaiting(): boolean {
    return this.page.answers.rows(this.state).waiting !== null;
  }

  private counts(): boolean {
    return this.page.answers.rows(this.state).calls !== null;
  }

  /** Whether there are no samples, but switches, which tell how long each thread had a processor. */
  private onCpu(): boolean {
    const { recording } = this.page;
    return !recording.stacks && recording.runs !== null && !recording.runs.info.switches!.sampled;
  }

  private ran(row: number): number {
    return this.sums.all[row]! - this.sums.waiting[row]!;
  }

  private stated(n: number): string {
    return statedTime(n, this.page.answers.rows(this.state).info);
  }

  private columns(): Column[] {
    const waits = () => this.knowsWaiting();
    const called = () => this.counts();
    const counted = () => this.page.recording.stacks && !isTold(this.page.answers.rows(this.state).info);
    const timed = () => counted() && !this.knowsWaiting() && isTime(this.page.answers.rows(this.state).info);
    const sized = () => counted() && isBytes(this.page.answers.rows(this.state).info);
    const samples = () => counted() && !this.knowsWaiting() && !timed() && !sized();
    const plain = () => !this.knowsWaiting() && !this.counts();
    const inTime = () => isTime(this.page.answers.rows(this.state).info);
    const what = () => (inTime() ? 'what all threads took in this time' : sized() ? 'all bytes in this time' : 'the samples in this time');
    const of = (n: number) => `${percent(n, this.sum)} of ${this.counts() ? 'all calls' : what()}`;
    const compare = (a: number, b: number) => this.sums.all[a]! - this.sums.all[b]!;
    const bar = (row: number) => this.sums.all[row]! / this.heaviest;
    return [
      {
        name: 'name', title: 'Name', width: 'minmax(60px, 1fr)', fold: true,
        compare: (a, b) => compareText(this.name(a), this.name(b)),
        text: (row) => this.name(row),
        aside: (row) => this.size(row),
        hint: (row) => (this.pool(row) ? `${this.name(row)} ${this.size(row)}` : `${this.name(row)}, tid ${this.tid(row)}`),
      },
      {
        name: 'tid', title: 'TID', width: '52px', numeric: true, minor: true, when: plain,
        compare: (a, b) => this.tid(a) - this.tid(b),
        text: (row) => (this.pool(row) ? '' : String(this.tid(row))),
      },
      {
        name: 'samples', title: 'Samples', width: '72px', numeric: true, when: samples, compare, bar,
        text: (row) => count(this.sums.all[row]!),
        hint: (row) => of(this.sums.all[row]!),
      },
      {
        name: 'ran', title: 'On-CPU', width: '72px', numeric: true, when: () => this.onCpu(),
        compare: (a, b) => this.sums.ran[a]! - this.sums.ran[b]!,
        bar: (row) => this.sums.ran[row]! / this.heaviest,
        text: (row) => duration(this.sums.ran[row]!),
        hint: () => 'had a processor in this time, by its switches',
      },
      {
        name: 'time', title: 'Time', width: '76px', numeric: true, when: timed, compare, bar,
        text: (row) => this.stated(this.sums.all[row]!),
        hint: (row) => `${percent(this.sums.all[row]!, this.sum)} of that of all threads`,
      },
      {
        name: 'bytes', title: 'Bytes', width: '76px', numeric: true, when: sized, compare, bar,
        text: (row) => this.stated(this.sums.all[row]!),
        hint: (row) => `${percent(this.sums.all[row]!, this.sum)} of those of all threads`,
      },
      {
        name: 'calls', title: 'Calls', width: '86px', numeric: true, minor: true, when: called,
        compare: (a, b) => this.sums.calls[a]! - this.sums.calls[b]!,
        text: (row) => count(this.sums.calls[row]!),
      },
      {
        name: 'cpu', title: 'CPU', width: '60px', numeric: true, when: plain,
        compare: (a, b) => this.sums.cpu_ns[a]! - this.sums.cpu_ns[b]!,
        text: (row) => (this.sums.cpu_ns[row]! > 0 ? duration(this.sums.cpu_ns[row]!) : '–'),
        hint: () => 'CPU time in the whole recording',
      },
      {
        name: 'running', title: 'Running', width: '76px', numeric: true, when: waits,
        compare: (a, b) => this.ran(a) - this.ran(b),
        text: (row) => this.stated(this.ran(row)),
        bar: (row) => this.ran(row) / this.sums.all[row]!,
        hint: (row) => `ran ${percent(this.ran(row), this.sums.all[row]!)} of its time; ${of(this.ran(row))}`,
      },
      {
        name: 'waiting', title: 'Waiting', width: '76px', numeric: true, minor: true, when: waits,
        compare: (a, b) => this.sums.waiting[a]! - this.sums.waiting[b]!,
        text: (row) => this.stated(this.sums.waiting[row]!),
        bar: (row) => this.sums.waiting[row]! / this.sums.all[row]!,
        hatched: (row) => this.sums.waiting[row]! / this.sums.all[row]!,
        hint: (row) => `waited ${percent(this.sums.waiting[row]!, this.sums.all[row]!)} of its time`,
      },
    ];
  }

  /** Of each thread, then of each pool. */
  private sumUp(all: Float64Array | null, waiting: Float64Array | null, calls: Float64Array | null, ran: Float64Array | null): Sums {
    const column = (value: (t: number) => number) => {
      const sums = new Float64Array(this.above.length);
      for (let t = 0; t < this.threads.length; t++) {
        sums[t] = value(t);
        if (this.above[t] !== t) sums[this.above[t]!]! += value(t);
      }
      return sums;
    };
    return {
      all: column((t) => all?.[t] ?? 0),
      waiting: column((t) => waiting?.[t] ?? 0),
      calls: column((t) => calls?.[t] ?? 0),
      ran: column((t) => ran?.[t] ?? 0),
      cpu_ns: column((t) => this.threads[t]!.cpu_ns || this.byClock(t)),
    };
  }

  /** What the kernel's clock of a thread says of the whole recording. */
  private byClock(thread: number): number {
    return clocked(this.page.recording.runs?.clocks.get(thread), { from: 0, to: Infinity })?.cpu ?? 0;
  }

  private ranByThread({ time }: State): Float64Array {
    const { meta, runs } = this.page.recording;
    const range = time && { from: time.from * meta.time_unit_ns, to: time.to * meta.time_unit_ns };
    const ran = new Float64Array(this.threads.length);
    for (const track of runs!.tracks) ran[track.id] = range ? track.ranIn(range) : track.total;
    return ran;
  }

  render(state: State): void {
    this.state = state;
    const { byThread, waitingByThread, calls } = this.page.answers.weights(state);
    const ran = this.onCpu() ? this.ranByThread(state) : null;
    this.sums = this.sumUp(byThread, waitingByThread, calls?.byThread ?? null, ran);
    this.heaviest = (ran ? this.sums.ran : this.sums.all).reduce((most, w) => Math.max(most, w), 1);
    this.sum = byThread.reduce((a, b) => a + b, 0);
    const all = count(this.threads.length);
    setText(this.heading, state.threads ? `${count(state.threads.length)} of ${all} threads` : `Threads (${all})`);
    this.all.hidden = state.threads === null;
    this.fill();
  }

  private fill(): void {
    const wanted = this.filter.value.toLowerCase();
    const found = (t: number) => `${this.name(t)} ${this.threads[t]!.tid}`.toLowerCase().includes(wanted);
    const rows: number[] = [];
    for (let t = 0; t < this.threads.length; t++) {
      const above = this.above[t]!;
      if (this.listed() ? found(t) : above === t || this.open.has(above)) rows.push(t);
    }
    if (!this.listed()) for (let p = 0; p < this.pools.length; p++) rows.push(this.threads.length + p);
    this.table.show(rows);
  }

  focus(): void {
    this.table.focus();
  }

  private choose(threads: readonly number[] | null): void {
    const sorted = threads && [...new Set(threads)].sort((a, b) => a - b);
    this.page.store.set({ threads: sorted && sorted.length > 0 ? sorted : null });
  }

  /** A click chooses one row, or none if it was the only one; Ctrl and the space bar add and remove. */
  private onChoose(row: number, event: MouseEvent | KeyboardEvent): void {
    const now = this.state.threads ?? [];
    const these = this.members(row);
    const chosen = these.every((t) => now.includes(t));
    const space = event instanceof KeyboardEvent && event.key === ' ';
    const adds = space || event.ctrlKey || event.metaKey || event.shiftKey;
    if (adds) this.choose(chosen ? now.filter((t) => !these.includes(t)) : [...now, ...these]);
    else this.choose(chosen && now.length === these.length ? null : these);
  }
}
