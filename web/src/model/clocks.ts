// SPDX-License-Identifier: MIT
// What the kernel's own clocks of a thread say of a part of the time: they were read now and then only.

import type { Readings } from '../data/runs.ts';
import type { Nanoseconds } from '../data/time.ts';
import { lowerBound } from './wanted.ts';

export interface Clocked {
  readonly cpu: number;
  readonly ready: number;
  /** The time between the readings that this is from. */
  readonly length: number;
}

/** From the first reading in the time to the last; null: there are not two of them. */
export function clocked(readings: Readings | undefined, { from, to }: Nanoseconds): Clocked | null {
  if (!readings) return null;
  const first = lowerBound(readings.time, from);
  const last = lowerBound(readings.time, to + 1) - 1;
  if (last <= first) return null;
  const between = (column: Float64Array) => column[last]! - column[first]!;
  return { cpu: between(readings.cpu), ready: between(readings.ready), length: between(readings.time) };
}
