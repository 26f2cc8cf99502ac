// SPDX-License-Identifier: MIT
// Single calls: for each thread a lane, in it a row for each depth, in that its calls in order of time.
//
// Where a recording has more calls than a page holds, calls shorter than a threshold are slices that
// stand for several: neighbours of one caller, without what they called.

import type { Sections } from './decode.ts';
import { DataError } from './meta.ts';
import { ROOT, type Trie } from './trie.ts';
import { Varints } from './varint.ts';

export interface Lane {
  readonly thread: number;
  /** Slices of the row at depth d: rowStart[d] ≤ i < rowStart[d + 1], by ascending start; none overlap. */
  readonly rowStart: Uint32Array;
}

/** Columns of all slices. Times are nanoseconds since the recording's start. */
interface Columns {
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Node of the recording's own trie: the call, or the caller of a slice of several methods. */
  readonly node: Uint32Array;
  /** How many calls it stands for. */
  readonly calls: Uint32Array;
  /** 1: of several methods. */
  readonly mixed: Uint8Array;
}

const DAMAGED = 'The data of this page is damaged';

function depths({ nodes, parent }: Trie): Uint32Array {
  const depth = new Uint32Array(nodes);
  for (let n = 1; n < nodes; n++) depth[n] = depth[parent[n]!]! + 1;
  return depth;
}

const columns = (count: number) => ({
  start: new Float64Array(count),
  end: new Float64Array(count),
  node: new Uint32Array(count),
  calls: new Uint32Array(count),
  mixed: new Uint8Array(count),
});

class Reader {
  private readonly ends: Varints;
  private readonly lengths: Varints;
  private readonly nodes: Varints;
  private readonly calls: Varints;

  constructor(sections: Sections, event: string, private readonly limit: number) {
    const column = (name: string) => new Varints(sections.varint(`${event}.slices.${name}`));
    this.ends = column('end');
    this.lengths = column('length');
    this.nodes = column('node');
    this.calls = column('calls');
  }

  /** A thread's slices, as they ended. */
  read(into: Columns, first: number, count: number): void {
    let [end, node] = [0, 0];
    for (let i = first; i < first + count; i++) {
      end += this.ends.next();
      node += this.nodes.signed();
      if (!(node >= 0 && node < this.limit)) throw new DataError(`${DAMAGED}: a call is out of range.`);
      const calls = this.calls.next();
      into.end[i] = end;
      into.start[i] = end - this.lengths.next();
      into.node[i] = node;
      into.mixed[i] = calls % 2;
      into.calls[i] = Math.floor(calls / 2);
    }
  }

  get done(): boolean {
    return this.ends.done && this.lengths.done && this.nodes.done && this.calls.done;
  }
}

export class Lanes {
  readonly lanes: readonly Lane[];
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly node: Uint32Array;
  readonly calls: Uint32Array;
  readonly mixed: Uint8Array;
  /** When the last of them ended. */
  readonly last: number;

  private constructor(readonly trie: Trie, list: Uint32Array, read: Columns) {
    const sorted = columns(read.start.length);
    const depth = depths(trie);
    const lanes: Lane[] = [];
    for (let k = 0, first = 0; k < list.length; first += list[k + 1]!, k += 2)
      lanes.push({ thread: list[k]!, rowStart: sortByDepth(read, sorted, depth, first, list[k + 1]!) });
    this.lanes = lanes;
    this.start = sorted.start;
    this.end = sorted.end;
    this.node = sorted.node;
    this.calls = sorted.calls;
    this.mixed = sorted.mixed;
    this.last = sorted.end.reduce((a, b) => Math.max(a, b), 0);
  }

  static read(sections: Sections, event: string, trie: Trie, threads: number): Lanes {
    const list = sections.u32(`${event}.slices.threads`);
    let count = 0;
    for (let k = 0; k < list.length; k += 2) {
      if (list[k]! >= threads) throw new DataError(`${DAMAGED}: a thread is out of range.`);
      count += list[k + 1] ?? 0;
    }
    const reader = new Reader(sections, event, trie.nodes);
    // Each slice is a byte at least in each column: no more memory than was read is asked for.
    if (count > sections.varint(`${event}.slices.end`).length) throw new DataError(`${DAMAGED}: calls are missing.`);
    const read = columns(count);
    for (let k = 0, first = 0; k < list.length; first += list[k + 1]!, k += 2) reader.read(read, first, list[k + 1]!);
    if (!reader.done) throw new DataError(`${DAMAGED}: there are more calls than it says.`);
    return new Lanes(trie, list, read);
  }

  get count(): number {
    return this.start.length;
  }

  /** The frame of a slice's method, or of its caller where it stands for several methods. */
  frame(slice: number): number {
    return this.trie.frame[this.node[slice]!]!;
  }

  /** The node below which a slice hangs. */
  caller(slice: number): number {
    return this.mixed[slice] === 1 ? this.node[slice]! : this.trie.parent[this.node[slice]!]!;
  }

  /** Of one call, exactly. */
  single(slice: number): boolean {
    return this.calls[slice] === 1 && this.mixed[slice] === 0;
  }
}

/** Moves a thread's slices from `read` to `sorted`, row by row, and returns where rows start. */
function sortByDepth(read: Columns, sorted: Columns, depth: Uint32Array, first: number, count: number): Uint32Array {
  const row = (i: number) => depth[read.node[i]!]! - 1 + read.mixed[i]!;
  let rows = 0;
  for (let i = first; i < first + count; i++) {
    if (read.node[i] === ROOT && read.mixed[i] === 0) throw new DataError(`${DAMAGED}: a call has no method.`);
    rows = Math.max(rows, row(i) + 1);
  }
  const rowStart = new Uint32Array(rows + 1);
  for (let i = first; i < first + count; i++) rowStart[row(i) + 1]!++;
  rowStart[0] = first;
  for (let d = 0; d < rows; d++) rowStart[d + 1]! += rowStart[d]!;
  const next = rowStart.slice();
  for (let i = first; i < first + count; i++) {
    const d = row(i);
    const to = next[d]!++;
    if (to > rowStart[d]! && !(read.start[i]! >= sorted.end[to - 1]!)) throw new DataError(`${DAMAGED}: calls overlap.`);
    sorted.start[to] = read.start[i]!;
    sorted.end[to] = read.end[i]!;
    sorted.node[to] = read.node[i]!;
    sorted.calls[to] = read.calls[i]!;
    sorted.mixed[to] = read.mixed[i]!;
  }
  return rowStart;
}
