// SPDX-License-Identifier: MIT
// When a thread had a processor: slices of time that do not overlap, in order. Times are nanoseconds
// since the recording's start.
//
// `ran` are prefix sums of the slices' lengths, so that two look-ups tell exactly how long the thread ran
// in any part of the time. For the time between slices, and for wide views of millions of slices, blocks
// of some slices carry sums of their own.

import { HOW, HOW_BITS, HOW_MASK } from './numbers.ts';
import type { Nanoseconds } from './time.ts';

const NONE = new Uint16Array(0);

/** Slices of a block. */
const BLOCK = 16;
/** With more slices in a pixel than that, a block in it is as good. */
const MANY_IN_PIXEL = 6;

/** Of a part of the time, in nanoseconds. What is not here, the thread was not there. */
export interface Times {
  readonly ran: number;
  /** It could have gone on. */
  readonly preempted: number;
  /** It waited, then perhaps for a processor. */
  readonly blocked: number;
  readonly unknown: number;
  /** Switches away from it: it waited, it was preempted. */
  readonly voluntary: number;
  readonly involuntary: number;
}

/** Nanoseconds by bins of time, to add to. */
export interface Bins {
  readonly ran: Float32Array;
  readonly preempted: Float32Array;
  readonly unknown: Float32Array;
}

export const bins = (count: number): Bins => ({
  ran: new Float32Array(count), preempted: new Float32Array(count), unknown: new Float32Array(count),
});

/** Prefix sums over blocks of slices; a block begins with the gap before its first slice. */
interface Blocks {
  readonly start: Float64Array;
  readonly ran: Float64Array;
  readonly preempted: Float64Array;
  readonly unknown: Float64Array;
  readonly voluntary: Float64Array;
  readonly involuntary: Float64Array;
}

type Sums = Record<Exclude<keyof Blocks, 'start'>, number>;

/** First index of ascending values that is above `wanted`, from `low` on. */
function above(values: Float64Array, wanted: number, low = 0, high = values.length): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Adds an amount that is spread evenly over a time to the bins; those outside are left out. */
function spread(into: Float32Array, window: Nanoseconds, scale: number, from: number, to: number, amount: number): void {
  let a = (from - window.from) * scale;
  let b = (to - window.from) * scale;
  if (amount <= 0 || b <= 0 || a >= into.length) return;
  const rate = amount / (b - a);
  if (a < 0) a = 0;
  if (b > into.length) b = into.length;
  const first = Math.floor(a);
  const last = Math.floor(b);
  if (first === last || b === a) {
    into[Math.min(first, into.length - 1)]! += b === a ? amount : rate * (b - a);
    return;
  }
  into[first]! += rate * (first + 1 - a);
  for (let i = first + 1; i < last; i++) into[i]! += rate;
  if (last < into.length) into[last]! += rate * (b - last);
}

export interface Columns {
  readonly start: Float64Array;
  /** One more than slices: ran[i] is how long it ran before slice i. */
  readonly ran: Float64Array;
  /** Place of each; empty for tracks of several threads. */
  readonly where: Uint16Array;
  /** Whose each slice is, for tracks of several threads. */
  readonly owner: Uint32Array | null;
}

export class Track {
  private made: Blocks | null = null;

  constructor(
    /** Index of the thread, or of what several have in common. */
    readonly id: number,
    /** When it was seen first and last. */
    readonly life: Nanoseconds,
    /** How the slice before the first ended. */
    readonly before: number,
    private readonly columns: Columns,
  ) {}

  get count(): number {
    return this.columns.start.length;
  }

  /** How long it ran, in all. */
  get total(): number {
    return this.columns.ran[this.count]!;
  }

  start(i: number): number {
    return this.columns.start[i]!;
  }

  length(i: number): number {
    return this.columns.ran[i + 1]! - this.columns.ran[i]!;
  }

  end(i: number): number {
    return this.start(i) + this.length(i);
  }

  span(i: number): Nanoseconds {
    return { from: this.start(i), to: this.end(i) };
  }

  how(i: number): number {
    const { where } = this.columns;
    return i < 0 ? this.before : where.length > 0 ? where[i]! & HOW_MASK : HOW.waits;
  }

  /** It is no run: behind it records are missing. */
  isMissing(i: number): boolean {
    return this.how(i) === HOW.unknown && this.length(i) === 0;
  }

  cpu(i: number): number {
    return this.columns.where[i]! >> HOW_BITS;
  }

  /** The thread that a slice is of. */
  owner(i: number): number {
    return this.columns.owner ? this.columns.owner[i]! : this.id;
  }

  /** How many slices begin at a time or before it. */
  begun(time: number): number {
    return above(this.columns.start, time);
  }

  /** The time without a processor before slice i, or after the last one. */
  gap(i: number): Nanoseconds {
    return { from: i > 0 ? this.end(i - 1) : this.life.from, to: i < this.count ? this.start(i) : this.life.to };
  }

