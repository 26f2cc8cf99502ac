// SPDX-License-Identifier: MIT
import type { SampleRecording } from './sample.mjs';
export interface SampleCall {
  thread: number;
  node: number;
  start: number;
  end: number;
  /** Calls that it stands for, if it is not one. */
  calls?: number;
  /** Of several methods; `node` is their caller. */
  mixed?: boolean;
}
export function bucketOf(ns: number): number;
export function traceOf(
  builder: object, calls: readonly SampleCall[], meta: Record<string, unknown>,
  options?: { depth?: 'tree' | 'time' | 'events'; merged_below_ns?: number; bins?: number; slices?: (call: SampleCall) => boolean; instead?: readonly SampleCall[] },
): SampleRecording;
export function trace(options?: { depth?: 'tree' | 'time' | 'events'; requests?: number; seed?: number; cpu?: boolean }): SampleRecording;
export function manyCalls(options?: { slices?: number; threads?: number; seed?: number }): SampleRecording;
