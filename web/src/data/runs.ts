// SPDX-License-Identifier: MIT
// What an event of switches has: for each thread when it had a processor, the kernel's clocks, and what
// was lost.

import { readBeside, type Beside } from './beside.ts';
import type { Sections } from './decode.ts';
import { DataError, type EventInfo } from './meta.ts';
import { HOW_BITS, HOW_MASK } from './numbers.ts';
import { Track } from './track.ts';
import { Varints } from './varint.ts';
import { readWaits, type Waits } from './waits.ts';

/** Of one thread, in order of time: what its clocks said. */
export interface Readings {
  readonly time: Float64Array;
  /** CPU time that it used, and time that it could have run and had no processor. */
  readonly cpu: Float64Array;
  readonly ready: Float64Array;
}

/** A time in which a processor's switches are missing. */
export interface Loss {
  readonly cpu: number;
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

export interface Runs {
  readonly info: EventInfo;
  /** Of the threads that there is anything of; `id` is the thread. */
  readonly tracks: readonly Track[];
  readonly clocks: ReadonlyMap<number, Readings>;
  readonly losses: readonly Loss[];
  readonly waits: Waits;
  readonly beside: Beside;
  /** One more than the highest number of a processor; 0: not known. */
  readonly cpus: number;
  /** When the last of it was. */
  readonly end: number;
}

const DAMAGED = 'The data of this page is damaged';
const PER_TRACK = 3;
/** In pages from looks at clocks, no processor is known. */
const NO_CPU = 0x1fff;

/** Reads LEB128 numbers; most of those here have one to four bytes. */
class Reader {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  next(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    if (byte < 128) return byte;
    let value = byte & 127;
    for (let shift = 7; shift < 28; shift += 7) {
      byte = bytes[this.at++]!;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    return this.rest(value);
  }

  private rest(value: number): number {
    for (let factor = 2 ** 28; factor < 2 ** 53; factor *= 128) {
      const byte = this.bytes[this.at++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    return NaN;
  }

  /** Whether all was read, and no more than there is. */
  get done(): boolean {
    return this.at === this.bytes.length;
  }
}

function readTracks(sections: Sections, event: string, threads: number) {
  const list = sections.u32(`${event}.runs.threads`);
  const bytes = sections.varint(`${event}.runs.slices`);
  let count = 0;
  for (let k = 0; k < list.length; k += PER_TRACK) {
    if (list[k]! >= threads) throw new DataError(`${DAMAGED}: a thread is out of range.`);
    count += list[k + 1] ?? 0;
  }
  // Each slice is three bytes at least: no more memory than was read is asked for.
  if (list.length % PER_TRACK !== 0 || count * 3 > bytes.length) throw new DataError(`${DAMAGED}: slices are missing.`);
  const start = new Float64Array(count);
  const ran = new Float64Array(count + list.length / PER_TRACK);
  const where = new Uint16Array(count);
  const reader = new Reader(bytes);
  const tracks: Track[] = [];
  let highest = -1;
  for (let k = 0, i = 0, r = 0; k < list.length; k += PER_TRACK, r++) {
    const [first, firstRan] = [i, r];
    const from = reader.next();
    let now = from;
    for (const last = i + list[k + 1]!; i < last; i++, r++) {
      now += reader.next();
      const length = reader.next();
      const place = reader.next();
      start[i] = now;
      ran[r + 1] = ran[r]! + length;
      const cpu = place >>> HOW_BITS;
      where[i] = (Math.min(cpu, NO_CPU) << HOW_BITS) | (place & HOW_MASK);
      if (cpu > highest && cpu < NO_CPU) highest = cpu;
      now += length;
    }
    const to = now + reader.next();
    if (!(to < 2 ** 53)) throw new DataError(`${DAMAGED}: a time is out of range.`);
    const columns = { start: start.subarray(first, i), ran: ran.subarray(firstRan, r + 1), where: where.subarray(first, i), owner: null };
    tracks.push(new Track(list[k]!, { from, to }, list[k + 2]!, columns));
  }
  if (!reader.done) throw new DataError(`${DAMAGED}: there are more slices than it says.`);
  return { tracks, cpus: highest + 1 };
}

function readClocks(sections: Sections, event: string, threads: number): Map<number, Readings> {
  const list = sections.u32(`${event}.clocks.threads`);
  const bytes = sections.varint(`${event}.clocks.readings`);
  const reader = new Varints(bytes);
  const clocks = new Map<number, Readings>();
  for (let k = 0; k < list.length; k += 2) {
    const [thread, n] = [list[k]!, list[k + 1] ?? 0];
    if (thread >= threads || n * 3 > bytes.length) throw new DataError(`${DAMAGED}: a thread's clock is out of range.`);
    const readings = { time: new Float64Array(n), cpu: new Float64Array(n), ready: new Float64Array(n) };
    for (let i = 0; i < n; i++)
      for (const column of [readings.time, readings.cpu, readings.ready]) column[i] = (i > 0 ? column[i - 1]! : 0) + reader.next();
    clocks.set(thread, readings);
  }
  return clocks;
}

function readLosses(sections: Sections, event: string): Loss[] {
  const reader = new Varints(sections.varint(`${event}.losses`));
  const losses: Loss[] = [];
  while (!reader.done) {
    const [cpu, from] = [reader.next(), reader.next()];
    const to = from + reader.next();
    losses.push({ cpu, from, to, count: reader.next() });
  }
  return losses;
}

export function readRuns(sections: Sections, info: EventInfo, threads: number, nodes: number, strings: readonly string[]): Runs {
  const event = info.name;
  const read = readTracks(sections, event, threads);
  const losses = readLosses(sections, event);
  const end = [...read.tracks.map((t) => t.life), ...losses].reduce((last, { to }) => Math.max(last, to), 0);
  const lives = new Map(read.tracks.map((t) => [t.id, t.life.to]));
  return {
    info, ...read, losses, clocks: readClocks(sections, event, threads), end,
    waits: readWaits(sections, event, threads, nodes, strings, (thread) => lives.get(thread) ?? end), beside: readBeside(sections, event, threads),
  };
}
