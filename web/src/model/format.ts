// SPDX-License-Identifier: MIT
// Numbers, times and shares as text, the same everywhere.

import type { Mark } from '../data/beside.ts';
import type { EventInfo, Reasons } from '../data/meta.ts';

const integers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export const count = (n: number) => integers.format(n);

/** "12.3%", with three digits that say something. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return '0%';
  const share = (100 * part) / whole;
  if (share < 0.01) return '<0.01%';
  if (share > 99.995) return '100%';
  return `${share.toFixed(share >= 10 ? 1 : 2)}%`;
}

export function duration(ns: number): string {
  if (ns === 0) return '0 s';
  if (ns < 999.5) return `${Math.round(ns)} ns`;
  if (ns < 999.5e3) return `${three(ns / 1e3)} µs`;
  if (ns < 999.5e6) return `${three(ns / 1e6)} ms`;
  if (ns < 600e9) return `${three(ns / 1e9)} s`;
  const seconds = Math.round(ns / 1e9);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h} h ${m} min` : `${m} min ${s} s`;
}

/** How long a span took, or had when the recording ended. */
export const taken = ({ length, open }: Mark) => `${duration(length)}${open ? ', no end recorded' : ''}`;

/** Three significant digits, without a trailing exponent. */
function three(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** "950 B", "12.5 KiB", "1.25 GiB". */
export function bytes(n: number): string {
  if (n < 1024) return `${Math.round(n)} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let [value, unit] = [n / 1024, 0];
  for (; value >= 999.5 && unit + 1 < units.length; unit++) value /= 1024;
  return `${three(value)} ${units[unit]!}`;
}

/** How many, and why; false: there are no reasons. */
export const reasonsText = (what: string, all: number, reasons: Reasons, told: (n: number) => string = count) =>
  reasons.length > 0 && `${what} ${told(all)}: ${reasons.map(([name, n]) => `${name} ${told(n)}`).join(', ')}`;

type Lost = Pick<EventInfo, 'lost' | 'lost_by' | 'allocated' | 'unit' | 'calls'>;

/** What lost samples would have weighed; of calls, how many were lost. */
export const lostFigure = (n: number, { unit, calls }: Pick<EventInfo, 'unit' | 'calls'>) =>
  n === 0 || calls ? count(n) : unit === 'ns' ? duration(n) : unit === 'bytes' ? bytes(n) : count(n);

/** What was lost of objects that stay is none of those that are shown: it is told by what there was of it. */
export const lostText = (event: Lost) =>
  event.lost > 0 && event.allocated > 0
    ? `lost ${bytes(event.lost)}, ${percent(event.lost, event.allocated)} of the ${bytes(event.allocated)} allocated, of which nobody knows what stayed`
    : reasonsText('lost', event.lost, event.lost_by, (n) => lostFigure(n, event));

/** Weights of an event that counts calls are time, as are those of waits. */
export const isTime = (event: EventInfo) => Boolean(event.calls) || event.unit === 'ns';

export const isBytes = (event: EventInfo) => event.unit === 'bytes';

/** "1,234 samples", or a time, or "12.5 MiB". */
export const amount = (n: number, event: EventInfo) =>
  isTime(event) || isBytes(event) ? figure(n, event) : `${count(n)} ${n === 1 ? event.unit.replace(/s$/, '') : event.unit}`;

/** The same without its unit, where a header names that. */
export const figure = (n: number, event: EventInfo) =>
  isTime(event) ? duration(n * event.weight_ns) : isBytes(event) ? bytes(n * event.weight_bytes) : count(n);

/** "1 call", "1,234 calls". */
export const callCount = (n: number) => `${count(n)} ${n === 1 ? 'call' : 'calls'}`;

/** The mean time of a call; nothing where there is none. */
export const mean = (time: number, calls: number, event: EventInfo) =>
  calls > 0 ? duration((time * event.weight_ns) / calls) : '–';

/** The time that so many samples stand for, or nothing if they do not stand for time. */
export const sampledTime = (n: number, event: EventInfo) =>
  event.unit === 'samples' && event.interval_ns > 0 ? duration(n * event.interval_ns) : '';

/** The same, or how many samples it is. */
export const statedTime = (n: number, event: EventInfo) => sampledTime(n, event) || figure(n, event);

/** A point of time since the recording's start, to the nanosecond. */
export const instant = (ns: number) => `${(ns / 1e9).toFixed(9)} s`;

export function date(unix_ns: string): string {
  const ms = Number(unix_ns) / 1e6;
  const when = new Date(ms);
  if (!(ms > 0) || Number.isNaN(when.getTime())) return '';
  return when.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
}

/** A command as one could type it. */
export const command = (parts: readonly string[]) =>
  parts.map((p) => (/^[\w@%+=:,./-]+$/.test(p) ? p : `'${p.replace(/'/g, `'\\''`)}'`)).join(' ');
