// SPDX-License-Identifier: MIT
// The trees that are drawn: callees from the threads' starts, callers from the leaves, callers and
// callees of one method.
//
// A node of such a tree stands for a set of places in the recording's trie which have the same frame;
// its children are what lies next to those places, one step towards the leaves or towards the root,
// grouped by frame. A node is expanded when somebody first looks at its children, so that a picture
// costs what is visible in it and not what was recorded.

import type { Recording } from '../data/recording.ts';
import { ROOT, type Trie } from '../data/trie.ts';
import type { Order } from './selection.ts';

interface Sums {
  readonly self: Float64Array;
  readonly total: Float64Array;
}

export interface Counts extends Sums {
  readonly trie: Trie;
  /** The part of them that waited, where that is known. */
  readonly waiting: Sums | null;
  /** Calls, where they are counted. They never come with waiting. */
  readonly calls: Sums | null;
}

/**
 * A second amount that goes along with weights: what of them waited, or calls. By node: of stacks that
 * go through it, and of those that end there; calls belong to the node itself in both.
 */
interface Beside {
  readonly through: Float64Array;
  readonly ending: Float64Array;
}

function beside({ waiting, calls }: Counts): Beside | null {
  if (waiting) return { through: waiting.total, ending: waiting.self };
  return calls && { through: calls.self, ending: calls.self };
}

/** Numbers in a typed array that grows. */
class Column<A extends Float64Array | Int32Array | Uint32Array> {
  length = 0;

  constructor(public values: A) {}

  push(value: number): void {
    if (this.length === this.values.length) this.grow(this.length + 1);
    this.values[this.length++] = value;
  }

  /** Makes room for `count` more and returns where they start. */
  claim(count: number): number {
    const at = this.length;
    if (at + count > this.values.length) this.grow(at + count);
    this.length += count;
    return at;
  }

  private grow(least: number): void {
    const Type = this.values.constructor as new (length: number) => A;
    const bigger = new Type(Math.max(least, this.values.length * 2));
    bigger.set(this.values);
    this.values = bigger;
  }
}

const floats = () => new Column(new Float64Array(1024));
const ints = () => new Column(new Int32Array(1024));

const UNEXPANDED = -1;

/** Children lighter than this part of their parent need no order among themselves: nobody sees it. */
const UNORDERED_BELOW = 1 / 20_000;

/** What lies next to the places of a node: filled by a step, grouped by the tree. */
class Found {
  readonly place = new Column(new Uint32Array(1024));
  readonly weight = floats();
  readonly beside = floats();

  clear(): void {
    this.place.length = this.weight.length = this.beside.length = 0;
  }

  add(place: number, weight: number, beside: number): void {
    this.place.push(place);
    this.weight.push(weight);
    this.beside.push(beside);
  }
}

/** Which way a tree goes from a place. */
interface Step {
  /** Calls found.add for each neighbour of `place`, and returns the weight that ends there. */
  from(place: number, weight: number, beside: number, found: Found): number;
}

/** Towards the leaves: a place is a trie node and weighs its total. */
class ToCallees implements Step {
  private readonly open: number[] = [];

  private readonly beside: Float64Array | null;

  constructor(
    private readonly counts: Counts,
    private readonly collapse: boolean,
  ) {
    this.beside = beside(counts)?.through ?? null;
  }

  from(place: number, _weight: number, _beside: number, found: Found): number {
    const { self, total, calls, trie } = this.counts;
    const { firstChild, nextSibling, frame } = trie;
    let ended = 0;
    this.open.push(place);
    while (this.open.length > 0) {
      const n = this.open.pop()!;
      ended += self[n]!;
      for (let c = firstChild[n]!; c !== 0; c = nextSibling[c]!) {
        if (total[c] === 0 && !(calls && calls.total[c]! > 0)) continue;
        if (this.collapse && frame[c] === frame[place]) this.open.push(c);
        else found.add(c, total[c]!, this.beside ? this.beside[c]! : 0);
      }
    }
    return ended;
  }
}

/** Towards the threads' starts: a place is a trie node with the weight of the samples that came this way. */
class ToCallers implements Step {
  constructor(
    private readonly trie: Trie,
    private readonly collapse: boolean,
  ) {}

  from(place: number, weight: number, beside: number, found: Found): number {
    const { parent, frame } = this.trie;
    let n = parent[place]!;
    if (this.collapse) while (n !== ROOT && frame[n] === frame[place]) n = parent[n]!;
    if (n === ROOT) return weight;
    found.add(n, weight, beside);
    return 0;
  }
}

