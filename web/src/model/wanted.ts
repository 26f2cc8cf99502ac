// SPDX-License-Identifier: MIT
// What a selection counts: which samples it wants, and what they weigh by node.

import { ROOT, type Trie } from '../data/trie.ts';
import type { Selection } from './selection.ts';

/** What a selection asks of samples, and of cells of them (cells.ts), alike. */
export interface Columns {
  readonly thread: Uint32Array;
  readonly node: Uint32Array;
  /** 1: the thread did not run; null: nothing is known of that. */
  readonly waiting: Uint8Array | null;
}

/** By node: samples whose leaf it is, and those that went through it. */
export interface Sums {
  readonly self: Float64Array;
  readonly total: Float64Array;
}

export interface Weights extends Sums {
  /** Whose nodes they are. */
  readonly trie: Trie;
  readonly sum: number;
  /** Of all these the samples whose thread did not run; null where that is not known. */
  readonly waiting: Sums | null;
  /** In the time range, of every thread and state, also those not chosen. */
  readonly byThread: Float64Array;
  readonly waitingByThread: Float64Array | null;
  /** Calls, where the event counts them. */
  readonly calls: CallSums | null;
}

export interface CallSums {
  /** By node: calls of it, and of it and all below it. */
  readonly self: Float64Array;
  readonly total: Float64Array;
  readonly byThread: Float64Array;
}

export const sums = (n: number): Sums => ({ self: new Float64Array(n), total: new Float64Array(n) });

/** Hands what is in `self` up to the callers. */
export function sumUp(trie: Trie, { self, total }: Sums): void {
  total.set(self);
  for (let n = trie.nodes - 1; n > ROOT; n--) total[trie.parent[n]!]! += total[n]!;
}

/** First index whose value is not below `wanted`, in ascending values. */
export function lowerBound(values: ArrayLike<number>, wanted: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Which samples or cells of an event are wanted, by their place in its columns. */
export class Wanted {
  private readonly threads: Uint8Array | null;
  private readonly waiting: Uint8Array | null;
  private readonly state: number;

  constructor(
    private readonly columns: Columns,
    s: Selection,
    threads: number,
    /** 1 for each node of the trie whose samples are wanted; null: all. */
    private readonly keep: Uint8Array | null,
  ) {
    this.threads = s.threads && new Uint8Array(threads);
    for (const t of s.threads ?? []) this.threads![t] = 1;
    this.waiting = s.activity === 'any' ? null : columns.waiting;
    this.state = s.activity === 'waiting' ? 1 : 0;
  }

  /** Apart from its thread and state. */
  stack(node: number): boolean {
    return this.keep === null || this.keep[node] === 1;
  }

  thread(i: number): boolean {
    if (this.waiting !== null && this.waiting[i] !== this.state) return false;
    return this.isThread(this.columns.thread[i]!);
  }

  isThread(thread: number): boolean {
    return this.threads === null || this.threads[thread] === 1;
  }
}
