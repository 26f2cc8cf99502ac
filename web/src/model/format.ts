// SPDX-License-Identifier: MIT
// Numbers, times and shares as text, the same everywhere.

import type { EventInfo } from '../data/meta.ts';

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
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${three(ns / 1e3)} µs`;
  if (ns < 1e9) return `${three(ns / 1e6)} ms`;
  if (ns < 600e9) return `${three(ns / 1e9)} s`;
  const seconds = Math.round(ns / 1e9);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h} h ${m} min` : `${m} min ${s} s`;
}

/** Three significant digits, without a trailing exponent. */
function three(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** "1,234 samples". */
export const amount = (n: number, event: EventInfo) =>
  `${count(n)} ${n === 1 ? event.unit.replace(/s$/, '') : event.unit}`;

/** The time that so many samples stand for, or nothing if they do not stand for time. */
export const sampledTime = (n: number, event: EventInfo) =>
  event.unit === 'samples' && event.interval_ns > 0 ? duration(n * event.interval_ns) : '';

/** The same, or how many samples it is. */
export const statedTime = (n: number, event: EventInfo) => sampledTime(n, event) || count(n);

export function date(unix_ns: string): string {
  const ms = Number(unix_ns) / 1e6;
  const when = new Date(ms);
  if (!(ms > 0) || Number.isNaN(when.getTime())) return '';
  return when.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
}

/** A command as one could type it. */
export const command = (parts: readonly string[]) =>
  parts.map((p) => (/^[\w@%+=:,./-]+$/.test(p) ? p : `'${p.replace(/'/g, `'\\''`)}'`)).join(' ');
