// SPDX-License-Identifier: MIT
// Time and calls of a range, from single calls where the bins of an event's rows are too wide.

import type { Lanes } from '../data/lanes.ts';
import type { Nanoseconds } from '../data/time.ts';
import { ROOT } from '../data/trie.ts';

/** Called with a thread, a node of the recording's own trie, nanoseconds of its own and single calls that began. */
export type Slice = (thread: number, node: number, own_ns: number, calls: number) => void;

/** A part of a range of time that is counted by single calls, and the bin that it is in. */
export interface Edge extends Nanoseconds {
  readonly bin: Nanoseconds;
}

/** What of a range of time is counted by whole bins of rows, and what by single calls. */
export interface Parts {
  readonly rows: Nanoseconds | null;
  readonly edges: readonly Edge[];
}

/**
 * Single calls are exact if none are merged; else rows are, in bins of `step_ns`, and single calls say the rest. Behind
 * the recording's end there is nothing, so its last bin is whole.
 */
export function partsOf({ from, to }: Nanoseconds, step_ns: number, merged_below_ns: number, end_ns: number): Parts {
  if (merged_below_ns === 0) return { rows: null, edges: [{ from, to, bin: { from, to } }] };
  if (from >= end_ns) return { rows: null, edges: [] };
  const first = Math.ceil(from / step_ns) * step_ns;
  const last = to >= end_ns ? end_ns : Math.floor(to / step_ns) * step_ns;
  const edge = (a: number, b: number): Edge => {
    const begin = Math.floor(a / step_ns) * step_ns;
    return { from: a, to: b, bin: { from: begin, to: Math.min(begin + step_ns, end_ns) } };
  };
  if (first > last) return { rows: null, edges: [edge(from, Math.min(to, end_ns))] };
  const edges = [edge(from, first), edge(last, Math.min(to, end_ns))].filter((part) => part.from < part.to);
  return { rows: first < last ? { from: first, to: last } : null, edges };
}

/** Index of the first slice of a row that ends after `time`, or is of no length and then. */
export function firstAfter(lanes: Lanes, first: number, end: number, time: number): number {
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lanes.end[middle]! <= time && lanes.start[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A call's own time is its time less that of the calls below it. */
export function eachSlice(lanes: Lanes, from: number, to: number, each: Slice): void {
  const { start, end, node, calls, mixed } = lanes;
  for (const { thread, rowStart } of lanes.lanes) {
    for (let d = 0; d + 1 < rowStart.length; d++) {
      const last = rowStart[d + 1]!;
      for (let i = firstAfter(lanes, rowStart[d]!, last, from); i < last && start[i]! < to; i++) {
        // Of several methods: all of it stays with the caller.
        if (mixed[i] === 1) continue;
        const time = Math.min(end[i]!, to) - Math.max(start[i]!, from);
        const above = lanes.caller(i);
        // Those that were merged may have begun at any time until its end.
        each(thread, node[i]!, time, start[i]! >= from && calls[i] === 1 ? 1 : 0);
        if (above !== ROOT) each(thread, above, -time, 0);
      }
    }
  }
}
