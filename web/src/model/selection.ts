// SPDX-License-Identifier: MIT
// What the user looks at: one selection, which all views share, and how it is shown.

import type { Recording } from '../data/recording.ts';
import type { Nanoseconds, TimeRange } from '../data/time.ts';
import { NATIVES, type Native } from '../data/trie.ts';

/** Samples of which threads: of those that ran, those that waited, or all. */
export type Activity = 'any' | 'running' | 'waiting';

export const ACTIVITIES: readonly Activity[] = ['any', 'running', 'waiting'];

export interface Selection {
  /** Index of the event whose samples are counted. */
  readonly event: number;
  /** null: all of the recording. */
  readonly time: TimeRange | null;
  /** Indices of threads, ascending; null: all of them. */
  readonly threads: readonly number[] | null;
  /** Means something where the event knows it, and nothing elsewhere. */
  readonly activity: Activity;
  readonly native: Native;
  /** Part of a name, or a regular expression. */
  readonly search: string;
  readonly regex: boolean;
  /** Count only samples whose stack has a match. */
  readonly only: boolean;
  /** Callers above callees (leaf first) instead of callees below callers. */
  readonly reverse: boolean;
  /** A method that calls itself is one frame. */
  readonly collapse: boolean;
  /** Frames from the root to the node in focus; empty: everything. */
  readonly focus: readonly number[];
  /** The method whose callers and callees are asked for. */
  readonly method: number | null;
}

export type Order = 'weight' | 'name';

/** What rows of the time line stand for, and their order. */
export type RowsBy = 'thread' | 'cpu';
export type RowOrder = 'activity' | 'name' | 'tid' | 'first';

export const ROW_ORDERS: readonly RowOrder[] = ['activity', 'name', 'tid', 'first'];

export interface State extends Selection {
  readonly view: string;
  /** Flames grow up from the root at the bottom; icicles hang from it. */
  readonly flames: boolean;
  readonly order: Order;
  /** The thread whose single calls are drawn; null: the busiest of those chosen. */
  readonly lane: number | null;
  /** What of the time the drawing of single calls shows; null: the time range. */
  readonly window: Nanoseconds | null;
  /** Calls of the method that took so long are brought out; null: all of them. */
  readonly lengths: Nanoseconds | null;
  readonly by: RowsBy;
  readonly rowOrder: RowOrder;
  /** Threads that are many alike are one row; null: where there would be too many rows. */
  readonly grouped: boolean | null;
  /** Threads that hardly ever had a processor have rows, too. */
  readonly idle: boolean;
}

export const INITIAL: State = {
  event: 0,
  time: null,
  threads: null,
  activity: 'any',
  native: 'all',
  search: '',
  regex: false,
  only: false,
  reverse: false,
  collapse: false,
  focus: [],
  method: null,
  view: 'flame',
  flames: false,
  order: 'weight',
  lane: null,
  window: null,
  lengths: null,
  by: 'thread',
  rowOrder: 'activity',
  grouped: null,
  idle: true,
};

/** What a page shows first. */
export function initial(recording: Recording): State {
  const { begin } = recording.meta;
  const event = recording.events.findIndex((e) => e.info.name === begin.event);
  return {
    ...INITIAL,
    event: Math.max(0, event),
    activity: ACTIVITIES.find((a) => a === begin.state) ?? INITIAL.activity,
    native: NATIVES.find((n) => n === begin.native) ?? INITIAL.native,
  };
}

type Listener = (state: State) => void;

/**
 * Another tree has other nodes: a focus in the old one means nothing there. Another range of time is
 * one to look at; durations are those of one method.
 */
function withoutStale(old: State, patch: Partial<State>): Partial<State> {
  const turned = patch.reverse !== undefined && patch.reverse !== old.reverse;
  return {
    ...(turned && { focus: [] }),
    ...(patch.time !== undefined && { window: null }),
    ...(patch.method !== undefined && patch.method !== old.method && { lengths: null }),
    ...patch,
  };
}

export class Store {
  private readonly listeners: Listener[] = [];

  constructor(public state: State = INITIAL) {}

  set(patch: Partial<State>): void {
    this.state = { ...this.state, ...withoutStale(this.state, patch) };
    for (const listener of this.listeners) listener(this.state);
  }

  on(listener: Listener): void {
    this.listeners.push(listener);
  }
}
