// SPDX-License-Identifier: MIT
// Paints a layout on a canvas: rectangles in batches of one colour, then the names that fit.

import type { Recording } from '../data/recording.ts';
import { KINDS } from '../model/kinds.ts';
import type { Layout } from '../model/layout.ts';
import { Fitter } from '../model/names.ts';
import type { StackTree } from '../model/tree.ts';
import { SHADES, type Colors } from './theme.ts';

export const ROW_HEIGHT = 20;
const FONT_SIZE = 12;
const FONT = `${FONT_SIZE}px ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif`;
const PADDING = 5;
const LEAST_LABEL = 26;
/** Rectangles this wide are kept apart by a gap. */
const LEAST_GAP = 3;

/** How a rectangle stands out: as it is, as a caller of the focus, or behind what is searched for. */
const enum Look { Plain, Caller, Faded }
const LOOKS = 3;
const PER_LOOK = KINDS.length * SHADES;

export interface Scene {
  readonly tree: StackTree;
  readonly layout: Layout;
  readonly colors: Colors;
  /** 1 for each frame that matches a search; null: nothing is searched for. */
  readonly matches: Uint8Array | null;
  readonly kind: number | null;
  readonly focusDepth: number;
}

/** Rows by their top on the canvas, in CSS pixels. */
export interface Rows {
  readonly first: number;
  readonly end: number;
  top(row: number): number;
}

class Measurer {
  private readonly widths = new Map<string, number>();

  constructor(private readonly context: CanvasRenderingContext2D) {}

  readonly measure = (text: string): number => {
    let sum = 0;
    for (const c of text) sum += this.character(c);
    return sum;
  };

  private character(c: string): number {
    let width = this.widths.get(c);
    if (width === undefined) this.widths.set(c, (width = this.context.measureText(c).width));
    return width;
  }
}

export class Painter {
  private readonly context: CanvasRenderingContext2D;
  private readonly fitter: Fitter;
  private readonly heads = new Int32Array(LOOKS * PER_LOOK);
  private next = new Int32Array(0);

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly recording: Recording,
  ) {
    this.context = canvas.getContext('2d', { alpha: false })!;
    this.context.font = FONT;
    this.fitter = new Fitter((f) => recording.name(f), new Measurer(this.context).measure);
  }

  paint(scene: Scene, rows: Rows): void {
    const { context, canvas } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = scene.colors.background;
    context.fillRect(0, 0, canvas.width, canvas.height);
    this.sortByColor(scene, rows);
    for (let bucket = 0; bucket < this.heads.length; bucket++) this.fillBucket(scene, rows, bucket);
    this.paintLabels(scene, rows);
  }

  private look(scene: Scene, row: number, frame: number): Look {
    if (scene.matches && scene.matches[frame] === 0) return Look.Faded;
    if (scene.kind !== null && this.recording.frameKind[frame] !== scene.kind) return Look.Faded;
    return row < scene.focusDepth ? Look.Caller : Look.Plain;
  }

  /** Strings rectangles of one colour together in linked lists. */
  private sortByColor(scene: Scene, rows: Rows): void {
    const { layout, tree } = scene;
    const { frameKind } = this.recording;
    if (this.next.length < layout.count) this.next = new Int32Array(layout.node.length);
    this.heads.fill(-1);
    for (let row = rows.first; row < rows.end; row++) {
      for (let i = layout.rowStart[row]!; i < layout.rowStart[row + 1]!; i++) {
        const frame = tree.frame(layout.node[i]!);
        const shade = (frame * 7) % SHADES;
        const bucket = this.look(scene, row, frame) * PER_LOOK + frameKind[frame]! * SHADES + shade;
        this.next[i] = this.heads[bucket]!;
        this.heads[bucket] = i;
      }
    }
  }

  private fillBucket(scene: Scene, rows: Rows, bucket: number): void {
    if (this.heads[bucket] === -1) return;
    const { layout, colors } = scene;
    const { context } = this;
    const scale = devicePixelRatio;
    const height = Math.round(ROW_HEIGHT * scale) - Math.max(1, Math.floor(scale));
    const faded = bucket >= Look.Faded * PER_LOOK;
    context.fillStyle = (faded ? colors.faded : colors.fills)[bucket % PER_LOOK]!;
    context.globalAlpha = bucket >= PER_LOOK && !faded ? 0.55 : 1;
    // The lists run backward through the layout, so rows do too.
    let row = rows.end - 1;
    let top = Math.round(rows.top(row) * scale);
    for (let i = this.heads[bucket]!; i !== -1; i = this.next[i]!) {
      while (i < layout.rowStart[row]!) top = Math.round(rows.top(--row) * scale);
      const left = Math.round(layout.x[i]! * scale);
      const width = Math.round((layout.x[i]! + layout.width[i]!) * scale) - left;
      context.fillRect(left, top, width >= LEAST_GAP * scale ? width - 1 : Math.max(1, width), height);
    }
    context.globalAlpha = 1;
  }

  private paintLabels(scene: Scene, rows: Rows): void {
    const { layout, tree, colors } = scene;
    const { context } = this;
    const scale = devicePixelRatio;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = FONT;
    context.textBaseline = 'middle';
    for (const faded of [false, true]) {
      context.fillStyle = faded ? colors.fadedLabel : colors.label;
      for (let row = rows.first; row < rows.end; row++) {
        const middle = rows.top(row) + ROW_HEIGHT / 2;
        for (let i = layout.rowStart[row]!; i < layout.rowStart[row + 1]!; i++) {
          const width = layout.width[i]!;
          if (width < LEAST_LABEL) continue;
          const frame = tree.frame(layout.node[i]!);
          if ((this.look(scene, row, frame) === Look.Faded) !== faded) continue;
          const text = this.fitter.fit(frame, width - 2 * PADDING);
          if (text !== '') context.fillText(text, layout.x[i]! + PADDING, middle);
        }
      }
    }
  }
}
