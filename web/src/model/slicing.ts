// SPDX-License-Identifier: MIT
// Time and calls of a range that is too short for the bins of an event's rows, from its single calls.

import type { Lanes } from '../data/lanes.ts';
import { ROOT } from '../data/trie.ts';

/** A range of at least this many bins is counted by rows. */
const BINS = 64;

/** Called with a thread, a node of the recording's own trie, nanoseconds of its own and calls that began. */
export type Slice = (thread: number, node: number, own_ns: number, calls: number) => void;

/** Whether slices say more of a range of time than rows do. */
export function needsSlices(length_ns: number, bin_ns: number, merged_below_ns: number): boolean {
  return merged_below_ns === 0 || length_ns < BINS * bin_ns;
}

/** Index of the first slice of a row that ends after `time`. */
export function firstAfter(lanes: Lanes, first: number, end: number, time: number): number {
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lanes.end[middle]! <= time) low = middle + 1;
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
        each(thread, node[i]!, time, start[i]! >= from ? calls[i]! : 0);
        if (above !== ROOT) each(thread, above, -time, 0);
      }
    }
  }
}
