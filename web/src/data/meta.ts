// SPDX-License-Identifier: MIT
// The small JSON block of a page: what was recorded, and which arrays the data block holds.

/** The recording in this page cannot be shown; the message is for the user. */
export class DataError extends Error {}

export const META_VERSION = 1;

export interface ProcessInfo {
  pid: number;
  name: string;
  command: string[];
  runtime: string;
  start_ns: number;
  duration_ns: number;
}

export interface ThreadInfo {
  process: number;
  tid: number;
  name: string;
  samples: number;
  cpu_ns: number;
}

/** So many of them, by what they are called. */
export type Reasons = readonly (readonly [string, number])[];

export interface EventInfo {
  name: string;
  unit: string;
  source: string;
  interval_ns: number;
  samples: number;
  /** Of them those whose thread did not run. */
  waiting: number;
  lost: number;
  lost_by: Reasons;
  truncated: number;
  unresolved: number;
  failed: number;
  failures: Reasons;
  rows: number;
  note: string;
}

export interface SectionInfo {
  name: string;
  type: string;
  bytes?: number;
  count?: number;
}

/** What the page shows first. */
export interface Beginning {
  event: string;
  native: string;
  state: string;
}

export interface Meta {
  version: number;
  tool: string;
  title: string;
  start_unix_ns: string;
  duration_ns: number;
  time_unit_ns: number;
  processes: ProcessInfo[];
  threads: ThreadInfo[];
  events: EventInfo[];
  begin: Beginning;
  problems: string[];
  sections: SectionInfo[];
}

type Json = Record<string, unknown>;

const isObject = (v: unknown): v is Json => typeof v === 'object' && v !== null && !Array.isArray(v);
const text = (o: Json, key: string) => (typeof o[key] === 'string' ? (o[key] as string) : '');
const num = (o: Json, key: string) => {
  const v = Number(o[key]);
  return Number.isFinite(v) ? v : 0;
};
const list = (o: Json, key: string): unknown[] => (Array.isArray(o[key]) ? (o[key] as unknown[]) : []);
const objects = (o: Json, key: string) => list(o, key).filter(isObject);
const reasons = (o: Json, key: string): Reasons =>
  isObject(o[key]) ? Object.keys(o[key] as Json).map((name) => [name, num(o[key] as Json, name)] as const) : [];
const texts = (o: Json, key: string) => list(o, key).filter((v) => typeof v === 'string') as string[];

/** Reads the block; what is missing gets an empty value, what is unknown is ignored. */
export function parseMeta(source: string): Meta {
  let raw: unknown;
  try {
    raw = JSON.parse(source);
  } catch {
    throw new DataError('The description of the recording in this page is damaged or cut off.');
  }
  if (!isObject(raw)) throw new DataError('The description of the recording in this page is not an object.');
  const version = num(raw, 'version');
  if (version !== META_VERSION)
    throw new DataError(
      `This page holds a recording of version ${version}, but its program reads version ${META_VERSION}. ` +
        'Export the recording again with one version of dnprof.',
    );
  const begin = isObject(raw['begin']) ? raw['begin'] : {};
  const meta: Meta = {
    version,
    tool: text(raw, 'tool'),
    title: text(raw, 'title'),
    start_unix_ns: text(raw, 'start_unix_ns'),
    duration_ns: num(raw, 'duration_ns'),
    time_unit_ns: num(raw, 'time_unit_ns'),
    processes: objects(raw, 'processes').map((p) => ({
      pid: num(p, 'pid'),
      name: text(p, 'name'),
      command: texts(p, 'command'),
      runtime: text(p, 'runtime'),
      start_ns: num(p, 'start_ns'),
      duration_ns: num(p, 'duration_ns'),
    })),
    threads: objects(raw, 'threads').map((t) => ({
      process: num(t, 'process'),
      tid: num(t, 'tid'),
      name: text(t, 'name'),
      samples: num(t, 'samples'),
      cpu_ns: num(t, 'cpu_ns'),
    })),
    events: objects(raw, 'events').map((e) => ({
      name: text(e, 'name'),
      unit: text(e, 'unit'),
      source: text(e, 'source'),
      interval_ns: num(e, 'interval_ns'),
      samples: num(e, 'samples'),
      waiting: num(e, 'waiting'),
      lost: num(e, 'lost'),
      lost_by: reasons(e, 'lost_by'),
      truncated: num(e, 'truncated'),
      unresolved: num(e, 'unresolved'),
      failed: num(e, 'failed'),
      failures: reasons(e, 'failures'),
      rows: num(e, 'rows'),
      note: text(e, 'note'),
    })),
    begin: { event: text(begin, 'event'), native: text(begin, 'native'), state: text(begin, 'state') },
    problems: texts(raw, 'problems'),
    sections: objects(raw, 'sections').map((s) => {
      const section: SectionInfo = { name: text(s, 'name'), type: text(s, 'type') };
      if ('bytes' in s) section.bytes = num(s, 'bytes');
      if ('count' in s) section.count = num(s, 'count');
      return section;
    }),
  };
  if (!(meta.time_unit_ns > 0)) throw new DataError('The recording in this page has no unit of time.');
  return meta;
}
