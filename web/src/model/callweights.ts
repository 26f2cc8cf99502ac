// SPDX-License-Identifier: MIT
// Time and calls of an event that counts calls, by node.

import type { EventRows, Recording } from '../data/recording.ts';
import type { TimeRange } from '../data/time.ts';
import { ROOT, type Placed } from '../data/trie.ts';
import type { Counted } from './cells.ts';
import type { Selection } from './selection.ts';
import { eachSlice, needsSlices } from './slicing.ts';
import { sums, sumUp, type Wanted, type Weights } from './wanted.ts';

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

/** Whether a range of time is counted by single calls. */
export function bySlices({ info, calls }: EventRows, time: TimeRange | null, unit_ns: number): boolean {
  if (!calls?.lanes || !info.calls || !time) return false;
  return needsSlices((time.to - time.from) * unit_ns, info.calls.bin_ns, info.calls.merged_below_ns);
}

export function weighCalls(recording: Recording, s: Selection, placed: Placed, wanted: Wanted, counted: CountedRows): Weights {
  const rows = recording.events[s.event]!;
  const { time_unit_ns } = recording.meta;
  const weigher = new Weigher(placed, wanted, recording.meta.threads.length);
  if (bySlices(rows, s.time, time_unit_ns)) {
    const [from, to] = [s.time!.from * time_unit_ns, s.time!.to * time_unit_ns];
    const unit = rows.info.weight_ns;
    eachSlice(rows.calls!.lanes!, from, to, (thread, node, own_ns, n) => weigher.add(thread, node, own_ns / unit, n));
  } else {
    weigher.addRows(counted.time, s.time, (thread, node, weight) => weigher.add(thread, node, weight, 0));
    weigher.addRows(counted.calls, s.time, (thread, node, weight) => weigher.add(thread, node, 0, weight));
  }
  return weigher.finish();
}