export class StackTree {
  /** Columns of the nodes; node 0 is the root. x is where a node begins, in the unit of weights. */
  private readonly frames = ints();
  private readonly parents = ints();
  private readonly firsts = ints();
  private readonly counts = ints();
  private readonly xs = floats();
  private readonly totals = floats();
  private readonly ends = floats();
  private readonly besides = floats();
  /** Places of a node: entries[entryStart .. entryStart + entryCount). */
  private readonly entryStart = ints();
  private readonly entryCount = ints();
  private readonly entryPlace = new Column(new Uint32Array(1024));
  private readonly entryWeight = floats();
  private readonly entryBeside = floats();

  private readonly found = new Found();
  private readonly slot: Int32Array;

  constructor(
    private readonly recording: Recording,
    private readonly trie: Trie,
    private readonly step: Step,
    private readonly order: Order,
    rootFrame: number,
    rootPlaces: (found: Found) => void,
    /** The root is only a bracket round its places, which are themselves its children. */
    private readonly bracket: boolean,
  ) {
    this.slot = new Int32Array(recording.frames).fill(-1);
    this.addNode(rootFrame, -1, 0, 0);
    rootPlaces(this.found);
    const { place, weight, beside } = this.found;
    this.entryStart.values[0] = this.claimEntries(place.length);
    this.entryCount.values[0] = place.length;
    for (let i = 0; i < place.length; i++) {
      this.entryPlace.values[i] = place.values[i]!;
      this.entryWeight.values[i] = weight.values[i]!;
      this.entryBeside.values[i] = beside.values[i]!;
      this.totals.values[0]! += weight.values[i]!;
      this.besides.values[0]! += beside.values[i]!;
    }
  }

  private addNode(frame: number, parent: number, x: number, total: number): void {
    this.frames.push(frame);
    this.parents.push(parent);
    this.firsts.push(0);
    this.counts.push(UNEXPANDED);
    this.xs.push(x);
    this.totals.push(total);
    this.ends.push(0);
    this.besides.push(0);
    this.entryStart.push(0);
    this.entryCount.push(0);
  }

  private claimEntries(count: number): number {
    this.entryWeight.claim(count);
    this.entryBeside.claim(count);
    return this.entryPlace.claim(count);
  }

  /** Nodes that exist so far. */
  get size(): number {
    return this.frames.length;
  }

  frame(node: number): number {
    return this.frames.values[node]!;
  }

  parent(node: number): number {
    return this.parents.values[node]!;
  }

  x(node: number): number {
    return this.xs.values[node]!;
  }

  total(node: number): number {
    return this.totals.values[node]!;
  }

  /** The part of the total whose threads did not run, or calls. */
  beside(node: number): number {
    return this.besides.values[node]!;
  }

  /** The weight that goes on to no child: the method's own, or stacks that start here. */
  self(node: number): number {
    this.childCount(node);
    return this.ends.values[node]!;
  }

  childCount(node: number): number {
    if (this.counts.values[node] === UNEXPANDED) this.expand(node);
    return this.counts.values[node]!;
  }

  /** Valid after childCount(node); children are consecutive, and so are their x. */
  firstChild(node: number): number {
    return this.firsts.values[node]!;
  }

  depth(node: number): number {
    let depth = 0;
    for (let n = node; n > 0; n = this.parent(n)) depth++;
    return depth;
  }

  path(node: number): number[] {
    const frames: number[] = [];
    for (let n = node; n > 0; n = this.parent(n)) frames.push(this.frame(n));
    return frames.reverse();
  }

  child(node: number, frame: number): number | null {
    const count = this.childCount(node);
    const first = this.firstChild(node);
    for (let c = first; c < first + count; c++) if (this.frame(c) === frame) return c;
    return null;
  }

  /** The node at the end of a path, or the last one on the way to it that exists. */
  find(path: readonly number[]): number {
    let node = 0;
    for (const frame of path) {
      const next = this.child(node, frame);
      if (next === null) break;
      node = next;
    }
    return node;
  }

  private expand(node: number): void {
    const { found } = this;
    found.clear();
    const start = this.entryStart.values[node]!;
    const end = start + this.entryCount.values[node]!;
    for (let i = start; i < end; i++) {
      const place = this.entryPlace.values[i]!;
      const weight = this.entryWeight.values[i]!;
      const beside = this.entryBeside.values[i]!;
      if (this.bracket && node === 0) found.add(place, weight, beside);
      else this.ends.values[node]! += this.step.from(place, weight, beside, found);
    }
    this.group(node);
  }

