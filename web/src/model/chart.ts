// SPDX-License-Identifier: MIT
// Which slices of a lane are visible in a window of time, and where: rows of rectangles.
//
// Slices narrower than a cell share it, so that a picture costs what is visible and not what was
// recorded: the next cell's first slice is found by bisection.

import type { Lane, Lanes } from '../data/lanes.ts';
import type { Nanoseconds } from '../data/time.ts';
import { Layout } from './layout.ts';
import { firstAfter } from './slicing.ts';

/** Pixels; narrower slices share a cell. */
const CELL = 1;

/** Which slices are searched for, and how many of them are before each. */
export interface Marked {
  readonly before: Uint32Array;
}

export function mark(lanes: Lanes, wanted: (slice: number) => boolean): Marked {
  const before = new Uint32Array(lanes.count + 1);
  for (let i = 0; i < lanes.count; i++) before[i + 1] = before[i]! + (wanted(i) ? 1 : 0);
  return { before };
}

/** The calls of methods, each by itself. */
export function markFrames({ trie, node, mixed, count }: Lanes, frames: Uint8Array): Marked {
  const wanted = Uint8Array.from(trie.frame, (f) => frames[f]!);
  const before = new Uint32Array(count + 1);
  for (let i = 0, n = 0; i < count; i++) before[i + 1] = n += wanted[node[i]!]! & (mixed[i]! ^ 1);
  return { before };
}

export const isMarked = ({ before }: Marked, slice: number) => before[slice + 1]! > before[slice]!;

/** The first slice from `first` on whose count of marked ones reaches `wanted`, before `end`. */
function reaching({ before }: Marked, first: number, end: number, wanted: number): number {
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before[middle + 1]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The next marked slice of first ≤ i < end, or -1. */
export function nextMarked(marked: Marked, first: number, end: number): number {
  return marked.before[end]! > marked.before[first]! ? reaching(marked, first, end, marked.before[first]! + 1) : -1;
}

/** The last one, or -1. */
function lastMarked(marked: Marked, first: number, end: number): number {
  return marked.before[end]! > marked.before[first]! ? reaching(marked, first, end, marked.before[end]!) : -1;
}

/** First slice of first ≤ i < end that starts at `time` or later, looked for near `first`. */
function firstStarting(start: Float64Array, first: number, end: number, time: number): number {
  let step = 1;
  let low = first;
  while (low + step < end && start[low + step]! < time) {
    low += step;
    step *= 2;
  }
  let high = Math.min(end, low + step);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Rows {
  readonly layout = new Layout();
  private readonly scale: number;

  constructor(
    private readonly lanes: Lanes,
    private readonly window: Nanoseconds,
    private readonly width: number,
    private readonly marked: Marked | null,
  ) {
    this.scale = width / (window.to - window.from);
  }

  private x(time: number): number {
    return Math.max(0, Math.min(this.width, (time - this.window.from) * this.scale));
  }

  /** Slices of first ≤ i < end. */
  add(first: number, end: number): void {
    const { start, end: ends } = this.lanes;
    const cell_ns = CELL / this.scale;
    let i = firstAfter(this.lanes, first, end, this.window.from);
    while (i < end && start[i]! < this.window.to) {
      if (ends[i]! - start[i]! >= cell_ns) {
        this.layout.add(i, this.x(start[i]!), Math.max(CELL, this.x(ends[i]!) - this.x(start[i]!)));
        i++;
      } else i = this.addCell(i, end);
    }
    this.layout.endRow();
  }

  /** All that begins within a cell, but for a last one that is wide. */
  private addCell(i: number, end: number): number {
    const { start, end: ends } = this.lanes;
    const left = Math.floor(this.x(start[i]!) / CELL) * CELL;
    const next = this.window.from + (left + CELL) / this.scale;
    let j = Math.max(i + 1, firstStarting(start, i, end, next));
    if (j - 1 > i && ends[j - 1]! - start[j - 1]! >= CELL / this.scale) j--;
    const shown = this.marked ? nextMarked(this.marked, i, j) : i;
    if (j - i > 1) this.layout.shared.set(this.layout.count, j - i);
    this.layout.add(shown < 0 ? i : shown, left, CELL);
    return j;
  }
}

/** Lays out a lane; a rectangle's node is a slice, the one that stands for its cell where it is shared. */
export function layOutLane(lanes: Lanes, lane: Lane, window: Nanoseconds, width: number, marked: Marked | null): Layout {
  const rows = new Rows(lanes, window, width, marked);
  for (let d = 0; d + 1 < lane.rowStart.length; d++) rows.add(lane.rowStart[d]!, lane.rowStart[d + 1]!);
  return rows.layout;
}

/** The slice of a row at a time, or -1. */
export function sliceAt(lanes: Lanes, lane: Lane, row: number, time: number): number {
  if (row < 0 || row + 1 >= lane.rowStart.length) return -1;
  const end = lane.rowStart[row + 1]!;
  const i = firstAfter(lanes, lane.rowStart[row]!, end, time);
  return i < end && lanes.start[i]! <= time ? i : -1;
}

/** The slice that a slice hangs below, or -1. Where calls of no length stand at its edge, it is not any that is there then. */
export function callerSlice(lanes: Lanes, lane: Lane, slice: number): number {
  const row = rowOf(lane, slice) - 1;
  const [from, to] = [lanes.start[slice]!, lanes.end[slice]!];
  if (row < 0) return -1;
  const [first, last] = [lane.rowStart[row]!, lane.rowStart[row + 1]!];
  const at = firstAfter(lanes, first, last, from);
  const holds = (i: number) => i >= first && i < last && lanes.start[i]! <= from && lanes.end[i]! >= to;
  const near = [at, at - 1, at + 1].filter(holds);
  return near.find((i) => lanes.node[i] === lanes.caller(slice)) ?? near[0] ?? -1;
}

/** The row of a slice of this lane. */
export function rowOf(lane: Lane, slice: number): number {
  let row = 0;
  while (row + 2 < lane.rowStart.length && lane.rowStart[row + 1]! <= slice) row++;
  return row;
}

/** The marked slice of a lane that comes after a slice, or before it, by start and then by row; of the slice -1, the first or the last. -1: none. */
export function markedBeside(lanes: Lanes, lane: Lane, marked: Marked, slice: number, step: number): number {
  const { start } = lanes;
  const time = slice >= 0 ? start[slice]! : step > 0 ? -1 : Infinity;
  let best = -1;
  for (let d = 0; d + 1 < lane.rowStart.length; d++) {
    const [first, end] = [lane.rowStart[d]!, lane.rowStart[d + 1]!];
    // Of those that start at the same time the ones in upper rows, which have lower numbers, come first.
    const from = firstStarting(start, first, end, time);
    const until = firstStarting(start, from, end, time + 1);
    const beside = Math.max(from, Math.min(until, step > 0 ? slice + 1 : slice));
    const i = step > 0 ? nextMarked(marked, beside, end) : lastMarked(marked, first, beside);
    if (i >= 0 && (best < 0 || (start[i]! - start[best]! || i - best) * step < 0)) best = i;
  }
  return best;
}
