// SPDX-License-Identifier: MIT
// What each thread got in a range of time: by its switches, and by the kernel's clock, which are never
// mixed.

import type { Runs } from '../data/runs.ts';
import type { Nanoseconds } from '../data/time.ts';
import type { Times, Track } from '../data/track.ts';
import { clocked, type Clocked } from '../model/clocks.ts';
import { count, duration, percent } from '../model/format.ts';
import { el, setText } from './dom.ts';
import { Table, type Column } from './table.ts';

interface Got {
  readonly track: Track;
  readonly times: Times;
  readonly clock: Clocked | null;
}

export interface RunTableOptions {
  name(thread: number): string;
  tid(thread: number): number;
  choose(thread: number): void;
  chosen(thread: number): boolean;
}

const compareText = (a: string, b: string) => a.localeCompare(b, undefined, { numeric: true });

/** A row is a thread. */
export class RunTable {
  readonly element: HTMLElement;
  private readonly table: Table;
  private readonly heading = el('h3', {});
  private readonly got = new Map<number, Got>();
  private length = 1;
  private most = 1;

  constructor(private readonly runs: Runs, private readonly options: RunTableOptions, actions: readonly HTMLElement[]) {
    this.table = new Table({
      label: 'What threads got in this time', columns: this.columns(), sort: this.exact ? 'ran' : 'cpu', rowHeight: 24, compactBelow: 780,
      empty: 'No thread was there in this time.',
      choose: (thread) => options.choose(thread),
      chosen: (thread) => options.chosen(thread),
    });
    this.element = el(
      'section', { class: 'runs-times', 'aria-label': 'Times of the range', hidden: true },
      el('div', { class: 'runs-times-head' }, this.heading, el('div', { class: 'toggles' }, ...actions)), this.table.element,
    );
  }

  /** Looks at clocks do not tell how long a thread ran. */
  private get exact(): boolean {
    return !this.runs.info.switches!.sampled;
  }

  private time(name: keyof Times & ('ran' | 'preempted' | 'blocked'), title: string, hint: string): Column {
    const of = (thread: number) => this.got.get(thread)!.times[name];
    return {
      name, title, width: '84px', numeric: true, when: () => this.exact,
      compare: (a, b) => of(a) - of(b),
      text: (thread) => duration(of(thread)),
      hint: (thread) => `${hint}: ${percent(of(thread), this.length)} of this time, by its switches`,
      ...(name === 'ran' && { bar: (thread: number) => of(thread) / this.most }),
    };
  }

  private clock(name: 'cpu' | 'ready', title: string, hint: string, minor: boolean): Column {
    const of = (thread: number) => this.got.get(thread)!.clock?.[name] ?? -1;
    return {
      name, title, width: '124px', numeric: true, minor,
      compare: (a, b) => of(a) - of(b),
      // Of less than the range, as a rule: clocks were read now and then.
      text: (thread) => (of(thread) < 0 ? '–' : `${duration(of(thread))} in ${duration(this.got.get(thread)!.clock!.length)}`),
      hint: (thread) => {
        const { clock } = this.got.get(thread)!;
        return clock ? `${hint}, in ${duration(clock.length)} between readings of the kernel's clock` : 'the clock was not read twice in this time';
      },
    };
  }

  private columns(): Column[] {
    const switches = (thread: number) => {
      const { voluntary, involuntary } = this.got.get(thread)!.times;
      return voluntary + involuntary;
    };
    const { name, tid } = this.options;
    return [
      { name: 'name', title: 'Thread', width: 'minmax(80px, 1fr)', compare: (a, b) => compareText(name(a), name(b)), text: name, hint: (thread) => `${name(thread)}, tid ${tid(thread)}` },
      { name: 'tid', title: 'TID', width: '64px', numeric: true, minor: true, compare: (a, b) => tid(a) - tid(b), text: (thread) => String(tid(thread)) },
      this.time('ran', 'On-CPU', 'had a processor'),
      this.time('preempted', 'Preempted', 'could have gone on, but had no processor'),
      this.time('blocked', 'Waiting', 'waited, then perhaps for a processor'),
      {
        name: 'switches', title: 'Switches', width: '72px', numeric: true, minor: true, when: () => this.exact,
        compare: (a, b) => switches(a) - switches(b),
        text: (thread) => count(switches(thread)),
        hint: (thread) => `${count(this.got.get(thread)!.times.voluntary)} times it waited, ${count(this.got.get(thread)!.times.involuntary)} times it was preempted`,
      },
      this.clock('cpu', 'Clock: CPU', 'CPU time', false),
      this.clock('ready', 'Clock: ready', 'could have run, but had no processor', true),
    ];
  }

  show(range: Nanoseconds | null, tracks: readonly Track[]): void {
    this.element.hidden = range === null;
    if (!range) return;
    this.got.clear();
    this.length = range.to - range.from;
    for (const track of tracks)
      if (track.life.to > range.from && track.life.from < range.to)
        this.got.set(track.id, { track, times: track.times(range), clock: clocked(this.runs.clocks.get(track.id), range) });
    const sum = [...this.got.values()].reduce((all, g) => all + g.times.ran, 0);
    this.most = [...this.got.values()].reduce((most, g) => Math.max(most, g.times.ran), 1);
    const together = this.exact ? `: on-CPU ${duration(sum)} together, ${(sum / this.length).toFixed(2)} processors busy` : '';
    setText(this.heading, `${duration(this.length)}${together}`);
    this.table.show([...this.got.keys()]);
  }
}
