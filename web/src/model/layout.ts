// SPDX-License-Identifier: MIT
// Which nodes of a tree are visible in a window of its width, and where: rows of rectangles.
//
// Neighbours that are too narrow to be seen share a rectangle, so that what they weigh is not taken for
// their parent's own.

import type { StackTree } from './tree.ts';

/** A part of a tree's width, in the unit of its weights. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export class Layout {
  /** Rectangles of row r: indices rowStart[r] ≤ i < rowStart[r + 1], by ascending x. */
  readonly rowStart: number[] = [0];
  count = 0;
  /** The node, or -1 for a rectangle that stands for several: see `merged`. */
  node = new Int32Array(4096);
  /** By rectangle: how many nodes it stands for, and what they weigh together. */
  readonly merged = new Map<number, { readonly nodes: number; readonly total: number }>();
  /** By rectangle: how many share it, where it stands for the first of them. */
  readonly shared = new Map<number, number>();
  /** In pixels; what sticks out of the window is cut off. */
  x = new Float32Array(4096);
  width = new Float32Array(4096);

  get rows(): number {
    return this.rowStart.length - 1;
  }

  add(node: number, x: number, width: number): void {
    if (this.count === this.node.length) this.grow();
    this.node[this.count] = node;
    this.x[this.count] = x;
    this.width[this.count++] = width;
  }

  addMerged(nodes: number, total: number, x: number, width: number): void {
    this.merged.set(this.count, { nodes, total });
    this.add(-1, x, width);
  }

  endRow(): void {
    this.rowStart.push(this.count);
  }

  /** The rectangle at a place, or -1. */
  hit(row: number, x: number): number {
    if (row < 0 || row >= this.rows) return -1;
    let [low, high] = [this.rowStart[row]!, this.rowStart[row + 1]!];
    const first = low;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.x[middle]! <= x) low = middle + 1;
      else high = middle;
    }
    const i = low - 1;
    return i >= first && x < this.x[i]! + this.width[i]! ? i : -1;
  }

  /** The rectangle of a node in a row, or -1. */
  indexOf(row: number, node: number): number {
    if (row < 0 || row >= this.rows) return -1;
    for (let i = this.rowStart[row]!; i < this.rowStart[row + 1]!; i++) if (this.node[i] === node) return i;
    return -1;
  }

  private grow(): void {
    const longer = <A extends Int32Array | Float32Array>(old: A): A => {
      const bigger = new (old.constructor as new (length: number) => A)(old.length * 2);
      bigger.set(old);
      return bigger;
    };
    this.node = longer(this.node);
    this.x = longer(this.x);
    this.width = longer(this.width);
  }
}

/** The first child that reaches beyond `from`. Children lie side by side, so their ends ascend. */
function firstReaching(tree: StackTree, first: number, count: number, from: number): number {
  let [low, high] = [first, first + count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tree.x(middle) + tree.total(middle) <= from) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Lays out what of `tree` is at least `least` pixels wide when `span` fills `width` pixels. */
export function layOut(tree: StackTree, span: Span, width: number, least: number): Layout {
  const layout = new Layout();
  const scale = width / Math.max(span.to - span.from, Number.MIN_VALUE);
  const left = (x: number) => Math.max(0, (x - span.from) * scale);
  const right = (x: number) => Math.min(width, (x - span.from) * scale);

  /** Puts the nodes from `first` to before `last` that are too narrow, if together they are not. */
  const putMerged = (first: number, last: number) => {
    if (first === last) return;
    const [from, to] = [tree.x(first), tree.x(last - 1) + tree.total(last - 1)];
    const pixels = right(to) - left(from);
    if (pixels >= least) layout.addMerged(last - first, to - from, left(from), pixels);
  };
  const putChildren = (node: number) => {
    const count = tree.childCount(node);
    const end = tree.firstChild(node) + count;
    let c = firstReaching(tree, tree.firstChild(node), count, span.from);
    let narrow = c;
    for (; c < end && tree.x(c) < span.to; c++) {
      const x = left(tree.x(c));
      const pixels = right(tree.x(c) + tree.total(c)) - x;
      if (pixels < least) continue;
      putMerged(narrow, c);
      layout.add(c, x, pixels);
      narrow = c + 1;
    }
    putMerged(narrow, c);
  };

  const whole = tree.total(0);
  if (whole > 0 && width > 0) layout.add(0, left(0), right(whole) - left(0));
  for (let row = 0; layout.count > layout.rowStart[row]!; row++) {
    const start = layout.rowStart[row]!;
    const end = layout.count;
    layout.endRow();
    for (let i = start; i < end; i++) if (layout.node[i]! >= 0) putChildren(layout.node[i]!);
  }
  return layout;
}
