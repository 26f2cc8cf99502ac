// SPDX-License-Identifier: MIT
// What numbers in a recording stand for. They are the enums of who writes it: a unit test compares them.

/** Kinds of code: enum dnp_code. Those before `native` are managed. */
export const CODE = { user: 0, framework: 1, native: 2, kernel: 3, gc: 4, jit: 5, other: 6 } as const;

/** How a slice ended: enum dnp_slice_end. */
export const HOW = { waits: 0, preempted: 1, ended: 2, runs: 3, unknown: 4, sampled: 5 } as const;

/** A slice's place: its processor, and how it ended in the lowest bits. */
export const HOW_BITS = 3;
export const HOW_MASK = (1 << HOW_BITS) - 1;
