// SPDX-License-Identifier: MIT
// Samples that differ in nothing but their time and weight are one cell. There are far fewer cells than
// samples, so a selection adds up the weights of a range of time by cell, once, and asks of each cell, not
// of each sample, whether it is wanted.

import type { Rows } from '../data/calls.ts';
import type { TimeRange } from '../data/time.ts';
import { lowerBound, type Columns } from './wanted.ts';

/** What is in a range of time: these columns from `first` to before `end`. */
export interface Part {
  readonly columns: Columns;
  readonly weight: Uint32Array | Float64Array;
  readonly first: number;
  readonly end: number;
}

type Samples = Rows & Columns;

/** Fewer samples are counted one by one. */
const MANY = 20_000;
/** Cells have to be so many times fewer than samples. */
const FEWER = 8;

/** Cells in the making, each found by what its samples have in common. */
class Growing {
  readonly thread: Uint32Array;
  readonly node: Uint32Array;
  readonly waiting: Uint8Array;
  count = 0;
  /** Cells by their hash, each as one more than its number; 0: none. */
  private readonly slots: Uint32Array;
  private readonly mask: number;

  constructor(private readonly most: number) {
    this.thread = new Uint32Array(most);
    this.node = new Uint32Array(most);
    this.waiting = new Uint8Array(most);
    const bits = Math.ceil(Math.log2(most * 2 + 1));
    this.slots = new Uint32Array(2 ** bits);
    this.mask = 2 ** bits - 1;
  }

  /** -1: there are too many. */
  cell(thread: number, node: number, waits: number): number {
    let i = (Math.imul(node, 0x9e3779b1) ^ Math.imul(2 * thread + waits, 0x85ebca6b)) >>> 0;
    i ^= i >>> 15;
    for (i &= this.mask; this.slots[i] !== 0; i = (i + 1) & this.mask) {
      const c = this.slots[i]! - 1;
      if (this.node[c] === node && this.thread[c] === thread && this.waiting[c] === waits) return c;
    }
    if (this.count === this.most) return -1;
    const c = this.count++;
    this.thread[c] = thread;
    this.node[c] = node;
    this.waiting[c] = waits;
    this.slots[i] = this.count;
    return c;
  }
}

export class Cells implements Columns {
  private constructor(
    /** The cell of each sample. */
    readonly of: Uint32Array,
    readonly thread: Uint32Array,
    readonly node: Uint32Array,
    readonly waiting: Uint8Array | null,
  ) {}

  get count(): number {
    return this.node.length;
  }

  /** null: they would be too many to be of use. */
  static find({ thread, node, waiting }: Columns): Cells | null {
    const growing = new Growing(Math.floor(thread.length / FEWER));
    const of = new Uint32Array(thread.length);
    for (let i = 0; i < of.length; i++) {
      const c = growing.cell(thread[i]!, node[i]!, waiting === null ? 0 : waiting[i]!);
      if (c < 0) return null;
      of[i] = c;
    }
    const { count } = growing;
    const waits = waiting && growing.waiting.slice(0, count);
    return new Cells(of, growing.thread.slice(0, count), growing.node.slice(0, count), waits);
  }

  /** What the samples from `first` to before `end` weigh, by cell. */
  weigh(weight: Uint32Array, first: number, end: number): Float64Array {
    const { of } = this;
    const weights = new Float64Array(this.count);
    for (let i = first; i < end; i++) weights[of[i]!]! += weight[i]!;
    return weights;
  }
}

/** The samples of an event, with their cells from when these are first of use. */
export class Counted {
  private found: Cells | null | undefined;
  private part: Part | null = null;
  private range = '';

  constructor(private readonly samples: Samples, private readonly many = MANY) {}

  /** null: there are too few samples, or too many cells. */
  get cells(): Cells | null {
    if (this.found === undefined) this.found = this.samples.node.length < this.many ? null : Cells.find(this.samples);
    return this.found;
  }

  /** The samples of a range of time, by cell where there are fewer of those. */
  in(time: TimeRange | null): Part {
    const { samples } = this;
    const first = time ? lowerBound(samples.time, time.from) : 0;
    const end = time ? lowerBound(samples.time, time.to) : samples.time.length;
    const cells = end - first < this.many ? null : this.cells;
    if (!cells || end - first < cells.count) return { columns: samples, weight: samples.weight, first, end };
    if (this.range !== `${first}-${end}`) {
      this.part = { columns: cells, weight: cells.weigh(samples.weight, first, end), first: 0, end: cells.count };
      this.range = `${first}-${end}`;
    }
    return this.part!;
  }
}
