// SPDX-License-Identifier: MIT
// What is known beside the slices of threads: what the program said it was doing, and who woke whom.

import { checkBelow, checkSame } from './calls.ts';
import type { Sections } from './decode.ts';
import { DataError } from './meta.ts';
import { splitStrings } from './strings.ts';
import type { Nanoseconds } from './time.ts';
import { Varints } from './varint.ts';

/** A point in time, or a span from there on. */
export interface Mark {
  readonly thread: number;
  readonly time: number;
  /** 0: a point. */
  readonly length: number;
  /** A span that had not ended: its length is that until the recording did. */
  readonly open: boolean;
  readonly text: string;
}

/** Who wakes others. */
export interface Waker {
  /** null: it has none in this page. */
  readonly thread: number | null;
  /** 0: an interrupt. */
  readonly pid: number;
  readonly tid: number;
  /** Empty: not known, or that of its thread. */
  readonly name: string;
}

export interface Wake {
  readonly time: number;
  readonly by: Waker;
}

/** When a thread was woken, in order of time, and by which of the wakers. */
export interface Wakes {
  readonly time: Float64Array;
  readonly by: Uint32Array;
}

export interface Beside {
  /** Each thread's, in order of time. */
  readonly marks: ReadonlyMap<number, readonly Mark[]>;
  readonly wakers: readonly Waker[];
  readonly wakes: ReadonlyMap<number, Wakes>;
}

const DAMAGED = 'The data of this page is damaged';

const NOTHING: Beside = { marks: new Map(), wakers: [], wakes: new Map() };

function readTimes(sections: Sections, name: string, count: number): Float64Array {
  const numbers = new Varints(sections.varint(name));
  const times = new Float64Array(count);
  for (let i = 0, now = 0; i < count; i++) times[i] = now += numbers.signed();
  if (!numbers.done) throw new DataError(`${DAMAGED}: there are more times than it says.`);
  return times;
}

/** Places of each thread's own, in order of time. */
function byThread(thread: Uint32Array, time: Float64Array, threads: number): Map<number, Uint32Array> {
  const next = new Uint32Array(threads + 1);
  for (const t of thread) next[t + 1]!++;
  for (let t = 1; t <= threads; t++) next[t]! += next[t - 1]!;
  const begin = next.slice();
  const places = new Uint32Array(thread.length);
  thread.forEach((t, i) => (places[next[t]!++] = i));
  const own = new Map<number, Uint32Array>();
  for (let t = 0; t < threads; t++) if (begin[t + 1]! > begin[t]!) own.set(t, inOrder(places.subarray(begin[t], begin[t + 1]), time));
  return own;
}

/** As a rule they are already. */
function inOrder(places: Uint32Array, time: Float64Array): Uint32Array {
  const late = (place: number, i: number) => i > 0 && time[place]! < time[places[i - 1]!]!;
  return places.some(late) ? places.sort((a, b) => time[a]! - time[b]!) : places;
}

function readMarks(sections: Sections, event: string, threads: number, strings: readonly string[]) {
  const [thread, text] = [sections.u32(`${event}.marks.thread`), sections.u32(`${event}.marks.text`)];
  checkSame('the columns of marks', thread, text);
  checkBelow(thread, threads, 'a thread is');
  checkBelow(text, strings.length, 'a text is');
  const time = readTimes(sections, `${event}.marks.times`, thread.length);
  const lengths = new Varints(sections.varint(`${event}.marks.lengths`));
  const length = Float64Array.from(thread, () => lengths.next()); // twice that, and one where it is open
  if (!lengths.done) throw new DataError(`${DAMAGED}: there are more lengths than it says.`);
  const marks = new Map<number, readonly Mark[]>();
  for (const [t, places] of byThread(thread, time, threads)) marks.set(t, Array.from(places, (i) => ({ thread: t, time: time[i]!, length: Math.floor(length[i]! / 2), open: length[i]! % 2 === 1, text: strings[text[i]!]! })));
  return marks;
}

function readWakers(sections: Sections, event: string, threads: number, strings: readonly string[]): Waker[] {
  const [thread, pid, tid, name] = ['thread', 'pid', 'tid', 'name'].map((c) => sections.u32(`${event}.wakers.${c}`)) as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
  for (const column of [pid, tid, name]) checkSame('the columns of wakers', thread, column);
  checkBelow(thread, threads + 1, 'a thread is');
  checkBelow(name, strings.length, 'a name is');
  return Array.from(thread, (t, i) => ({ thread: t > 0 ? t - 1 : null, pid: pid[i]!, tid: tid[i]!, name: strings[name[i]!]! }));
}

function readWakes(sections: Sections, event: string, threads: number, wakers: readonly Waker[]) {
  const [thread, by] = [sections.u32(`${event}.wakes.thread`), sections.u32(`${event}.wakes.by`)];
  checkSame('the columns of wake-ups', thread, by);
  checkBelow(thread, threads, 'a thread is');
  checkBelow(by, wakers.length, 'a waker is');
  const time = readTimes(sections, `${event}.wakes.times`, thread.length);
  const wakes = new Map<number, Wakes>();
  for (const [t, places] of byThread(thread, time, threads)) wakes.set(t, { time: Float64Array.from(places, (i) => time[i]!), by: places.map((i) => by[i]!) });
  return wakes;
}

export function readBeside(sections: Sections, event: string, threads: number): Beside {
  if (!sections.has(`${event}.marks.thread`)) return NOTHING;
  const strings = splitStrings(sections.utf8(`${event}.strings`));
  const wakers = readWakers(sections, event, threads, strings);
  return { marks: readMarks(sections, event, threads, strings), wakers, wakes: readWakes(sections, event, threads, wakers) };
}

export const isSpan = ({ length, open }: Mark) => length > 0 || open;

/** First of ascending numbers that is not below `wanted`. */
function notBelow(count: number, at: (i: number) => number, wanted: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const countWakes = (wakes: ReadonlyMap<number, Wakes>) => [...wakes.values()].reduce((sum, own) => sum + own.time.length, 0);

/** First of a thread's marks that is at a time or after it. */
export const firstMark = (marks: readonly Mark[], time: number) => notBelow(marks.length, (i) => marks[i]!.time, time);

export const countMarks = (marks: ReadonlyMap<number, readonly Mark[]>) => [...marks.values()].reduce((sum, own) => sum + own.length, 0);

/** A thread's marks in a part of the time, its end included. */
export function marksIn({ marks }: Beside, thread: number, { from, to }: Nanoseconds): readonly Mark[] {
  const own = marks.get(thread) ?? [];
  const first = firstMark(own, from);
  let end = first;
  while (end < own.length && own[end]!.time <= to) end++;
  return own.slice(first, end);
}

/** A thread's marks in a part of the time, and the spans that reach into it. */
export const saidIn = ({ marks }: Beside, thread: number, { from, to }: Nanoseconds): readonly Mark[] =>
  (marks.get(thread) ?? []).filter((m) => m.time <= to && m.time + m.length >= from);

/** Who last woke a thread in a part of the time; null: not known. */
export function wakeIn({ wakes, wakers }: Beside, thread: number, { from, to }: Nanoseconds): Wake | null {
  const own = wakes.get(thread);
  if (!own) return null;
  const i = notBelow(own.time.length, (k) => own.time[k]!, to + 1) - 1;
  return i >= 0 && own.time[i]! >= from ? { time: own.time[i]!, by: wakers[own.by[i]!]! } : null;
}
