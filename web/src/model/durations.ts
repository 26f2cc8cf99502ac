// SPDX-License-Identifier: MIT
// How long the calls of a method took: a histogram whose buckets grow with what they hold.

import { BUCKETS, bucketStart, type Rows } from '../data/calls.ts';
import type { Selection } from './selection.ts';
import { lowerBound } from './wanted.ts';

export interface Durations {
  /** Calls by bucket. */
  readonly counts: Float64Array;
  /** Buckets that have calls: first ≤ b < end. */
  readonly first: number;
  readonly end: number;
  readonly calls: number;
}

export function countDurations({ time, thread, node, weight }: Rows, s: Selection, method: number): Durations {
  const counts = new Float64Array(BUCKETS);
  const chosen = s.threads && new Set(s.threads);
  const first = s.time ? lowerBound(time, s.time.from) : 0;
  const end = s.time ? lowerBound(time, s.time.to) : time.length;
  const lowest = method * BUCKETS;
  for (let i = first; i < end; i++) {
    const bucket = node[i]! - lowest;
    if (bucket >= 0 && bucket < BUCKETS && (!chosen || chosen.has(thread[i]!))) counts[bucket]! += weight[i]!;
  }
  const calls = counts.reduce((a, b) => a + b, 0);
  const from = counts.findIndex((n) => n > 0);
  return { counts, first: Math.max(0, from), end: from < 0 ? 0 : BUCKETS - [...counts].reverse().findIndex((n) => n > 0), calls };
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
