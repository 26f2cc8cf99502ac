// SPDX-License-Identifier: MIT
import type { SampleRecording } from './sample.mjs';
export const HOW: { waits: 0; preempted: 1; ended: 2; runs: 3; unknown: 4; sampled: 5 };
export interface SampleRow {
  from?: number;
  to?: number;
  before?: number;
  /** Start, length, processor, how it ended. */
  slices: [number, number, number, number][];
  /** Time, CPU time, time it could have run. */
  clocks?: [number, number, number][];
}
export function runsOf(
  rows: readonly SampleRow[], meta: Record<string, unknown>,
  options?: {
    marks?: [number, number, string, number?, boolean?][]; wakers?: { thread: number; pid?: number; tid?: number; name?: string }[]; wakes?: [number, number, number][];
    told?: { marks?: number; wakes?: number }; waits?: [number, number, number, number, string[], string][]; losses?: { cpu: number; from: number; to: number; count: number }[]; sampled?: boolean; samples?: [number, number, string[]][]; note?: string;
  },
): SampleRecording;
export function threads(options?: {
  duration_ns?: number; cpus?: number; workers?: number; idle?: number; seed?: number; loss?: boolean; cpu?: boolean; sampled?: boolean; beside?: boolean; told?: { marks?: number; wakes?: number };
}): SampleRecording;
export function manyRuns(options?: { slices?: number; threads?: number; cpus?: number; seed?: number }): SampleRecording;
