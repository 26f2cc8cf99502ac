// SPDX-License-Identifier: MIT
// Time and calls of an event that counts calls, by node.

import type { EventRows, Recording } from '../data/recording.ts';
import type { Nanoseconds, TimeRange } from '../data/time.ts';
import { ROOT, type Placed } from '../data/trie.ts';
import type { Counted } from './cells.ts';
import type { Selection } from './selection.ts';
import { eachSlice, partsOf, type Edge, type Parts } from './slicing.ts';
import { sums, sumUp, type Wanted, type Weights } from './wanted.ts';

/** What is a whole number but for how it was added up is one; not -0, and less than none there cannot be. */
const whole = (n: number) => Math.max(0, Math.abs(n - Math.round(n)) < 1e-6 ? Math.round(n) + 0 : n);

class Weigher {
  readonly time;
  readonly calls;
  readonly timeByThread;
  readonly callsByThread;

  constructor(
    private readonly placed: Placed,
    private readonly wanted: Wanted,
    threads: number,
  ) {
    this.time = sums(placed.trie.nodes);
    this.calls = sums(placed.trie.nodes);
    this.timeByThread = new Float64Array(threads);
    this.callsByThread = new Float64Array(threads);
  }

  add(thread: number, node: number, time: number, calls: number): void {
    const n = this.placed.place === null ? node : this.placed.place[node]!;
    if (!this.wanted.stack(n)) return;
    this.timeByThread[thread]! += time;
    this.callsByThread[thread]! += calls;
    if (!this.wanted.isThread(thread)) return;
    this.time.self[n]! += time;
    this.calls.self[n]! += calls;
  }

  addRows(rows: Counted, time: TimeRange | null, add: (thread: number, node: number, weight: number) => void): void {
    const { columns, weight, first, end } = rows.in(time);
    for (let i = first; i < end; i++) add(columns.thread[i]!, columns.node[i]!, weight[i]!);
  }

  finish(): Weights {
    const { trie } = this.placed;
    for (const calls of [this.calls.self, this.callsByThread]) calls.forEach((n, i) => (calls[i] = whole(n)));
    sumUp(trie, this.time);
    sumUp(trie, this.calls);
    return {
      ...this.time, trie, sum: this.time.total[ROOT]!, waiting: null, waitingByThread: null,
      byThread: this.timeByThread, calls: { ...this.calls, byThread: this.callsByThread },
    };
  }
}

/** The rows of such an event. */
export interface CountedRows {
  readonly time: Counted;
  readonly calls: Counted;
}

/** By what a range of time is counted; null: by rows alone. */
export function partsOfRange(recording: Recording, { info, calls }: EventRows, time: TimeRange | null): Parts | null {
  if (!calls?.lanes || !info.calls || !time) return null;
  const { time_unit_ns: unit, duration_ns } = recording.meta;
  // Whole nanoseconds, as a range may have been chosen to be one call.
  return partsOf({ from: Math.round(time.from * unit), to: Math.round(time.to * unit) }, info.calls.step_ns, info.calls.merged_below_ns, duration_ns);
}

export function weighCalls(recording: Recording, s: Selection, placed: Placed, wanted: Wanted, counted: CountedRows): Weights {
  const rows = recording.events[s.event]!;
  const unit = recording.meta.time_unit_ns;
  const weigher = new Weigher(placed, wanted, recording.meta.threads.length);
  const parts = partsOfRange(recording, rows, s.time);
  const unitsOf = ({ from, to }: Nanoseconds) => ({ from: from / unit, to: to / unit });
  const byRows = (time: TimeRange | null) => {
    weigher.addRows(counted.time, time, (thread, node, weight) => weigher.add(thread, node, weight, 0));
    weigher.addRows(counted.calls, time, (thread, node, weight) => weigher.add(thread, node, 0, weight));
  };
  const bySlices = (edge: Edge) => {
    const lanes = rows.calls!.lanes!;
    eachSlice(lanes, edge.from, edge.to, (thread, node, own_ns, n) => weigher.add(thread, node, own_ns / rows.info.weight_ns, n));
    if (rows.info.calls!.merged_below_ns === 0) return;
    // What no slice tells of is taken to have begun all over the bin.
    const part = (edge.to - edge.from) / (edge.bin.to - edge.bin.from);
    eachSlice(lanes, edge.bin.from, edge.bin.to, (thread, node, _, n) => weigher.add(thread, node, 0, -part * n));
    weigher.addRows(counted.calls, unitsOf(edge.bin), (thread, node, weight) => weigher.add(thread, node, 0, part * weight));
  };
  if (!parts) byRows(s.time);
  else if (parts.rows) byRows(unitsOf(parts.rows));
  parts?.edges.forEach(bySlices);
  return weigher.finish();
}
