// SPDX-License-Identifier: MIT
// The state of the page as the part of its address after '#', so that a link or a reload brings it back.

import type { Recording } from '../data/recording.ts';
import type { Nanoseconds, TimeRange } from '../data/time.ts';
import { NATIVES } from '../data/trie.ts';
import { ACTIVITIES, INITIAL, initial, ROW_ORDERS, type State } from './selection.ts';

const DEEPEST_FOCUS = 2000;

const flag = (on: boolean) => (on ? '1' : null);

function milliseconds(time: TimeRange | null, unit_ns: number): string | null {
  return time && `${(time.from * unit_ns) / 1e6}-${(time.to * unit_ns) / 1e6}`;
}

const nanoseconds = (range: Nanoseconds | null) => range && `${range.from}-${range.to}`;

export function toHash(state: State, recording: Recording): string {
  const begin = initial(recording);
  const parts: [string, string | null][] = [
    ['view', state.view === INITIAL.view ? null : state.view],
    ['event', state.event === begin.event ? null : recording.events[state.event]!.info.name],
    ['ms', milliseconds(state.time, recording.meta.time_unit_ns)],
    ['threads', state.threads && state.threads.join('.')],
    ['state', state.activity === begin.activity ? null : state.activity],
    ['native', state.native === begin.native ? null : state.native],
    ['q', state.search || null],
    ['regex', flag(state.regex)],
    ['only', flag(state.only)],
    ['callers', flag(state.reverse)],
    ['collapse', flag(state.collapse)],
    ['flames', flag(state.flames)],
    ['order', state.order === INITIAL.order ? null : state.order],
    ['focus', state.focus.map((f) => f.toString(36)).join('.') || null],
    ['method', state.method === null ? null : String(state.method)],
    ['lane', state.lane === null ? null : String(state.lane)],
    ['window', nanoseconds(state.window)],
    ['lengths', nanoseconds(state.lengths)],
    ['by', state.by === INITIAL.by ? null : state.by],
    ['rows', state.rowOrder === INITIAL.rowOrder ? null : state.rowOrder],
    ['group', state.grouped === null ? null : state.grouped ? '1' : '0'],
    ['busy', flag(!state.idle)],
  ];
  const query = new URLSearchParams();
  for (const [key, value] of parts) if (value !== null) query.set(key, value);
  return query.toString();
}

function indices(text: string, base: number, limit: number): number[] | null {
  const values = text.split('.').map((part) => parseInt(part, base));
  return values.every((v) => v >= 0 && v < limit) ? values : null;
}

function parseTime(text: string | null, { meta: { time_unit_ns: unit_ns }, end }: Recording): TimeRange | null {
  const match = text && /^([\d.]+)-([\d.]+)$/.exec(text);
  if (!match) return null;
  const [from, to] = [match[1]!, match[2]!].map((ms) => Math.round(Number(ms) * 1e6) / unit_ns) as [number, number];
  return to > from && from < end ? { from, to: Math.min(to, end) } : null;
}

function parseNanoseconds(text: string | null): Nanoseconds | null {
  const match = text && /^([\d.]+)-([\d.]+)$/.exec(text);
  if (!match) return null;
  const [from, to] = [Number(match[1]), Number(match[2])];
  return to > from ? { from, to } : null;
}

function parseThreads(text: string | null, count: number): number[] | null {
  const threads = text === null ? null : indices(text, 10, count);
  return threads && [...new Set(threads)].sort((a, b) => a - b);
}

/** What cannot be read, or does not fit this recording, is as if it were not there. */
export function fromHash(hash: string, recording: Recording): State {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  const begin = initial(recording);
  const event = recording.events.findIndex((e) => e.info.name === query.get('event'));
  const focus = indices(query.get('focus') ?? '', 36, recording.frames) ?? [];
  const method = indices(query.get('method') ?? '', 10, recording.frames);
  return {
    event: event < 0 ? begin.event : event,
    time: parseTime(query.get('ms'), recording),
    threads: parseThreads(query.get('threads'), recording.meta.threads.length),
    activity: ACTIVITIES.find((a) => a === query.get('state')) ?? begin.activity,
    native: NATIVES.find((n) => n === query.get('native')) ?? begin.native,
    search: query.get('q') ?? '',
    regex: query.get('regex') === '1',
    only: query.get('only') === '1',
    reverse: query.get('callers') === '1',
    collapse: query.get('collapse') === '1',
    focus: focus.slice(0, DEEPEST_FOCUS),
    method: method && method[0]!,
    view: query.get('view') ?? INITIAL.view,
    flames: query.get('flames') === '1',
    order: query.get('order') === 'name' ? 'name' : 'weight',
    lane: indices(query.get('lane') ?? '', 10, recording.meta.threads.length)?.[0] ?? null,
    window: parseNanoseconds(query.get('window')),
    lengths: parseNanoseconds(query.get('lengths')),
    by: query.get('by') === 'cpu' && (recording.runs?.cpus ?? 0) > 0 ? 'cpu' : 'thread',
    rowOrder: ROW_ORDERS.find((o) => o === query.get('rows')) ?? INITIAL.rowOrder,
    grouped: query.has('group') ? query.get('group') === '1' : null,
    idle: query.get('busy') !== '1',
  };
}
