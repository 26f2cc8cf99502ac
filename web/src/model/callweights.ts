// SPDX-License-Identifier: MIT
// Time and calls of an event that counts calls, by node.

import type { Rows } from '../data/calls.ts';
import type { EventRows, Recording } from '../data/recording.ts';
import type { TimeRange } from '../data/time.ts';
import { ROOT, type Placed } from '../data/trie.ts';
import type { Selection } from './selection.ts';
import { eachSlice, needsSlices } from './slicing.ts';
import { lowerBound, sums, sumUp, type Wanted, type Weights } from './wanted.ts';

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

  addRows(rows: Rows, time: TimeRange | null, add: (thread: number, node: number, weight: number) => void): void {
    const first = time ? lowerBound(rows.time, time.from) : 0;
    const end = time ? lowerBound(rows.time, time.to) : rows.time.length;
    for (let i = first; i < end; i++) add(rows.thread[i]!, rows.node[i]!, rows.weight[i]!);
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

/** Whether a range of time is counted by single calls. */
export function bySlices({ info, calls }: EventRows, time: TimeRange | null, unit_ns: number): boolean {
  if (!calls?.lanes || !info.calls || !time) return false;
  return needsSlices((time.to - time.from) * unit_ns, info.calls.bin_ns, info.calls.merged_below_ns);
}

export function weighCalls(recording: Recording, s: Selection, placed: Placed, wanted: Wanted): Weights {
  const rows = recording.events[s.event]!;
  const { time_unit_ns } = recording.meta;
  const weigher = new Weigher(placed, wanted, recording.meta.threads.length);
  if (bySlices(rows, s.time, time_unit_ns)) {
    const [from, to] = [s.time!.from * time_unit_ns, s.time!.to * time_unit_ns];
    const unit = rows.info.weight_ns;
    eachSlice(rows.calls!.lanes!, from, to, (thread, node, own_ns, calls) => weigher.add(thread, node, own_ns / unit, calls));
  } else {
    weigher.addRows(rows, s.time, (thread, node, time) => weigher.add(thread, node, time, 0));
    weigher.addRows(rows.calls!.counts, s.time, (thread, node, calls) => weigher.add(thread, node, 0, calls));
  }
  return weigher.finish();
}
