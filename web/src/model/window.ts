// SPDX-License-Identifier: MIT
// What of the time drawings show, and which range of it all views count: in nanoseconds, while the range
// itself is in the recording's units.

import type { Nanoseconds } from '../data/time.ts';
import type { State, Store } from './selection.ts';

/** Nothing shorter can be looked at. */
export const LEAST_NS = 20;

/** A window of the same length or less, within the whole. */
export function within(window: Nanoseconds, whole: Nanoseconds): Nanoseconds {
  const length = Math.min(Math.max(window.to - window.from, LEAST_NS), whole.to - whole.from);
  const from = Math.max(whole.from, Math.min(whole.to - length, window.from));
  return { from, to: from + length };
}

export class TimeWindow {
  constructor(
    private readonly store: Store,
    private readonly unit_ns: number,
    /** All of the time that can be looked at. */
    readonly whole: () => Nanoseconds,
  ) {}

  /** What all views count; null: all of it. */
  range({ time }: State): Nanoseconds | null {
    return time && { from: time.from * this.unit_ns, to: time.to * this.unit_ns };
  }

  /** What is in sight. */
  get now(): Nanoseconds {
    const { state } = this.store;
    return within(state.window ?? this.range(state) ?? this.whole(), this.whole());
  }

  /** All views count this range, as far as there is any; what is in sight stays. */
  count({ from, to }: Nanoseconds): void {
    const whole = this.whole();
    const first = Math.max(whole.from, Math.min(Math.floor(from), Math.ceil(whole.to) - 1));
    const last = Math.max(first + 1, Math.min(Math.ceil(to), Math.ceil(whole.to)));
    this.store.set({ time: { from: first / this.unit_ns, to: last / this.unit_ns }, window: this.now });
  }
}
