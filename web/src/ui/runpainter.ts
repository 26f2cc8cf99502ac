// SPDX-License-Identifier: MIT
// Paints rows of the time line, pixel by pixel: how much of a pixel's time a thread had a processor, and
// how much of it it could have had one. Hatched is what is not known.

import { firstMark } from '../data/beside.ts';
import type { Loss } from '../data/runs.ts';
import type { Nanoseconds } from '../data/time.ts';
import { bins, type Bins, type Track } from '../data/track.ts';
import { firstWait, type Wait, type Waits } from '../data/waits.ts';
import type { Row } from '../model/rows.ts';
import type { Marks } from '../model/search.ts';
import { SMALL_FONT } from './canvas.ts';
import { css, type Colors, type Rgb } from './theme.ts';

export const RUN_ROW = 22;
const BAR_TOP = 3;
const BAR = 16;
/** Shares are told apart in so many steps. */
const STEPS = 32;
/** However little there is in a pixel, it is seen. */
const LEAST_RAN = 11;
const LEAST_PREEMPTED = 7;
const LEAST_UNKNOWN = 0.02;
/** A loss is at least this wide. */
const LEAST_LOSS = 3;
const HATCH = 6;
const HATCH_LINE = 2;
const STRIPE = 4;
const LOSS_ALPHA = 0.5;
/** In a pixel that has both, each is at least so high. */
const LEAST_HIGH = 3;
/** Slices narrower than this have no name on them. */
const LEAST_LABEL = 44;
/** Of every second thread, how much further from the colour of names its slices are. */
const SHADE = 0.32;
const SHADES_BELOW = 4;
const WAIT_HIGH = 12;
const LEAST_WAIT = 3;
/** With more of them in a pixel, none could be told apart. */
const MOST_WAITS = 4;
/** Of a mark: a pole with a pennant, to the right of its time. */
const FLAG_TOP = 1;
export const FLAG_WIDE = 7;
const FLAG_HIGH = 7;
const FADED_MARKS = 0.3;
/** Of a span: a bar along the row's bottom; of those in one another, the inner ones are darker. */
const SPAN_HIGH = 3;
const SPAN_ALPHA = 0.45;

export interface RunScene {
  readonly window: Nanoseconds;
  readonly losses: readonly Loss[];
  readonly waits: Waits;
  readonly marks: Marks;
  /** Those that are searched for; null: nothing is. */
  readonly found: Marks | null;
  readonly sampled: boolean;
  readonly colors: Colors;
  name(thread: number): string;
}

