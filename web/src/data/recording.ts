// SPDX-License-Identifier: MIT
// A recording in memory: frames, the trie of all calls, and for each event its samples in order of time.
//
// Everything is a typed array.

import { checkBelow, checkSame, readCalls, readRows, type Calls, type Rows } from './calls.ts';
import { Sections } from './decode.ts';
import { DataError, type EventInfo, type Meta } from './meta.ts';
import { CODE } from './numbers.ts';
import { readRuns, type Runs } from './runs.ts';
import { splitStrings } from './strings.ts';
import { Trie, withoutNative, type Native, type Placed } from './trie.ts';

/** Whether there is nothing of it but what tables say. */
export const isTold = ({ rows, tables }: EventInfo) => rows === 0 && tables.length > 0;

export interface EventRows extends Rows {
  readonly info: EventInfo;
  /** 1: the thread did not run; null: nothing is known of that. */
  readonly waiting: Uint8Array | null;
  /** Where the event counts calls; weights are then time in units of info.weight_ns. */
  readonly calls: Calls | null;
}

/** What a stack of native frames alone is called where those are left out. */
const BARE = '[native]';

function append<A extends Uint8Array | Uint32Array>(values: A, value: number): A {
  const longer = new (values.constructor as new (length: number) => A)(values.length + 1);
  longer.set(values);
  longer[values.length] = value;
  return longer;
}

function checkTrie(parent: Uint32Array): void {
  if (parent.length === 0) throw new DataError('The data of this page is damaged: it has no calls.');
  for (let i = 1; i < parent.length; i++)
    if (parent[i]! >= i) throw new DataError('The data of this page is damaged: a call stands before its caller.');
}

function readEvent(info: EventInfo, sections: Sections, trie: Trie, { threads: { length: threads }, time_unit_ns }: Meta): EventRows {
  const rows = readRows(sections, info.name, trie.nodes, threads);
  const name = `${info.name}.waiting`;
  const waiting = sections.has(name) ? sections.u8(name) : null;
  if (waiting) checkSame(`the columns of event "${info.name}"`, rows.time, waiting);
  return { ...rows, info, waiting, calls: readCalls(info, rows, sections, trie, threads, time_unit_ns) };
}

/** The columns of frames with one more: what is left of a stack without managed frames. */
function readFrames(sections: Sections, strings: string[]) {
  const name = sections.u32('frame.name');
  const module = sections.u32('frame.module');
  const kind = sections.u8('frame.kind').map((k) => Math.min(k, CODE.other));
  const managed = sections.has('frame.managed')
    ? sections.u8('frame.managed')
    : kind.map((k) => (k < CODE.native ? 1 : 0));
  checkSame('the columns of frames', name, module);
  checkSame('the columns of frames', name, kind);
  checkSame('the columns of frames', name, managed);
  checkBelow(name, strings.length, 'a name is');
  checkBelow(module, strings.length, 'a module is');
  return {
    name: append(name, strings.push(BARE) - 1),
    module: append(module, 0),
    kind: append(kind, CODE.native),
    managed: append(managed, 0),
  };
}

export class Recording {
  readonly frames: number;
  /** The frame that stands for a stack of native frames alone; only there where those are left out. */
  readonly bare: number;
  private ranks: Uint32Array | null = null;
  private readonly placedBy = new Map<Native, Placed>();

  private constructor(
    readonly meta: Meta,
    private readonly strings: readonly string[],
    private readonly frameName: Uint32Array,
    private readonly frameModule: Uint32Array,
    readonly frameKind: Uint8Array,
    private readonly managed: Uint8Array,
    /** All that was recorded. */
    readonly trie: Trie,
    readonly events: readonly EventRows[],
    /** When threads had a processor; null: that was not recorded. */
    readonly runs: Runs | null,
  ) {
    this.frames = frameName.length;
    this.bare = this.frames - 1;
  }

  static from(meta: Meta, sections: Sections): Recording {
    const strings = splitStrings(sections.utf8('strings'));
    const { name, module, kind, managed } = readFrames(sections, strings);
    const parent = sections.u32('node.parent');
    const frame = sections.u32('node.frame');
    checkSame('the columns of calls', parent, frame);
    checkTrie(parent);
    checkBelow(frame, name.length - 1, 'a frame is');
    const trie = new Trie(parent, frame, name.length);
    const events = meta.events
      .filter((info) => sections.has(`${info.name}.node`))
      .map((info) => readEvent(info, sections, trie, meta));
    if (events.length === 0) throw new DataError('This page holds no samples of any kind it knows.');
    const switches = meta.events.find((e) => e.switches && sections.has(`${e.name}.runs.threads`)) ?? null;
    const runs = switches && readRuns(sections, switches, meta.threads.length, trie.nodes, strings);
    // Switches have no stacks: they are an event to choose only where there is no other.
    const stacks = events.filter((e) => !e.info.switches);
    return new Recording(meta, strings, name, module, kind, managed, trie, stacks.length > 0 ? stacks : events, runs);
  }

  static async unpack(meta: Meta, data: string): Promise<Recording> {
    return Recording.from(meta, await Sections.unpack(data, meta.sections));
  }

  /** Behind all that there is of any event, in units of time. */
  get end(): number {
    const { duration_ns, time_unit_ns } = this.meta;
    const times = [duration_ns, this.runs?.end ?? 0, ...this.events.map((e) => e.calls?.lanes?.last ?? 0)];
    return Math.max(...times.map((ns) => Math.ceil(ns / time_unit_ns)), ...this.events.map(({ time }) => (time.at(-1) ?? 0) + 1));
  }

  /** Whether anything was recorded that has stacks. */
  get stacks(): boolean {
    return !this.events[0]!.info.switches && !this.told;
  }

  /** Whether there is nothing but what tables say. */
  get told(): boolean {
    return this.events.every((e) => isTold(e.info));
  }

  name(frame: number): string {
    return this.strings[this.frameName[frame]!]!;
  }

  module(frame: number): string {
    return this.strings[this.frameModule[frame]!]!;
  }

  /** Place of each frame in the order of names. */
  get rank(): Uint32Array {
    if (this.ranks) return this.ranks;
    const order = Array.from({ length: this.frames }, (_, f) => f);
    const names = order.map((f) => this.name(f));
    order.sort((a, b) => (names[a]! < names[b]! ? -1 : names[a]! > names[b]! ? 1 : a - b));
    this.ranks = new Uint32Array(this.frames);
    for (let i = 0; i < order.length; i++) this.ranks[order[i]!] = i;
    return this.ranks;
  }

  /** The calls with the native frames that are wanted; made when somebody first asks. */
  placed(native: Native): Placed {
    let placed = this.placedBy.get(native);
    if (!placed) this.placedBy.set(native, (placed = this.makePlaced(native)));
    return placed;
  }

  /** Whether a frame stays where native ones are left out. */
  isManaged(frame: number): boolean {
    return this.managed[frame] === 1;
  }

  private makePlaced(native: Native): Placed {
    if (native === 'all') return { trie: this.trie, place: null };
    return withoutNative(this.trie, this.managed, this.bare, native === 'leaf');
  }
}
