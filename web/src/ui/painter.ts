// SPDX-License-Identifier: MIT
// Paints a layout on a canvas: rectangles in batches of one colour, then the names that fit.

import type { Recording } from '../data/recording.ts';
import { callCount, count } from '../model/format.ts';
import { KINDS } from '../model/kinds.ts';
import type { Layout } from '../model/layout.ts';
import { Fitter } from '../model/names.ts';
import { SHADES, type Colors } from './theme.ts';

export const ROW_HEIGHT = 20;
const FONT_SIZE = 12;
const FONT = `${FONT_SIZE}px ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif`;
const PADDING = 5;
const LEAST_LABEL = 26;
const CALLER_ALPHA = 0.55;
/** Rectangles this wide are kept apart by a gap. */
const LEAST_GAP = 3;

/** How a rectangle stands out: as it is, as a caller of the focus, or behind what is searched for. */
const enum Look { Plain, Caller, Faded }
const LOOKS = 3;
const PER_LOOK = KINDS.length * SHADES;
/** After all looks: what stands for several nodes. */
const MERGED = LOOKS * PER_LOOK;
const LEAST_MERGED_LABEL = 90;
const HATCH_STEP = 6;
/** How much of the ground the lines cover. */
const HATCH_COVERS = 0.35;
/** Filling with lines takes time: only where they can be seen as such. */
const LEAST_HATCHED = 16;
const LEAST_DIMMED = 3;

export interface Scene {
  /** The frame of what a rectangle stands for. */
  frame(node: number): number;
  readonly layout: Layout;
  readonly colors: Colors;
  /** 1 for each frame that matches a search; null: nothing is searched for. */
  readonly matches: Uint8Array | null;
  readonly kind: number | null;
  readonly focusDepth: number;
  /** How much of a rectangle, at its right, is hatched; null: nothing is. */
  readonly hatched: ((node: number) => number) | null;
  /** How many of different frames a rectangle stands for; 0: it is of one. */
  several?(node: number): number;
  /** What else fades; null: nothing. */
  readonly faded?: ((node: number) => boolean) | null;
}

/** Rows by their top on the canvas, in CSS pixels. */
export interface Rows {
  readonly first: number;
  readonly end: number;
  top(row: number): number;
}

/** Slanting lines, as wide as the gaps between them. */
function makeHatching(context: CanvasRenderingContext2D, color: string, scale: number): CanvasPattern | string {
  const size = Math.round(HATCH_STEP * scale);
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const pen = tile.getContext('2d')!;
  pen.strokeStyle = color;
  pen.lineWidth = size / 4;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift - 1, size + 1);
    pen.lineTo(shift + size + 1, -1);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat') ?? color;
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
  private readonly heads = new Int32Array(MERGED + 1);
  private next = new Int32Array(0);
  private pattern: { readonly key: string; readonly fill: CanvasPattern | string } | null = null;

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
    if (scene.hatched) this.hatch(scene, rows, scene.hatched);
    this.paintLabels(scene, rows);
  }

  private look(scene: Scene, row: number, node: number): Look {
    const frame = scene.frame(node);
    if (scene.faded?.(node)) return Look.Faded;
    if (scene.matches && scene.matches[frame] === 0) return Look.Faded;
    if (scene.kind !== null && this.recording.frameKind[frame] !== scene.kind) return Look.Faded;
    return row < scene.focusDepth ? Look.Caller : Look.Plain;
  }

  private bucket(scene: Scene, row: number, node: number): number {
    if (node < 0 || scene.several?.(node)) return MERGED;
    const frame = scene.frame(node);
    const shade = (frame * 7) % SHADES;
    return this.look(scene, row, node) * PER_LOOK + this.recording.frameKind[frame]! * SHADES + shade;
  }

  /** Strings rectangles of one colour together in linked lists. */
  private sortByColor(scene: Scene, rows: Rows): void {
    const { layout } = scene;
    if (this.next.length < layout.count) this.next = new Int32Array(layout.node.length);
    this.heads.fill(-1);
    for (let row = rows.first; row < rows.end; row++) {
      for (let i = layout.rowStart[row]!; i < layout.rowStart[row + 1]!; i++) {
        const bucket = this.bucket(scene, row, layout.node[i]!);
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
    const look = Math.floor(bucket / PER_LOOK);
    const fills = look === Look.Faded ? colors.faded : colors.fills;
    context.fillStyle = bucket === MERGED ? colors.line : fills[bucket % PER_LOOK]!;
    context.globalAlpha = look === Look.Caller ? CALLER_ALPHA : 1;
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

  /** Lines over a part of each rectangle, at its right; dimmed where lines do not show. */
  private hatch(scene: Scene, rows: Rows, part: (node: number) => number): void {
    const { context } = this;
    const { hatch } = scene.colors;
    const lines: number[] = [];
    context.fillStyle = hatch;
    context.globalAlpha = HATCH_COVERS;
    this.eachHatched(scene, rows, part, (left, top, width, height) => {
      if (width >= LEAST_HATCHED * devicePixelRatio) lines.push(left, top, width, height);
      else context.fillRect(left, top, width, height);
    });
    context.globalAlpha = 1;
    context.fillStyle = this.hatching(hatch, devicePixelRatio);
    for (let i = 0; i < lines.length; i += 4) context.fillRect(lines[i]!, lines[i + 1]!, lines[i + 2]!, lines[i + 3]!);
  }

  private eachHatched(
    { layout }: Scene, rows: Rows, part: (node: number) => number, each: (left: number, top: number, width: number, height: number) => void,
  ): void {
    const scale = devicePixelRatio;
    const height = Math.round(ROW_HEIGHT * scale) - Math.max(1, Math.floor(scale));
    for (let row = rows.first; row < rows.end; row++) {
      const top = Math.round(rows.top(row) * scale);
      for (let i = layout.rowStart[row]!; i < layout.rowStart[row + 1]!; i++) {
        const node = layout.node[i]!;
        if (node < 0 || layout.width[i]! < LEAST_DIMMED) continue;
        const width = Math.floor(layout.width[i]! * part(node) * scale) - 1;
        const right = Math.round((layout.x[i]! + layout.width[i]!) * scale) - 1;
        if (width > 0) each(right - width, top, width, height);
      }
    }
  }

  private hatching(color: string, scale: number): CanvasPattern | string {
    const key = `${color} ${scale}`;
    if (this.pattern?.key !== key) this.pattern = { key, fill: makeHatching(this.context, color, scale) };
    return this.pattern.fill;
  }

  private paintLabels(scene: Scene, rows: Rows): void {
    const { layout, colors } = scene;
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
          if (layout.width[i]! < LEAST_LABEL || this.isFaded(scene, row, layout.node[i]!) !== faded) continue;
          const text = this.label(scene, i);
          if (text !== '') context.fillText(text, layout.x[i]! + PADDING, middle);
        }
      }
    }
  }

  private isFaded(scene: Scene, row: number, node: number): boolean {
    return node < 0 || Boolean(scene.several?.(node)) || this.look(scene, row, node) === Look.Faded;
  }

  private label(scene: Scene, i: number): string {
    const { layout } = scene;
    const width = layout.width[i]!;
    const node = layout.node[i]!;
    const several = node >= 0 ? (scene.several?.(node) ?? 0) : 0;
    if (node >= 0 && several === 0) return this.fitter.fit(scene.frame(node), width - 2 * PADDING);
    if (width < LEAST_MERGED_LABEL) return '';
    return several > 0 ? callCount(several) : `${count(layout.merged.get(i)!.nodes)} more`;
  }
}
