// SPDX-License-Identifier: MIT
// The small JSON block of a page: what was recorded, and which arrays the data block holds.

import { printable } from './printable.ts';

/** The recording in this page cannot be shown; the message is for the user. */
export class DataError extends Error {}

export const META_VERSION = 1;

export interface ProcessInfo {
  pid: number;
  /** No other one is called that. */
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

export type CallDepth = 'tree' | 'time' | 'events';

/** What an event of switches says of them. */
export interface SwitchesInfo {
  voluntary: number;
  involuntary: number;
  /** There are no switches, but looks at which threads ran. */
  sampled: boolean;
  /** How many there were; the page may have the first of them only. */
  marks: number;
  wakes: number;
}

/** What an event that counts calls says of them. */
export interface CallsInfo {
  /** What was recorded of each call: that it was, its time added up, or when it began and ended. */
  depth: CallDepth;
  calls: number;
  methods: number;
  left_out: number;
  unwinds: number;
  open: number;
  /** Width of the bins of time that rows stand for; 0: rows are of a moment. */
  bin_ns: number;
  /** How exactly it is known when calls began and how long they took, where there are no single ones. */
  step_ns: number;
  /** Calls shorter than this may be drawn as one with their neighbours. */
  merged_below_ns: number;
}

export type ColumnKind = 'name' | 'text' | 'count' | 'ns' | 'bytes';

/** What the report has besides stacks; a row has a value for each column, '' for a number that is not known. */
export interface TableInfo {
  title: string;
  /** The page has the first of them. */
  rows_in_all: number;
  columns: { title: string; kind: ColumnKind }[];
  rows: (string | number)[][];
}

export interface EventInfo {
  name: string;
  unit: string;
  source: string;
  /** For how much weight one is kept of the smallest that are chosen by lot, where that became more than was asked for; else 0. */
  raised_lot: number;
  interval_ns: number;
  samples: number;
  /** Of them those whose thread did not run. */
  waiting: number;
  /** CPU time that the kernel counted for the threads that were sampled; 0: not known, or it is no sampling of that. */
  clock_ns: number;
  /** Moments that the samples are of where these weigh more or less, and how many of equal weight would tell as much; 0: not known. */
  looks: number;
  equal_looks: number;
  lost: number;
  /** Of objects that stay: bytes allocated, of which `lost` is a part; 0: it is another event, or not known. */
  allocated: number;
  lost_by: Reasons;
  truncated: number;
  unresolved: number;
  failed: number;
  failures: Reasons;
  rows: number;
  note: string;
  /** What a filter does not leave out of it, as a sentence; '': nothing, or there is no filter. */
  not_filtered: string;
  /** Nanoseconds that a weight of 1 stands for, where weights are time. */
  weight_ns: number;
  /** Bytes that a weight of 1 stands for, where weights are bytes. */
  weight_bytes: number;
  /** null: weights count samples. */
  calls: CallsInfo | null;
  switches: SwitchesInfo | null;
  tables: TableInfo[];
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

const DEPTHS: readonly CallDepth[] = ['tree', 'time', 'events'];

const callsInfo = (o: Json): CallsInfo | null =>
  'depth' in o
    ? {
        depth: DEPTHS.find((d) => d === o['depth']) ?? 'tree',
        calls: num(o, 'calls'),
        methods: num(o, 'methods'),
        left_out: num(o, 'left_out'),
        unwinds: num(o, 'unwinds'),
        open: num(o, 'open'),
        bin_ns: num(o, 'bin_ns'),
        step_ns: num(o, 'step_ns'),
        merged_below_ns: num(o, 'merged_below_ns'),
      }
    : null;

const switchesInfo = (o: Json): SwitchesInfo | null =>
  'voluntary' in o
    ? { voluntary: num(o, 'voluntary'), involuntary: num(o, 'involuntary'), sampled: o['sampled'] === true, marks: num(o, 'marks'), wakes: num(o, 'wakes') }
    : null;

export const isText = (kind: ColumnKind) => kind === 'name' || kind === 'text';

const KINDS: readonly ColumnKind[] = ['name', 'text', 'count', 'ns', 'bytes'];

function tableInfo(o: Json): TableInfo {
  const columns = objects(o, 'columns').map((c) => ({ title: text(c, 'title'), kind: KINDS.find((k) => k === c['kind']) ?? 'text' }));
  const value = (row: unknown[], i: number) => {
    const found = row[i];
    if (isText(columns[i]!.kind)) return typeof found === 'string' ? found : '';
    return typeof found === 'number' || found === '' ? found : 0;
  };
  const rows = list(o, 'rows').filter((r) => Array.isArray(r)) as unknown[][];
  return { title: text(o, 'title'), rows_in_all: num(o, 'rows_in_all'), columns, rows: rows.map((r) => columns.map((_, i) => value(r, i))) };
}

/** Processes that are called the same have their ids with it. */
function toldApart(processes: ProcessInfo[]): ProcessInfo[] {
  const times = new Map<string, number>();
  for (const { name } of processes) times.set(name, (times.get(name) ?? 0) + 1);
  return processes.map((p) => ((times.get(p.name) ?? 0) > 1 ? { ...p, name: `${p.name} (${p.pid})` } : p));
}

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
    processes: toldApart(objects(raw, 'processes').map((p) => ({
      pid: num(p, 'pid'),
      name: printable(text(p, 'name')),
      command: texts(p, 'command'),
      runtime: text(p, 'runtime'),
      start_ns: num(p, 'start_ns'),
      duration_ns: num(p, 'duration_ns'),
    }))),
    threads: objects(raw, 'threads').map((t) => ({
      process: num(t, 'process'),
      tid: num(t, 'tid'),
      name: printable(text(t, 'name')),
      samples: num(t, 'samples'),
      cpu_ns: num(t, 'cpu_ns'),
    })),
    events: objects(raw, 'events').map((e) => ({
      name: text(e, 'name'),
      unit: text(e, 'unit'),
      source: text(e, 'source'),
      raised_lot: num(e, 'lot_asked') && num(e, 'lot'),
      interval_ns: num(e, 'interval_ns'),
      samples: num(e, 'samples'),
      waiting: num(e, 'waiting'),
      clock_ns: num(e, 'clock_ns'),
      looks: num(e, 'looks'),
      equal_looks: num(e, 'equal_looks'),
      lost: num(e, 'lost'),
      allocated: num(e, 'allocated'),
      lost_by: reasons(e, 'lost_by'),
      truncated: num(e, 'truncated'),
      unresolved: num(e, 'unresolved'),
      failed: num(e, 'failed'),
      failures: reasons(e, 'failures'),
      rows: num(e, 'rows'),
      note: text(e, 'note'),
      not_filtered: text(e, 'not_filtered'),
      weight_ns: num(e, 'weight_ns') || 1,
      weight_bytes: num(e, 'weight_bytes') || 1,
      calls: callsInfo(e),
      switches: switchesInfo(e),
      tables: objects(e, 'tables').map(tableInfo),
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
