// SPDX-License-Identifier: MIT
// Why threads waited, where a recording has that: since when, until when, what for, and on which stack.

import { checkBelow, checkSame } from './calls.ts';
import type { Sections } from './decode.ts';
import { DataError } from './meta.ts';
import { Varints } from './varint.ts';

export interface WaitKind {
  readonly name: string;
  readonly what: string;
  /** Another thread, or the runtime, is in the way. */
  readonly held: boolean;
}

/** As the recording numbers them. */
export const WAIT_KINDS: readonly WaitKind[] = [
  { name: 'other', what: 'something else, or not known', held: false },
  { name: 'lock', what: 'a lock that another thread holds', held: true },
  { name: 'sleep', what: 'some time to pass', held: false },
  { name: 'socket', what: 'a socket', held: false },
  { name: 'file', what: 'a file', held: false },
  { name: 'pipe', what: 'a pipe', held: false },
  { name: 'gc', what: 'a garbage collection to end', held: true },
  { name: 'pool', what: 'work, as a thread of the pool', held: false },
  { name: 'event', what: 'another thread to say so', held: false },
  { name: 'semaphore', what: 'a semaphore', held: false },
  { name: 'join', what: 'the end of another thread', held: false },
  { name: 'process', what: 'the end of another process', held: false },
  { name: 'runtime', what: 'the runtime to have something to do', held: false },
];

export interface Wait {
  readonly thread: number;
  readonly from: number;
  readonly to: number;
  readonly kind: WaitKind;
  /** Node of the recording's own trie; 0: no stack. */
  readonly node: number;
  /** The system call; may be empty. */
  readonly call: string;
}

/** Each thread's, in order of time. */
export type Waits = ReadonlyMap<number, readonly Wait[]>;

const DAMAGED = 'The data of this page is damaged';

/** Waits that were not over last to the end of the recording, of that process: `end` of a thread. */
export function readWaits(sections: Sections, event: string, threads: number, nodes: number, strings: readonly string[], end: (thread: number) => number): Waits {
  const waits = new Map<number, Wait[]>();
  if (!sections.has(`${event}.waits.thread`)) return waits;
  const [thread, node, call] = ['thread', 'node', 'call'].map((c) => sections.u32(`${event}.waits.${c}`)) as [Uint32Array, Uint32Array, Uint32Array];
  const kind = sections.u8(`${event}.waits.kind`);
  for (const column of [node, call, kind]) checkSame('the columns of waits', thread, column);
  checkBelow(thread, threads, 'a thread is');
  checkBelow(node, nodes, 'a call is');
  checkBelow(call, strings.length, 'a name is');
  const times = new Varints(sections.varint(`${event}.waits.times`));
  for (let i = 0, from = 0; i < thread.length; i++) {
    from += times.signed();
    const length = times.next();
    const wait = { thread: thread[i]!, from, to: length > 0 ? from + length : Math.max(from, end(thread[i]!)), kind: WAIT_KINDS[kind[i]!] ?? WAIT_KINDS[0]!, node: node[i]!, call: strings[call[i]!]! };
    const own = waits.get(wait.thread);
    if (own) own.push(wait);
    else waits.set(wait.thread, [wait]);
  }
  if (!times.done) throw new DataError(`${DAMAGED}: there are more waits than it says.`);
  for (const own of waits.values()) own.sort((a, b) => a.from - b.from);
  return waits;
}

/** First of a thread's waits that ends after a time. */
export function firstWait(waits: readonly Wait[], time: number): number {
  let [low, high] = [0, waits.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (waits[middle]!.to <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What a thread waited for at a time; null: not known. */
export function waitAt(waits: Waits, thread: number, time: number): Wait | null {
  const own = waits.get(thread) ?? [];
  const wait = own[firstWait(own, time)];
  return wait && wait.from <= time ? wait : null;
}
