// SPDX-License-Identifier: MIT
// Parts of a recording, since its start.

/** From ≤ ns < to. */
export interface Nanoseconds {
  readonly from: number;
  readonly to: number;
}

/** In the recording's units of time: from ≤ t < to. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}