  /** How long it ran until then. */
  private ranUntil(time: number, begun: number): number {
    const i = begun - 1;
    return i < 0 ? 0 : this.columns.ran[i]! + Math.min(Math.max(0, time - this.start(i)), this.length(i));
  }

  /** How long it ran in a part of the time, exactly. */
  ranIn({ from, to }: Nanoseconds): number {
    return this.ranUntil(to, this.begun(to)) - this.ranUntil(from, this.begun(from));
  }

  times({ from, to }: Nanoseconds): Times {
    const [a, b] = [Math.max(from, this.life.from), Math.min(to, this.life.to)];
    const none = { ran: 0, preempted: 0, blocked: 0, unknown: 0, voluntary: 0, involuntary: 0 };
    if (b <= a) return none;
    const [before, until] = [this.timesUntil(a), this.timesUntil(b)];
    const ran = until.ran - before.ran;
    const preempted = until.preempted - before.preempted;
    const unknown = until.unknown - before.unknown;
    return {
      ran, preempted, unknown, blocked: Math.max(0, b - a - ran - preempted - unknown),
      voluntary: until.voluntary - before.voluntary, involuntary: until.involuntary - before.involuntary,
    };
  }

  private timesUntil(time: number) {
    const begun = this.begun(time);
    const block = Math.floor(Math.max(0, begun - 1) / BLOCK);
    const blocks = this.blocks();
    const sums = {
      ran: this.ranUntil(time, begun), preempted: blocks.preempted[block]!, unknown: blocks.unknown[block]!,
      voluntary: blocks.voluntary[block]!, involuntary: blocks.involuntary[block]!,
    };
    for (let i = block * BLOCK; i <= begun; i++) {
      const gap = this.gap(i);
      const took = Math.max(0, Math.min(gap.to, time) - gap.from);
      const how = this.how(i - 1);
      if (how === HOW.preempted) sums.preempted += took;
      else if (how === HOW.unknown) sums.unknown += took;
      if (i === begun || this.end(i) > time) continue;
      if (this.how(i) === HOW.preempted) sums.involuntary++;
      else if (this.how(i) === HOW.waits) sums.voluntary++;
    }
    return sums;
  }

  /** Each block has the gaps before its slices, and the ends of these. */
  private blocks(): Blocks {
    if (this.made) return this.made;
    const n = this.count;
    const count = Math.floor(n / BLOCK) + 2;
    const column = () => new Float64Array(count);
    const made = { start: column(), ran: column(), preempted: column(), unknown: column(), voluntary: column(), involuntary: column() };
    const sums = { ran: 0, preempted: 0, unknown: 0, voluntary: 0, involuntary: 0 };
    const { start, ran, where } = this.columns;
    let how = this.before;
    let end = this.life.from;
    for (let i = 0; i <= n; i++) {
      if (i % BLOCK === 0) this.tell(made, i / BLOCK, sums, end);
      const next = i < n ? start[i]! : this.life.to;
      if (how === HOW.preempted) sums.preempted += next - end;
      else if (how === HOW.unknown) sums.unknown += next - end;
      if (i === n) break;
      sums.ran = ran[i + 1]!;
      end = next + sums.ran - ran[i]!;
      how = where.length > 0 ? where[i]! & HOW_MASK : HOW.waits;
      if (how === HOW.preempted) sums.involuntary++;
      else if (how === HOW.waits) sums.voluntary++;
    }
    this.tell(made, count - 1, sums, this.life.to);
    return (this.made = made);
  }

  private tell(blocks: Blocks, k: number, sums: Sums, start: number): void {
    blocks.start[k] = start;
    blocks.ran[k] = sums.ran;
    blocks.preempted[k] = sums.preempted;
    blocks.unknown[k] = sums.unknown;
    blocks.voluntary[k] = sums.voluntary;
    blocks.involuntary[k] = sums.involuntary;
  }

  /** Adds what it did in a window, which the bins divide evenly, to them. */
  addTo(into: Bins, window: Nanoseconds): void {
    const first = Math.max(0, this.begun(window.from) - 1);
    const end = this.begun(window.to);
    if (end - first > MANY_IN_PIXEL * into.ran.length) this.addBlocks(into, window);
    else this.addSlices(into, window, first, end);
  }

  private addSlices(into: Bins, window: Nanoseconds, first: number, end: number): void {
    const { start, ran, where } = this.columns;
    const scale = into.ran.length / (window.to - window.from);
    for (let i = first; i < end; i++) {
      const from = start[i]!;
      spread(into.ran, window, scale, from, from + ran[i + 1]! - ran[i]!, ran[i + 1]! - ran[i]!);
    }
    if (where.length === 0) return;
    for (let i = first; i <= end; i++) {
      const how = this.how(i - 1);
      if (how !== HOW.preempted && how !== HOW.unknown) continue;
      const { from, to } = this.gap(i);
      spread(how === HOW.preempted ? into.preempted : into.unknown, window, scale, from, to, to - from);
    }
  }

