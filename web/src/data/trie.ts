// SPDX-License-Identifier: MIT
// The trie of all calls: a node is a frame on top of its parent's stack. A parent stands before its
// children, so one pass forward hands something down to callees and one pass backward sums something
// up to callers.

export const ROOT = 0;

/** Which frames stacks have besides managed ones. */
export type Native = 'all' | 'leaf' | 'none';

export const NATIVES: readonly Native[] = ['all', 'leaf', 'none'];

export class Trie {
  readonly nodes: number;
  /** Children of each node as a linked list; 0 ends it. */
  readonly firstChild: Uint32Array;
  readonly nextSibling: Uint32Array;
  private outer: Uint8Array | null = null;

  constructor(readonly parent: Uint32Array, readonly frame: Uint32Array, readonly frames: number) {
    this.nodes = parent.length;
    this.firstChild = new Uint32Array(this.nodes);
    this.nextSibling = new Uint32Array(this.nodes);
    for (let n = this.nodes - 1; n > 0; n--) {
      const p = parent[n]!;
      this.nextSibling[n] = this.firstChild[p]!;
      this.firstChild[p] = n;
    }
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

/** A trie, and where in it the nodes of the recording's own stand; null: each in its own place. */
export interface Placed {
  readonly trie: Trie;
  readonly place: Uint32Array | null;
}

/** A trie in the making, in which a node is found by its parent and frame. */
class Growing {
  readonly parent: Uint32Array;
  readonly frame: Uint32Array;
  length = 1;
  private readonly slots: Uint32Array;
  private readonly mask: number;

  constructor(most: number, rootFrame: number) {
    this.parent = new Uint32Array(most);
    this.frame = new Uint32Array(most);
    this.frame[ROOT] = rootFrame;
    const bits = Math.ceil(Math.log2(most * 2));
    this.slots = new Uint32Array(2 ** bits);
    this.mask = 2 ** bits - 1;
  }

  child(parent: number, frame: number): number {
    let i = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame, 0x85ebca6b)) >>> 0;
    i ^= i >>> 15;
    for (i &= this.mask; ; i = (i + 1) & this.mask) {
      const n = this.slots[i]!;
      if (n === 0) break;
      if (this.parent[n] === parent && this.frame[n] === frame) return n;
    }
    const n = this.length++;
    this.parent[n] = parent;
    this.frame[n] = frame;
    return (this.slots[i] = n);
  }

  finish(frames: number): Trie {
    return new Trie(this.parent.slice(0, this.length), this.frame.slice(0, this.length), frames);
  }
}

/**
 * The trie without native frames, or with those alone that stand above the topmost managed one.
 * `managed` says which frames stay; without any of those a stack is the frame `bare`, or as it was.
 */
export function withoutNative(
  trie: Trie, managed: Uint8Array, bare: number, leaf: boolean,
): Placed {
  const { nodes, parent, frame } = trie;
  const growing = new Growing(nodes + 1, frame[ROOT]!);
  const place = new Uint32Array(nodes);
  /** Where the stack stands with its managed frames alone. */
  const below = leaf ? new Uint32Array(nodes) : place;
  for (let n = 1; n < nodes; n++) {
    const p = parent[n]!;
    const f = frame[n]!;
    if (managed[f] === 1) place[n] = below[n] = growing.child(below[p]!, f);
    else {
      below[n] = below[p]!;
      if (leaf) place[n] = growing.child(place[p]!, f);
    }
  }
  if (!leaf) {
    const alone = growing.child(ROOT, bare);
    for (let n = 1; n < nodes; n++) if (place[n] === ROOT) place[n] = alone;
  }
  return { trie: growing.finish(trie.frames), place };
}
