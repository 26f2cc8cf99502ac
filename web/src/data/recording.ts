// SPDX-License-Identifier: MIT
// A recording in memory: frames, the trie of all calls, and for each event its samples in order of time.
//
// Everything is a typed array.

import { KINDS, OTHER_KIND } from '../model/kinds.ts';
import { Sections } from './decode.ts';
import { DataError, type EventInfo, type Meta } from './meta.ts';
import { Trie, withoutNative, type Native, type Shown } from './trie.ts';

export interface EventRows {
  readonly info: EventInfo;
  readonly time: Uint32Array;
  readonly thread: Uint32Array;
  readonly node: Uint32Array;
  readonly weight: Uint32Array;
  /** 1: the thread did not run; null: nothing is known of that. */
  readonly waiting: Uint8Array | null;
}

/** What a stack of native frames alone is called where those are left out. */
const BARE = '[native]';
const FIRST_NOT_MANAGED = 2;
const NATIVE_KIND = 2;

/** Characters that would break a line, hide or turn round the text of a name. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export const printable = (name: string) => name.replace(UNPRINTABLE, '\ufffd');

function splitStrings(bytes: Uint8Array): string[] {
  if (bytes.length === 0 || bytes[bytes.length - 1] !== 0)
    throw new DataError('The data of this page is damaged: its strings do not end.');
  const strings = new TextDecoder().decode(bytes.subarray(0, bytes.length - 1)).split('\0');
  return strings.map(printable);
}

function append<A extends Uint8Array | Uint32Array>(values: A, value: number): A {
  const longer = new (values.constructor as new (length: number) => A)(values.length + 1);
  longer.set(values);
  longer[values.length] = value;
  return longer;
}

function checkBelow(values: Uint32Array, limit: number, what: string): void {
  let highest = -1;
  for (let i = 0; i < values.length; i++) if (values[i]! > highest) highest = values[i]!;
  if (highest >= limit) throw new DataError(`The data of this page is damaged: ${what} out of range.`);
}

function checkSame(name: string, a: ArrayLike<number>, b: ArrayLike<number>): void {
  if (a.length !== b.length) throw new DataError(`The data of this page is damaged: ${name} differ in length.`);
}

function checkTrie(parent: Uint32Array): void {
  if (parent.length === 0) throw new DataError('The data of this page is damaged: it has no calls.');
  for (let i = 1; i < parent.length; i++)
    if (parent[i]! >= i) throw new DataError('The data of this page is damaged: a call stands before its caller.');
}

function readEvent(info: EventInfo, sections: Sections, nodes: number, threads: number): EventRows {
  const waiting = `${info.name}.waiting`;
  const rows = {
    info,
    time: sections.u32(`${info.name}.time`),
    thread: sections.u32(`${info.name}.thread`),
    node: sections.u32(`${info.name}.node`),
    weight: sections.u32(`${info.name}.weight`),
    waiting: sections.has(waiting) ? sections.u8(waiting) : null,
  };
  const name = `the columns of event "${info.name}"`;
  checkSame(name, rows.time, rows.thread);
  checkSame(name, rows.time, rows.node);
  checkSame(name, rows.time, rows.weight);
  if (rows.waiting) checkSame(name, rows.time, rows.waiting);
  checkBelow(rows.thread, threads, 'a thread is');
  checkBelow(rows.node, nodes, 'a call is');
  for (let i = 1; i < rows.time.length; i++)
    if (rows.time[i]! < rows.time[i - 1]!)
      throw new DataError('The data of this page is damaged: its samples are not in order of time.');
  return rows;
}

/** The columns of frames with one more: what is left of a stack without managed frames. */
function readFrames(sections: Sections, strings: string[]) {
  const name = sections.u32('frame.name');
  const module = sections.u32('frame.module');
  const kind = sections.u8('frame.kind').map((k) => (k < KINDS.length ? k : OTHER_KIND));
  const managed = sections.has('frame.managed')
    ? sections.u8('frame.managed')
    : kind.map((k) => (k < FIRST_NOT_MANAGED ? 1 : 0));
  checkSame('the columns of frames', name, module);
  checkSame('the columns of frames', name, kind);
  checkSame('the columns of frames', name, managed);
  checkBelow(name, strings.length, 'a name is');
  checkBelow(module, strings.length, 'a module is');
  return {
    name: append(name, strings.push(BARE) - 1),
    module: append(module, 0),
    kind: append(kind, NATIVE_KIND),
    managed: append(managed, 0),
  };
}

export class Recording {
  readonly frames: number;
  /** The frame that stands for a stack of native frames alone; only there where those are left out. */
  readonly bare: number;
  private ranks: Uint32Array | null = null;
  private readonly shownBy = new Map<Native, Shown>();

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
    const events = meta.events
      .filter((info) => sections.has(`${info.name}.node`))
      .map((info) => readEvent(info, sections, parent.length, meta.threads.length));
    if (events.length === 0) throw new DataError('This page holds no samples of any kind it knows.');
    return new Recording(meta, strings, name, module, kind, managed, new Trie(parent, frame, name.length), events);
  }

  static async unpack(meta: Meta, data: string): Promise<Recording> {
    return Recording.from(meta, await Sections.unpack(data, meta.sections));
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
  shown(native: Native): Shown {
    let shown = this.shownBy.get(native);
    if (!shown) this.shownBy.set(native, (shown = this.makeShown(native)));
    return shown;
  }

  /** Whether a frame stays where native ones are left out. */
  isManaged(frame: number): boolean {
    return this.managed[frame] === 1;
  }

  private makeShown(native: Native): Shown {
    if (native === 'all') return { trie: this.trie, place: null };
    return withoutNative(this.trie, this.managed, this.bare, native === 'leaf');
  }
}