  /** What a block has is as if spread over it evenly: a pixel gets the sums until its end, less those until its beginning. */
  private addBlocks(into: Bins, window: Nanoseconds): void {
    const { start, ran, preempted, unknown } = this.blocks();
    const pixels = into.ran.length;
    const width = (window.to - window.from) / pixels;
    const last = start.length - 2;
    let k = Math.max(0, Math.min(last, above(start, window.from) - 1));
    let ranBefore = 0;
    let preemptedBefore = 0;
    let unknownBefore = 0;
    for (let x = -1; x < pixels; x++) {
      const time = window.from + (x + 1) * width;
      while (k < last && start[k + 1]! <= time) k++;
      const length = start[k + 1]! - start[k]!;
      const part = length > 0 ? Math.max(0, Math.min(1, (time - start[k]!) / length)) : 0;
      const ranNow = ran[k]! + part * (ran[k + 1]! - ran[k]!);
      const preemptedNow = preempted[k]! + part * (preempted[k + 1]! - preempted[k]!);
      const unknownNow = unknown[k]! + part * (unknown[k + 1]! - unknown[k]!);
      if (x >= 0) {
        into.ran[x]! += ranNow - ranBefore;
        into.preempted[x]! += preemptedNow - preemptedBefore;
        into.unknown[x]! += unknownNow - unknownBefore;
      }
      ranBefore = ranNow;
      preemptedBefore = preemptedNow;
      unknownBefore = unknownNow;
    }
  }
}

/** Where slices of several threads go by their start, before they are sorted. */
class Sorter {
  readonly start: Float64Array;
  readonly length: Float64Array;
  readonly owner: Uint32Array;
  private readonly next: Uint32Array;
  private readonly scale: number;

  constructor(count: number, private readonly time: Nanoseconds) {
    this.start = new Float64Array(count);
    this.length = new Float64Array(count);
    this.owner = new Uint32Array(count);
    const places = Math.max(1, Math.ceil(count / 4));
    this.next = new Uint32Array(places + 1);
    this.scale = places / Math.max(1, time.to - time.from);
  }

  private place(start: number): number {
    return Math.max(0, Math.min(this.next.length - 2, Math.floor((start - this.time.from) * this.scale)));
  }

  expect(start: number): void {
    this.next[this.place(start) + 1]!++;
  }

  begin(): void {
    for (let i = 1; i < this.next.length; i++) this.next[i]! += this.next[i - 1]!;
  }

  add(start: number, length: number, owner: number): void {
    this.put(this.next[this.place(start)]!++, start, length, owner);
  }

  private put(i: number, start: number, length: number, owner: number): void {
    this.start[i] = start;
    this.length[i] = length;
    this.owner[i] = owner;
  }

  /** Sorts what is nearly sorted, and leaves out what lies in a slice before. */
  finish(): { start: Float64Array; ran: Float64Array; owner: Uint32Array } {
    const { start, length, owner } = this;
    for (let i = 1; i < start.length; i++) {
      const [s, l, o] = [start[i]!, length[i]!, owner[i]!];
      let k = i;
      for (; k > 0 && start[k - 1]! > s; k--) this.put(k, start[k - 1]!, length[k - 1]!, owner[k - 1]!);
      if (k < i) this.put(k, s, l, o);
    }
    return this.apart();
  }

  private apart(): { start: Float64Array; ran: Float64Array; owner: Uint32Array } {
    const { start, length, owner } = this;
    const ran = new Float64Array(start.length + 1);
    let [n, end] = [0, -Infinity];
    for (let i = 0; i < start.length; i++) {
      const from = Math.max(start[i]!, end);
      const to = start[i]! + length[i]!;
      if (to <= from) continue;
      this.put(n, from, to - from, owner[i]!);
      ran[n + 1] = ran[n]! + to - from;
      n++;
      end = to;
    }
    return { start: start.subarray(0, n), ran: ran.subarray(0, n + 1), owner: owner.subarray(0, n) };
  }
}

/** One track of the slices that several have in a part of the time, or of those of a processor. Where they overlap, the first one stays. */
export function together(id: number, tracks: readonly Track[], time: Nanoseconds, cpu: number | null = null): Track {
  const each = (visit: (t: Track, i: number) => void) => {
    for (const t of tracks) {
      const end = t.begun(time.to);
      for (let i = Math.max(0, t.begun(time.from) - 1); i < end; i++) if (cpu === null || t.cpu(i) === cpu) visit(t, i);
    }
  };
  let count = 0;
  each(() => count++);
  const sorter = new Sorter(count, time);
  each((t, i) => sorter.expect(t.start(i)));
  sorter.begin();
  each((t, i) => sorter.add(t.start(i), t.length(i), t.id));
  const life = cpu === null ? { from: Math.min(...tracks.map((t) => t.life.from)), to: Math.max(...tracks.map((t) => t.life.to)) } : time;
  return new Track(id, life, HOW.waits, { ...sorter.finish(), where: NONE });
}