  /** Makes the children of a node from what was found next to its places. */
  private group(node: number): void {
    const { place, weight, beside } = this.found;
    const { frame } = this.trie;
    const { slot } = this;
    const groups: number[] = [];
    const totals: number[] = [];
    const counts: number[] = [];
    for (let i = 0; i < place.length; i++) {
      const f = frame[place.values[i]!]!;
      let g = slot[f]!;
      if (g < 0) {
        g = slot[f] = groups.length;
        groups.push(f);
        totals.push(0);
        counts.push(0);
      }
      totals[g]! += weight.values[i]!;
      counts[g]!++;
    }
    const order = this.orderGroups(groups, totals, this.total(node));
    const first = this.size;
    let at = this.claimEntries(place.length);
    let x = this.x(node);
    const cursor = new Int32Array(groups.length);
    const children = new Int32Array(groups.length);
    for (const g of order) {
      const child = (children[g] = this.size);
      this.addNode(groups[g]!, node, x, totals[g]!);
      this.entryStart.values[child] = cursor[g] = at;
      this.entryCount.values[child] = counts[g]!;
      at += counts[g]!;
      x += totals[g]!;
    }
    for (let i = 0; i < place.length; i++) {
      const group = slot[frame[place.values[i]!]!]!;
      const to = cursor[group]!++;
      this.entryPlace.values[to] = place.values[i]!;
      this.entryWeight.values[to] = weight.values[i]!;
      this.entryBeside.values[to] = beside.values[i]!;
      this.besides.values[children[group]!]! += beside.values[i]!;
    }
    for (const f of groups) slot[f] = -1;
    this.firsts.values[node] = first;
    this.counts.values[node] = groups.length;
  }

  private orderGroups(groups: number[], totals: number[], total: number): number[] {
    const all = groups.map((_, g) => g);
    if (all.length < 2) return all;
    const { rank } = this.recording;
    if (this.order === 'name') return all.sort((a, b) => rank[groups[a]!]! - rank[groups[b]!]!);
    const least = total * UNORDERED_BELOW;
    const heavy = all.filter((g) => totals[g]! >= least);
    heavy.sort((a, b) => totals[b]! - totals[a]! || rank[groups[a]!]! - rank[groups[b]!]!);
    return heavy.length === all.length ? heavy : heavy.concat(all.filter((g) => totals[g]! < least));
  }
}

/** The whole, from the threads' starts. */
export function forward(recording: Recording, counts: Counts, collapse: boolean, order: Order): StackTree {
  const { trie, total } = counts;
  const step = new ToCallees(counts, collapse);
  const root = (found: Found) => found.add(ROOT, total[ROOT]!, beside(counts)?.through[ROOT] ?? 0);
  return new StackTree(recording, trie, step, order, trie.frame[ROOT]!, root, false);
}

/** The whole, from the leaves: below the root what ran, below that what called it. */
export function reversed(recording: Recording, counts: Counts, collapse: boolean, order: Order): StackTree {
  const { trie, self, calls } = counts;
  const ending = beside(counts)?.ending;
  const leaves = (found: Found) => {
    for (let n = 0; n < self.length; n++)
      if (self[n] !== 0 || (calls && calls.self[n]! > 0)) found.add(n, self[n]!, ending ? ending[n]! : 0);
  };
  return new StackTree(recording, trie, new ToCallers(trie, collapse), order, trie.frame[ROOT]!, leaves, true);
}

/** Where the method is not among its own callers; its calls by itself are calls of it, too. */
function outermostOf(counts: Counts, method: number) {
  const { frame, outermost } = counts.trie;
  const { total, calls } = counts;
  const through = beside(counts)?.through;
  return (found: Found) => {
    for (let n = 0; n < total.length; n++)
      if (frame[n] === method && outermost[n] === 1 && (total[n] !== 0 || (calls && calls.total[n]! > 0)))
        found.add(n, total[n]!, through ? through[n]! : 0);
  };
}

export function calleesOf(
  recording: Recording, counts: Counts, method: number, collapse: boolean, order: Order,
): StackTree {
  const step = new ToCallees(counts, collapse);
  return new StackTree(recording, counts.trie, step, order, method, outermostOf(counts, method), false);
}

export function callersOf(
  recording: Recording, counts: Counts, method: number, collapse: boolean, order: Order,
): StackTree {
  const step = new ToCallers(counts.trie, collapse);
  return new StackTree(recording, counts.trie, step, order, method, outermostOf(counts, method), false);
}
