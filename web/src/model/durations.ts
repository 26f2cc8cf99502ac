// SPDX-License-Identifier: MIT
// How long the calls of a method took: a histogram whose buckets grow with what they hold.

import { BUCKETS, bucketOf, bucketStart, type Calls, type Rows } from '../data/calls.ts';
import type { EventRows, Recording } from '../data/recording.ts';
import type { Nanoseconds } from '../data/time.ts';
import type { Selection } from './selection.ts';
import { firstAfter, partsOf, type Edge } from './slicing.ts';
import { lowerBound } from './wanted.ts';

export interface Durations {
  /** Calls by bucket. */
  readonly counts: Float64Array;
  /** Buckets that have calls: first ≤ b < end. */
  readonly first: number;
  readonly end: number;
  readonly calls: number;
}

/** Calls of a method, by bucket. */
class Counter {
  private readonly chosen: ReadonlySet<number> | null;

  constructor(
    private readonly recording: Recording,
    private readonly calls: Calls,
    s: Selection,
    private readonly method: number,
  ) {
    this.chosen = s.threads && new Set(s.threads);
  }

  private has(thread: number): boolean {
    return this.chosen === null || this.chosen.has(thread);
  }

  /** By rows; null: all of the time. */
  byRows({ time, thread, node, weight }: Rows, range: Nanoseconds | null): Float64Array {
    const { time_unit_ns: unit } = this.recording.meta;
    const counts = new Float64Array(BUCKETS);
    const first = range ? lowerBound(time, range.from / unit) : 0;
    const end = range ? lowerBound(time, range.to / unit) : time.length;
    const lowest = this.method * BUCKETS;
    for (let i = first; i < end; i++) {
      const bucket = node[i]! - lowest;
      if (bucket >= 0 && bucket < BUCKETS && this.has(thread[i]!)) counts[bucket]! += weight[i]!;
    }
    return counts;
  }

  /** Single calls that were over at a time in the range; `over`: when a slice was. */
  private bySlices({ from, to }: Nanoseconds, over: (slice: number) => number): Float64Array {
    const lanes = this.calls.lanes!;
    const counts = new Float64Array(BUCKETS);
    for (const { thread, rowStart } of lanes.lanes) {
      if (!this.has(thread)) continue;
      for (let d = 0; d + 1 < rowStart.length; d++) {
        const last = rowStart[d + 1]!;
        for (let i = firstAfter(lanes, rowStart[d]!, last, from - 1); i < last && lanes.start[i]! < to; i++)
          if (over(i) >= from && over(i) < to && lanes.single(i) && lanes.frame(i) === this.method) counts[bucketOf(lanes.end[i]! - lanes.start[i]!)]!++;
      }
    }
    return counts;
  }

  /** In a part of a bin: its single calls, and in proportion those that rows alone tell of. Of no calls but these is it known that they ended. */
  inEdge(rows: Rows, edge: Edge): Float64Array {
    const { start, end } = this.calls.lanes!;
    const { duration_ns } = this.recording.meta;
    const ended = this.byRows(rows, edge.bin);
    const inBin = this.bySlices(edge.bin, (i) => Math.min(end[i]!, duration_ns - 1));
    // The last moment of a call, so that a range that is one call has it, and not the one before it.
    const here = this.bySlices(edge, (i) => Math.max(start[i]!, end[i]! - 1));
    const part = (edge.to - edge.from) / (edge.bin.to - edge.bin.from);
    return ended.map((n, b) => (n >= inBin[b]! ? here[b]! + part * (n - inBin[b]!) : Math.min(n, here[b]!)));
  }
}

export function countDurations(recording: Recording, { info, calls }: EventRows, s: Selection, method: number): Durations {
  const rows = calls!.durations!;
  const unit = recording.meta.time_unit_ns;
  const counter = new Counter(recording, calls!, s, method);
  // Whole nanoseconds, as a range may have been chosen to be one call.
  const range = s.time && { from: Math.round(s.time.from * unit), to: Math.round(s.time.to * unit) };
  let counts: Float64Array;
  if (range && calls!.lanes) {
    const parts = partsOf(range, info.calls!.step_ns, info.calls!.merged_below_ns || 1, recording.meta.duration_ns);
    counts = parts.rows ? counter.byRows(rows, parts.rows) : new Float64Array(BUCKETS);
    for (const edge of parts.edges) counter.inEdge(rows, edge).forEach((n, b) => (counts[b]! += n));
    counts.forEach((n, b) => (counts[b] = Math.round(n)));
  } else counts = counter.byRows(rows, range);
  const from = counts.findIndex((n) => n > 0);
  return { counts, first: Math.max(0, from), end: from < 0 ? 0 : BUCKETS - [...counts].reverse().findIndex((n) => n > 0), calls: counts.reduce((a, b) => a + b, 0) };
}

/** The nanoseconds that a part of the calls stayed under, read off within its bucket. */
export function quantile({ counts, first, end, calls }: Durations, part: number): number {
  let left = part * calls;
  for (let b = first; b < end; b++) {
    if (left <= counts[b]!) {
      const [low, high] = [bucketStart(b), bucketStart(b + 1)];
      return low + (high - low) * (counts[b] === 0 ? 0 : left / counts[b]!);
    }
    left -= counts[b]!;
  }
  return bucketStart(end);
}
