// SPDX-License-Identifier: MIT
// A recording in memory: frames, the trie of all calls, and for each event its samples in order of time.
//
// Everything is a typed array. In the trie a parent stands before its children, so one pass forward
// hands something down to callees and one pass backward sums something up to callers.

import { KINDS, OTHER_KIND } from '../model/kinds.ts';
import { Sections } from './decode.ts';
import { DataError, type EventInfo, type Meta } from './meta.ts';

export interface EventRows {
  readonly info: EventInfo;
  readonly time: Uint32Array;
  readonly thread: Uint32Array;
  readonly node: Uint32Array;
  readonly weight: Uint32Array;
}

export const ROOT = 0;

/** Characters that would break a line, hide or turn round the text of a name. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export const printable = (name: string) => name.replace(UNPRINTABLE, '\ufffd');

function splitStrings(bytes: Uint8Array): string[] {
  if (bytes.length === 0 || bytes[bytes.length - 1] !== 0)
    throw new DataError('The data of this page is damaged: its strings do not end.');
  const strings = new TextDecoder().decode(bytes.subarray(0, bytes.length - 1)).split('\0');
  return strings.map(printable);
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
  const rows = {
    info,
    time: sections.u32(`${info.name}.time`),
    thread: sections.u32(`${info.name}.thread`),
    node: sections.u32(`${info.name}.node`),
    weight: sections.u32(`${info.name}.weight`),
  };
  const name = `the columns of event "${info.name}"`;
  checkSame(name, rows.time, rows.thread);
  checkSame(name, rows.time, rows.node);
  checkSame(name, rows.time, rows.weight);
  checkBelow(rows.thread, threads, 'a thread is');
  checkBelow(rows.node, nodes, 'a call is');
  for (let i = 1; i < rows.time.length; i++)
    if (rows.time[i]! < rows.time[i - 1]!)
      throw new DataError('The data of this page is damaged: its samples are not in order of time.');
  return rows;
}

export class Recording {
  readonly frames: number;
  readonly nodes: number;
  /** Children of each trie node as a linked list; 0 ends it. */
  readonly firstChild: Uint32Array;
  readonly nextSibling: Uint32Array;
  private ranks: Uint32Array | null = null;
  private outer: Uint8Array | null = null;

  private constructor(
    readonly meta: Meta,
    private readonly strings: readonly string[],
    private readonly frameName: Uint32Array,
    private readonly frameModule: Uint32Array,
    readonly frameKind: Uint8Array,
    readonly parent: Uint32Array,
    readonly frame: Uint32Array,
    readonly events: readonly EventRows[],
  ) {
    this.frames = frameName.length;
    this.nodes = parent.length;
    this.firstChild = new Uint32Array(this.nodes);
    this.nextSibling = new Uint32Array(this.nodes);
    for (let n = this.nodes - 1; n > 0; n--) {
      const p = parent[n]!;
      this.nextSibling[n] = this.firstChild[p]!;
      this.firstChild[p] = n;
    }
  }

  static from(meta: Meta, sections: Sections): Recording {
    const strings = splitStrings(sections.utf8('strings'));
    const frameName = sections.u32('frame.name');
    const frameModule = sections.u32('frame.module');
    const frameKind = sections.u8('frame.kind').map((k) => (k < KINDS.length ? k : OTHER_KIND));
    const parent = sections.u32('node.parent');
    const frame = sections.u32('node.frame');
    checkSame('the columns of frames', frameName, frameModule);
    checkSame('the columns of frames', frameName, frameKind);
    checkSame('the columns of calls', parent, frame);
    checkBelow(frameName, strings.length, 'a name is');
    checkBelow(frameModule, strings.length, 'a module is');
    checkTrie(parent);
    checkBelow(frame, frameName.length, 'a frame is');
    const events = meta.events
      .filter((info) => sections.has(`${info.name}.node`))
      .map((info) => readEvent(info, sections, parent.length, meta.threads.length));
    if (events.length === 0) throw new DataError('This page holds no samples of any kind it knows.');
    return new Recording(meta, strings, frameName, frameModule, frameKind, parent, frame, events);
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

  /** 1 for each node whose frame is not already among its callers: totals count these alone. */
  get outermost(): Uint8Array {
    return (this.outer ??= this.findOutermost());
  }

  private findOutermost(): Uint8Array {
    const outer = new Uint8Array(this.nodes);
    const open = new Uint32Array(this.frames);
    let n = ROOT;
    for (;;) {
      if (open[this.frame[n]!]!++ === 0) outer[n] = 1;
      if (this.firstChild[n] !== 0) {
        n = this.firstChild[n]!;
        continue;
      }
      open[this.frame[n]!]!--;
      while (n !== ROOT && this.nextSibling[n] === 0) {
        n = this.parent[n]!;
        open[this.frame[n]!]!--;
      }
      if (n === ROOT) return outer;
      n = this.nextSibling[n]!;
    }
  }

  /** The frames from below the root to a node. */
  stack(node: number): number[] {
    const frames: number[] = [];
    for (let n = node; n !== ROOT; n = this.parent[n]!) frames.push(this.frame[n]!);
    return frames.reverse();
  }
}
