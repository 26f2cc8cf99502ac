// SPDX-License-Identifier: MIT
// Which rows the time line has: of threads, of those that are many alike together, or of processors.

import type { ThreadInfo } from '../data/meta.ts';
import type { Recording } from '../data/recording.ts';
import type { Runs } from '../data/runs.ts';
import type { Nanoseconds } from '../data/time.ts';
import { together, type Track } from '../data/track.ts';
import { MANY, alike } from './pools.ts';
import type { RowOrder, State } from './selection.ts';

/** A thread that had a processor for less than this part of the time is idle. */
export const IDLE = 0.001;

/** More rows than that are grouped if nobody says otherwise. */
const MOST_APART = 32;

export interface Row {
  readonly name: string;
  /** A thread's id, or how many threads there are. */
  readonly aside: string;
  /** Threads that it tells of. */
  readonly threads: readonly number[];
  readonly kind: 'thread' | 'several' | 'cpu';
  /** Below a row of several. */
  readonly inner: boolean;
  /** null: has nothing below it. */
  readonly open: boolean | null;
  /** Its slices in one; made when somebody first asks, which takes a while for millions of them. */
  track(): Track;
  /** Those of them that are in a part of the time, in which there are few. */
  inSight(time: Nanoseconds): Track;
  /** What it is made of, to be added up. */
  readonly parts: readonly Track[];
}

export interface Rows {
  readonly list: readonly Row[];
  /** Threads that are left out because they are idle. */
  readonly hidden: number;
}

interface Group {
  readonly name: string;
  readonly process: number;
  readonly tracks: Track[];
  readonly ran: number;
}

const compareText = (a: string, b: string) => a.localeCompare(b, undefined, { numeric: true });

export class RowList {
  private readonly made = new Map<string, Track>();
  private readonly opened = new Set<string>();
  private key: string | null = null;
  private rows: Rows = { list: [], hidden: 0 };

  constructor(private readonly recording: Recording, private readonly runs: Runs, private readonly whole: () => Nanoseconds) {}

  of(s: State): Rows {
    const key = `${s.by}|${s.rowOrder}|${s.grouped}|${s.idle}|${s.threads?.join() ?? '*'}|${[...this.opened].join()}`;
    if (key !== this.key) {
      this.rows = s.by === 'cpu' ? this.byCpu(s) : this.byThread(s);
      this.key = key;
    }
    return this.rows;
  }

  /** Opens or closes a row of several. */
  turn(row: Row): void {
    if (!this.opened.delete(row.name)) this.opened.add(row.name);
  }

  private thread(track: Track): ThreadInfo {
    return this.recording.meta.threads[track.id]!;
  }

  name(thread: number): string {
    const { processes, threads } = this.recording.meta;
    const { name, tid, process } = threads[thread]!;
    const own = name.trim() ? name : `thread ${tid}`;
    return processes.length > 1 ? `${own} · ${processes[process]?.name ?? process}` : own;
  }

  private chosen(s: State): Track[] {
    return s.threads === null ? [...this.runs.tracks] : this.runs.tracks.filter((t) => s.threads!.includes(t.id));
  }

  /** Whether threads that are alike are one row. */
  grouped(s: State): boolean {
    return s.grouped ?? this.runs.tracks.length > MOST_APART;
  }

  private byCpu(s: State): Rows {
    const tracks = this.chosen(s);
    const list = Array.from({ length: this.runs.cpus }, (_, cpu): Row => {
      const track = () => this.keep(`cpu ${cpu} ${s.threads?.join() ?? '*'}`, () => together(cpu, tracks, this.whole(), cpu));
      return { name: `CPU ${cpu}`, aside: '', threads: [], kind: 'cpu', inner: false, open: null, parts: [], track, inSight: track };
    });
    return { list, hidden: 0 };
  }

  private byThread(s: State): Rows {
    const { from, to } = this.whole();
    const least = IDLE * (to - from);
    const all = this.chosen(s);
    const tracks = s.idle ? all : all.filter((t) => t.total >= least);
    const groups = this.group(tracks, this.grouped(s)).sort((a, b) => this.compare(a, b, s.rowOrder));
    return { list: groups.flatMap((g) => this.rowsOf(g, s)), hidden: all.length - tracks.length };
  }

  /** Threads of a process whose names differ in numbers at most, where there are many; each other alone. */
  private group(tracks: readonly Track[], grouped: boolean): Group[] {
    const groups = new Map<string, Track[]>();
    for (const track of tracks) {
      const { name, process } = this.thread(track);
      const key = grouped ? `${process} ${alike(name)}` : String(track.id);
      const group = groups.get(key);
      if (group) group.push(track);
      else groups.set(key, [track]);
    }
    const apart = [...groups.values()].flatMap((g) => (g.length >= MANY ? [g] : g.map((t) => [t])));
    return apart.map((g) => {
      const { name, process } = this.thread(g[0]!);
      const called = g.length > 1 ? alike(name) || '(no name)' : this.name(g[0]!.id);
      return { name: called, process, tracks: g, ran: g.reduce((sum, t) => sum + t.total, 0) };
    });
  }

  private compare(a: Group, b: Group, order: RowOrder): number {
    const first = (g: Group) => g.tracks[0]!;
    const by = {
      activity: () => b.ran - a.ran,
      name: () => compareText(a.name, b.name),
      tid: () => this.thread(first(a)).tid - this.thread(first(b)).tid,
      first: () => first(a).life.from - first(b).life.from,
    };
    return by[order]() || first(a).id - first(b).id;
  }

  private rowsOf({ name, process, tracks }: Group, s: State): Row[] {
    if (tracks.length === 1) return [this.row(tracks[0]!, false)];
    const { processes } = this.recording.meta;
    const called = processes.length > 1 ? `${name} · ${processes[process]?.name ?? process}` : name;
    const open = this.opened.has(called);
    const threads = tracks.map((t) => t.id);
    const row: Row = {
      name: called, aside: `×${tracks.length}`, threads, kind: 'several', inner: false, open, parts: tracks,
      track: () => this.keep(`several ${threads.join()}`, () => together(threads[0]!, tracks, this.whole())),
      inSight: (time) => together(threads[0]!, tracks, time),
    };
    const alone = (t: Track): Group => ({ name: this.name(t.id), process, tracks: [t], ran: t.total });
    const sorted = tracks.map(alone).sort((a, b) => this.compare(a, b, s.rowOrder));
    return open ? [row, ...sorted.map((g) => this.row(g.tracks[0]!, true))] : [row];
  }

  private row(track: Track, inner: boolean): Row {
    const { tid } = this.thread(track);
    return { name: this.name(track.id), aside: String(tid), threads: [track.id], kind: 'thread', inner, open: null, parts: [track], track: () => track, inSight: () => track };
  }

  private keep(key: string, make: () => Track): Track {
    let track = this.made.get(key);
    if (!track) this.made.set(key, (track = make()));
    return track;
  }
}