const pixel = ([r, g, b]: Rgb, alpha = 1) => ((Math.round(alpha * 255) << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;

/** A colour by its share of a pixel. */
const shares = (color: Rgb) => Uint32Array.from({ length: STEPS }, (_, i) => (i === 0 ? 0 : pixel(color, i / (STEPS - 1))));

const further = (a: Rgb, dark: boolean) => a.map((v) => v + ((dark ? 255 : 0) - v) * SHADE) as unknown as Rgb;

function flag(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.rect(x, y, 1, RUN_ROW - 2 * FLAG_TOP);
  context.moveTo(x + 1, y);
  context.lineTo(x + FLAG_WIDE, y + FLAG_HIGH / 2);
  context.lineTo(x + 1, y + FLAG_HIGH);
}

export class RunPainter {
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);
  /** Of the row: colours of its upper and lower part, and how many pixels the lower one is high. */
  private line = new Uint32Array(0);
  private lower = new Uint32Array(0);
  private lowerHeight = new Uint8Array(0);
  private shades = new Uint8Array(0);
  private shares: Bins = bins(0);
  private colors: Colors | null = null;
  private ranColors: readonly Uint32Array[] = [];
  private preemptedColors = new Uint32Array(0);

  constructor(private readonly canvas: HTMLCanvasElement) {}

  /** Paints rows; the first one begins at `top`, in CSS pixels. */
  paint(scene: RunScene, rows: readonly Row[], top: number): void {
    const { width, height } = this.canvas;
    if (width === 0 || height === 0) return;
    this.prepare(width, height, scene.colors);
    this.pixels.fill(0);
    const everywhere = this.lossMask(scene, null);
    rows.forEach((row, i) => {
      const y = Math.round((top + i * RUN_ROW) * devicePixelRatio);
      this.paintRow(scene, row, y);
      this.paintLoss(row.kind === 'cpu' ? this.lossMask(scene, row.track().id) : everywhere, y, scene.colors);
    });
    this.canvas.getContext('2d')!.putImageData(this.image!, 0, 0);
    const context = this.pen(scene.colors);
    rows.forEach((row, i) => {
      if (row.kind === 'thread') this.paintWaits(context, scene, row.threads[0]!, top + i * RUN_ROW);
      else if (this.slices(row, scene.window) <= this.canvas.width) this.label(context, scene, row.inSight(scene.window), top + i * RUN_ROW);
      this.paintMarks(context, scene, row.threads, top + i * RUN_ROW);
    });
  }

  /** For what is drawn over the rows, in CSS pixels. */
  private pen(colors: Colors): CanvasRenderingContext2D {
    const context = this.canvas.getContext('2d')!;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.font = SMALL_FONT;
    context.textBaseline = 'middle';
    context.fillStyle = colors.onRan;
    return context;
  }

  /** Bands in the gaps of which it is known why, with a word where there is room. */
  private paintWaits(context: CanvasRenderingContext2D, scene: RunScene, thread: number, top: number): void {
    const own = scene.waits.get(thread);
    if (!own) return;
    const { window, colors } = scene;
    const width = this.canvas.width / devicePixelRatio;
    const scale = width / (window.to - window.from);
    const first = firstWait(own, window.from);
    const end = firstWait(own, window.to);
    if (end - first > MOST_WAITS * width) return;
    for (const wait of own.slice(first, end + 1)) {
      const [from, to] = [Math.max(0, (wait.from - window.from) * scale), Math.min(width, (wait.to - window.from) * scale)];
      if (to - from >= LEAST_WAIT) this.paintWait(context, wait, from, to, top + BAR_TOP + BAR / 2, colors);
    }
  }

  private paintWait(context: CanvasRenderingContext2D, { kind }: Wait, from: number, to: number, middle: number, colors: Colors): void {
    const color = css(kind.held ? colors.held : colors.unknown);
    context.fillStyle = color;
    context.globalAlpha = kind.held ? 0.55 : 0.22;
    context.fillRect(from + 1, middle - WAIT_HIGH / 2, to - from - 2, WAIT_HIGH);
    context.globalAlpha = 1;
    if (to - from < LEAST_LABEL) return;
    context.fillStyle = colors.text;
    this.name(context, kind.name, from, to, middle + 0.5);
  }

  /** Those that are searched for stand out. */
  private paintMarks(context: CanvasRenderingContext2D, { window, marks, found, colors }: RunScene, threads: readonly number[], top: number): void {
    if (marks.size === 0) return;
    context.fillStyle = colors.text;
    context.globalAlpha = found ? FADED_MARKS : SPAN_ALPHA;
    this.spans(context, window, marks, threads, top);
    context.globalAlpha = found ? FADED_MARKS : 1;
    this.flags(context, window, marks, threads, top);
    context.globalAlpha = 1;
    context.fillStyle = colors.accent;
    if (!found) return;
    this.spans(context, window, found, threads, top);
    this.flags(context, window, found, threads, top);
  }

  /** A bar for each span; those that end in the pixel where one before them did are left out. */
  private spans(context: CanvasRenderingContext2D, window: Nanoseconds, marks: Marks, threads: readonly number[], top: number): void {
    const wide = (window.to - window.from) / (this.canvas.width / devicePixelRatio);
    const right = this.canvas.width / devicePixelRatio;
    const y = top + RUN_ROW - SPAN_HIGH;
    for (const thread of threads) {
      let last = -1;
      for (const { time, length } of marks.get(thread) ?? []) {
        if (time >= window.to) break;
        if (length === 0 || time + length < window.from) continue;
        const from = Math.max(0, Math.round((time - window.from) / wide));
        const to = Math.min(right, Math.max(from + 1, Math.round((time + length - window.from) / wide)));
        if (to === last && to - from === 1) continue;
        context.fillRect(from, y, to - from, SPAN_HIGH);
        last = to;
      }
    }
  }

  /** A flag at each mark; those of a thread in one pixel are one. */
  private flags(context: CanvasRenderingContext2D, window: Nanoseconds, marks: Marks, threads: readonly number[], top: number): void {
    const wide = (window.to - window.from) / (this.canvas.width / devicePixelRatio);
    context.beginPath();
    for (const thread of threads) {
      const own = marks.get(thread) ?? [];
      for (let i = firstMark(own, window.from - FLAG_WIDE * wide); i < own.length && own[i]!.time < window.to; ) {
        const x = Math.round((own[i]!.time - window.from) / wide);
        flag(context, x, top + FLAG_TOP);
        i = Math.max(i + 1, firstMark(own, window.from + (x + 0.5) * wide));
      }
    }
    context.fill();
  }

  private prepare(width: number, height: number, colors: Colors): void {
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.line = new Uint32Array(width);
      this.lower = new Uint32Array(width);
      this.lowerHeight = new Uint8Array(width);
      this.shades = new Uint8Array(width);
      this.shares = bins(width);
    }
    if (this.colors === colors) return;
    this.colors = colors;
    this.ranColors = [shares(colors.ran), shares(further(colors.ran, colors.dark))];
    this.preemptedColors = shares(colors.preempted);
  }

  private paintRow(scene: RunScene, row: Row, y: number): void {
    const { shares } = this;
    for (const part of [shares.ran, shares.preempted, shares.unknown]) part.fill(0);
    if (row.kind === 'cpu') row.track().addTo(shares, scene.window);
    for (const track of row.parts) track.addTo(shares, scene.window);
    // Of several threads, what is not known of one, or that it is preempted, says nothing of the others.
    if (row.kind === 'several') for (const part of [shares.preempted, shares.unknown]) part.fill(0);
    this.shade(row, scene.window);
    const any = this.mix(scene);
    const from = Math.max(0, y + Math.round(BAR_TOP * devicePixelRatio));
    const bottom = y + Math.round((BAR_TOP + BAR) * devicePixelRatio);
    const to = Math.min(this.canvas.height, bottom);
    for (let at = from; at < to; at++) this.pixels.set(this.line, at * this.line.length);
    this.paintLower(bottom, to);
    if (any) for (let at = from; at < to; at++) this.hatch(shares.unknown, LEAST_UNKNOWN, at, pixel(scene.colors.unknown), true);
    if (scene.sampled) this.stripe(from, to);
    this.paintLife(row, scene, y);
  }

  /** The lower part of a row, above the line `bottom`, down to the line `to`. */
  private paintLower(bottom: number, to: number): void {
    const { lower, lowerHeight, pixels } = this;
    const width = lower.length;
    for (let x = 0; x < width; x++)
      for (let y = Math.max(0, bottom - lowerHeight[x]!); y < to; y++) pixels[y * width + x] = lower[x]!;
  }

  /** What was only looked at now and then is striped. */
  private stripe(from: number, to: number): void {
    const { length } = this.line;
    for (let y = from; y < to; y++)
      if (Math.floor(y / devicePixelRatio) % STRIPE === STRIPE - 1) this.pixels.fill(0, y * length, (y + 1) * length);
  }

  /**
   * Colours of a row: as strong as the share of the pixel that there is anything in, with the time that
   * the thread could have had a processor at the bottom. Whether anything is not known.
   */
  private mix({ window, colors }: RunScene): boolean {
    const { line, lower, lowerHeight, shades } = this;
    const { ran, preempted, unknown } = this.shares;
    const unit = line.length / (window.to - window.from);
    const soft = pixel(colors.unknown, 0.25);
    const high = Math.round(BAR * devicePixelRatio);
    const least = Math.round(LEAST_HIGH * devicePixelRatio);
    let any = false;
    for (let x = 0; x < line.length; x++) {
      const r = ran[x]! * unit;
      const p = preempted[x]! * unit;
      const strong = Math.min(STEPS - 1, Math.round((r + p) * (STEPS - 1)));
      line[x] = r > 0 ? this.ranColors[shades[x]!]![Math.max(LEAST_RAN, strong)]! : 0;
      lowerHeight[x] = 0;
      if (p > 0) {
        lower[x] = this.preemptedColors[Math.max(LEAST_PREEMPTED, strong)]!;
        lowerHeight[x] = r > 0 ? Math.max(least, Math.min(high - least, Math.round((high * p) / (r + p)))) : high;
      }
      if (unknown[x]! === 0) continue;
      unknown[x]! *= unit;
      if (r + p === 0) line[x] = soft;
      any = true;
    }
    return any;
  }

  /** Every second thread of a row of several has another shade, where single slices can be seen. */
  private shade(row: Row, window: Nanoseconds): void {
    this.shades.fill(0);
    if (row.kind === 'thread' || this.slices(row, window) * SHADES_BELOW > this.shades.length) return;
    const track = row.inSight(window);
    const first = Math.max(0, track.begun(window.from) - 1);
    const end = track.begun(window.to);
    const { length } = this.shades;
    const scale = length / (window.to - window.from);
    for (let i = first; i < end; i++)
      if (track.owner(i) % 2 === 1) this.shades.fill(1, Math.max(0, Math.round((track.start(i) - window.from) * scale)), Math.max(0, Math.round((track.end(i) - window.from) * scale)));
  }

  /** How many slices of a row are in a window, or a few more. */
  private slices(row: Row, window: Nanoseconds): number {
    const tracks = row.kind === 'cpu' ? [row.track()] : row.parts;
    return tracks.reduce((sum, t) => sum + t.begun(window.to) - t.begun(window.from) + 1, 0);
  }

  /** A thin line for as long as a thread was there. */
  private paintLife(row: Row, { window, colors }: RunScene, y: number): void {
    const lives = (row.kind === 'cpu' ? [row.track()] : row.parts).map((t) => t.life);
    const from = lives.reduce((first, l) => Math.min(first, l.from), Infinity);
    const to = lives.reduce((last, l) => Math.max(last, l.to), 0);
    const { length } = this.line;
    const scale = length / (window.to - window.from);
    const [a, b] = [from, to].map((t) => Math.round(Math.max(0, Math.min(length, (t - window.from) * scale)))) as [number, number];
    const at = y + Math.round((BAR_TOP + BAR / 2) * devicePixelRatio);
    if (at < 0 || at >= this.canvas.height) return;
    const color = pixel(colors.unknown, 0.3);
    for (let i = at * length + a; i < at * length + b; i++) if (this.pixels[i] === 0) this.pixels[i] = color;
  }

  /** Hatches a line of pixels where there is at least so much; `over` what is drawn there, or only beside it. */
  private hatch(where: ArrayLike<number>, least: number, y: number, color: number, over: boolean): void {
    const { pixels, line } = this;
    const [step, width] = [HATCH * devicePixelRatio, HATCH_LINE * devicePixelRatio];
    const row = y * line.length;
    for (let x = 0; x < line.length; x++) if (where[x]! >= least && (x + y) % step < width && (over || pixels[row + x] === 0)) pixels[row + x] = color;
  }

  private lossMask({ losses, window }: RunScene, cpu: number | null): Uint8Array | null {
    const { length } = this.line;
    const scale = length / (window.to - window.from);
    let mask: Uint8Array | null = null;
    for (const loss of losses) {
      if ((cpu !== null && loss.cpu !== cpu) || loss.to < window.from || loss.from > window.to) continue;
      const from = Math.floor((loss.from - window.from) * scale);
      const to = Math.max(from + LEAST_LOSS, Math.ceil((loss.to - window.from) * scale));
      (mask ??= new Uint8Array(length)).fill(1, Math.max(0, from), Math.max(0, to));
    }
    return mask;
  }

  private paintLoss(mask: Uint8Array | null, y: number, colors: Colors): void {
    if (!mask) return;
    const end = Math.min(this.canvas.height, y + Math.round(RUN_ROW * devicePixelRatio));
    for (let at = Math.max(0, y); at < end; at++) this.hatch(mask, 1, at, pixel(colors.unknown, LOSS_ALPHA), false);
  }

  /** Names on the slices of a row that has several threads'. */
  private label(context: CanvasRenderingContext2D, scene: RunScene, track: Track, top: number): void {
    const { window } = scene;
    const width = this.canvas.width / devicePixelRatio;
    const scale = width / (window.to - window.from);
    const first = Math.max(0, track.begun(window.from) - 1);
    const end = track.begun(window.to);
    context.fillStyle = scene.colors.onRan;
    for (let k = first; k < end; k++) {
      const [from, to] = [Math.max(0, (track.start(k) - window.from) * scale), Math.min(width, (track.end(k) - window.from) * scale)];
      if (to - from >= LEAST_LABEL) this.name(context, scene.name(track.owner(k)), from, to, top + BAR_TOP + BAR / 2 + 0.5);
    }
  }

  private name(context: CanvasRenderingContext2D, text: string, from: number, to: number, y: number): void {
    context.save();
    context.beginPath();
    context.rect(from, y - BAR / 2, to - from - 3, BAR);
    context.clip();
    context.fillText(text, from + 4, y);
    context.restore();
  }
}
