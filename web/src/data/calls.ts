// SPDX-License-Identifier: MIT
// What an event that counts calls knows beyond time.

import type { Sections } from './decode.ts';
import { Lanes } from './lanes.ts';
import { DataError, type EventInfo } from './meta.ts';
import type { Trie } from './trie.ts';

/** Amounts by time, thread and something that `node` numbers; in order of time. */
export interface Rows {
  readonly time: Uint32Array;
  readonly thread: Uint32Array;
  readonly node: Uint32Array;
  readonly weight: Uint32Array;
}

export interface Calls {
  /** Calls that began in a node. */
  readonly counts: Rows;
  /** Calls that ended, by their method and how long they took: node = frame * BUCKETS + bucket. */
  readonly durations: Rows | null;
  /** By node: the shortest and the longest call in nanoseconds; 0: not known. */
  readonly shortest: Float64Array | null;
  readonly longest: Float64Array | null;
  readonly lanes: Lanes | null;
  /** For rows that stand at the end of the time they tell of: when that begins. null: they are bins. */
  readonly since: Uint32Array | null;
}

export const BUCKETS = 128;

/** Buckets begin at 0, 1, 2, 3, 4, 6, 8, 12, 16, 24 … nanoseconds. */
export const bucketStart = (bucket: number) =>
  bucket === 0 ? 0 : bucket === 1 ? 1 : (bucket % 2 === 0 ? 1 : 1.5) * 2 ** (bucket >> 1);

/** The bucket of a duration. */
export function bucketOf(ns: number): number {
  if (ns < 2) return ns < 1 ? 0 : 1;
  const power = Math.floor(Math.log2(ns));
  return 2 * power + (ns >= 1.5 * 2 ** power ? 1 : 0);
}

const DAMAGED = 'The data of this page is damaged';

export function checkBelow(values: Uint32Array, limit: number, what: string): void {
  let highest = -1;
  for (let i = 0; i < values.length; i++) if (values[i]! > highest) highest = values[i]!;
  if (highest >= limit) throw new DataError(`${DAMAGED}: ${what} out of range.`);
}

export function checkSame(name: string, a: ArrayLike<number>, b: ArrayLike<number>): void {
  if (a.length !== b.length) throw new DataError(`${DAMAGED}: ${name} differ in length.`);
}

export function readRows(sections: Sections, prefix: string, nodes: number, threads: number): Rows {
  const rows = {
    time: sections.u32(`${prefix}.time`),
    thread: sections.u32(`${prefix}.thread`),
    node: sections.u32(`${prefix}.node`),
    weight: sections.u32(`${prefix}.weight`),
  };
  const name = `the columns of event "${prefix}"`;
  for (const column of [rows.thread, rows.node, rows.weight]) checkSame(name, rows.time, column);
  checkBelow(rows.thread, threads, 'a thread is');
  checkBelow(rows.node, nodes, 'a call is');
  for (let i = 1; i < rows.time.length; i++)
    if (rows.time[i]! < rows.time[i - 1]!) throw new DataError(`${DAMAGED}: its samples are not in order of time.`);
  return rows;
}

function readSpans(sections: Sections, event: string, nodes: number) {
  if (!sections.has(`${event}.spans.node`)) return { shortest: null, longest: null };
  const node = sections.u32(`${event}.spans.node`);
  const [min, max] = [sections.f32(`${event}.spans.shortest`), sections.f32(`${event}.spans.longest`)];
  checkSame('the columns of shortest and longest calls', node, min);
  checkSame('the columns of shortest and longest calls', node, max);
  checkBelow(node, nodes, 'a call is');
  const [shortest, longest] = [new Float64Array(nodes), new Float64Array(nodes)];
  for (let i = 0; i < node.length; i++) {
    shortest[node[i]!] = min[i]!;
    longest[node[i]!] = max[i]!;
  }
  return { shortest, longest };
}

/** What was counted is told about once in this time. */
const TOLD_NS = 1e9;

/** A row tells of the time since the one before of its thread; at least of as long as it says. */
function sinceBefore({ time, thread, weight }: Rows, threads: number, unit_ns: number, weight_ns: number): Uint32Array {
  const [before, now] = [new Float64Array(threads), new Float64Array(threads)];
  const since = new Uint32Array(time.length);
  for (let i = 0; i < time.length; i++) {
    const t = thread[i]!;
    if (time[i] !== now[t]) {
      before[t] = now[t]!;
      now[t] = time[i]!;
    }
    const least = (weight[i]! * weight_ns) / unit_ns;
    since[i] = Math.max(0, time[i]! - Math.max(least, Math.min(time[i]! - before[t]!, TOLD_NS / unit_ns)));
  }
  return since;
}

export function readCalls(
  info: EventInfo, rows: Rows, sections: Sections, trie: Trie, threads: number, unit_ns: number,
): Calls | null {
  const { name } = info;
  if (!info.calls) return null;
  const durations = sections.has(`${name}.durations.node`);
  const slices = sections.has(`${name}.slices.threads`);
  return {
    counts: readRows(sections, `${name}.calls`, trie.nodes, threads),
    durations: durations ? readRows(sections, `${name}.durations`, trie.frames * BUCKETS, threads) : null,
    ...readSpans(sections, name, trie.nodes),
    since: info.calls.bin_ns > 0 ? null : sinceBefore(rows, threads, unit_ns, info.weight_ns),
    lanes: slices ? Lanes.read(sections, name, trie, threads) : null,
  };
}
