// SPDX-License-Identifier: MIT
// What is drawn over time, below a ruler: the wheel zooms, dragging pans, dragging on the ruler or with
// Shift chooses a range of time. It knows times and pixels, not what is drawn.

import type { Nanoseconds } from '../data/time.ts';
import { LEAST_NS, within } from '../model/window.ts';
import { DRAG } from './canvas.ts';

const WHEEL_ZOOM = 0.0016;
const KEY_ZOOM = 2;
const KEY_PAN = 0.2;
const ROOM_BESIDE = 0.15;

export interface PaneOptions {
  /** What scrolls, what has the ruler on it, and where time begins on the left. */
  readonly scroller: HTMLElement;
  readonly ruler: HTMLElement;
  readonly origin: HTMLElement;
  /** What can be looked at, and what is; null: nothing is drawn. */
  time(): { readonly whole: Nanoseconds; readonly window: Nanoseconds } | null;
  onWindow(window: Nanoseconds): void;
  onRange(range: Nanoseconds): void;
  /** The pointer is here; null: on nothing that is drawn. */
  hover(event: PointerEvent | null): void;
  click(event: PointerEvent): void;
}

interface Drag {
  readonly x: number;
  readonly y: number;
  readonly window: Nanoseconds;
  readonly scroll: number;
  readonly range: boolean;
  moved: boolean;
}

export class TimePane {
  /** Of what is drawn, in CSS pixels. */
  width = 0;
  private drag: Drag | null = null;

  constructor(private readonly options: PaneOptions) {
    const { scroller, ruler } = options;
    scroller.addEventListener('pointerleave', () => options.hover(null));
    for (const part of [scroller, ruler]) {
      part.addEventListener('wheel', (e) => this.onWheel(e), { passive: false });
      part.addEventListener('pointerdown', (e) => this.onDown(e, part));
      part.addEventListener('pointermove', (e) => this.onMove(e));
      part.addEventListener('pointerup', (e) => this.onUp(e));
      part.addEventListener('pointercancel', () => (this.drag = null));
    }
  }

  private get window(): Nanoseconds {
    return this.options.time()!.window;
  }

  toX(time: number): number {
    const { window } = this;
    return ((time - window.from) / (window.to - window.from)) * this.width;
  }

  toTime(x: number): number {
    const { window } = this;
    return window.from + (x / this.width) * (window.to - window.from);
  }

  x(event: MouseEvent): number {
    return event.clientX - this.options.origin.getBoundingClientRect().left;
  }

  set(window: Nanoseconds): void {
    this.options.onWindow(within(window, this.options.time()!.whole));
  }

  /** About a time, or the middle where that is not in sight. */
  zoom(factor: number, about: number | null = null): void {
    if (!this.options.time()) return;
    const { window } = this;
    const seen = about !== null && about > window.from && about < window.to;
    const middle = seen ? about : (window.from + window.to) / 2;
    this.set({ from: middle - (middle - window.from) * factor, to: middle + (window.to - middle) * factor });
  }

  pan(part: number): void {
    const { window } = this;
    const by = part * (window.to - window.from);
    this.set({ from: window.from + by, to: window.to + by });
  }

  /** To a part of the time, with some room beside it. */
  zoomTo({ from, to }: Nanoseconds): void {
    const room = Math.max(LEAST_NS, to - from) * ROOM_BESIDE;
    this.set({ from: from - room, to: to + room });
  }

  /** Moves to a part of the time, where none of it is in sight. */
  show({ from, to }: Nanoseconds): void {
    const { window } = this;
    const length = window.to - window.from;
    if (to <= window.from || from >= window.to) this.set({ from: (from + to - length) / 2, to: (from + to + length) / 2 });
  }

  /** What the key does to the time in sight; null: nothing. `about`: what to zoom in on. */
  key(event: KeyboardEvent, about: number | null): (() => void) | null {
    const pans: Record<string, number> = { ArrowLeft: -KEY_PAN, ArrowRight: KEY_PAN };
    const zooms: Record<string, number> = { '+': 1 / KEY_ZOOM, '=': 1 / KEY_ZOOM, '-': KEY_ZOOM, Backspace: KEY_ZOOM };
    const factor = zooms[event.key];
    const part = event.shiftKey ? pans[event.key] : undefined;
    if (factor !== undefined) return () => this.zoom(factor, about);
    return part === undefined ? null : () => this.pan(part);
  }

  private onDown(event: PointerEvent, part: HTMLElement): void {
    const time = this.options.time();
    const x = this.x(event);
    if (event.button !== 0 || !time || x < 0 || x > this.width) return;
    part.setPointerCapture(event.pointerId);
    const { scroller, ruler } = this.options;
    const range = event.shiftKey || part === ruler;
    this.drag = { x, y: event.clientY, window: time.window, scroll: scroller.scrollTop, range, moved: false };
  }

  private onMove(event: PointerEvent): void {
    if (this.drag) this.onDrag(event, this.drag);
    else this.options.hover(event.target === this.options.ruler || !this.options.time() ? null : event);
  }

  private onDrag(event: PointerEvent, drag: Drag): void {
    const x = this.x(event);
    drag.moved ||= Math.abs(x - drag.x) >= DRAG || Math.abs(event.clientY - drag.y) >= DRAG;
    if (!drag.moved) return;
    this.options.hover(null);
    if (drag.range) {
      const [a, b] = [this.toTime(drag.x), this.toTime(x)];
      this.options.onRange({ from: Math.min(a, b), to: Math.max(a, b) });
    } else {
      const by = ((drag.x - x) / this.width) * (drag.window.to - drag.window.from);
      this.options.scroller.scrollTop = drag.scroll + drag.y - event.clientY;
      this.set({ from: drag.window.from + by, to: drag.window.to + by });
    }
  }

  private onUp(event: PointerEvent): void {
    const { drag } = this;
    this.drag = null;
    if (drag && !drag.moved && event.target !== this.options.ruler) this.options.click(event);
  }

  private onWheel(event: WheelEvent): void {
    const x = this.x(event);
    if (!this.options.time() || this.drag || x < 0) return;
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) return this.pan(sideways / this.width);
    this.options.hover(null);
    this.zoom(Math.exp(event.deltaY * WHEEL_ZOOM), this.toTime(x));
  }
}

/** Darkens what is outside of the range of time that all views count, and marks its ends. */
export function shadeRange(context: CanvasRenderingContext2D, range: Nanoseconds, pane: TimePane, height: number, line: string): void {
  const [from, to] = [pane.toX(range.from), pane.toX(range.to)];
  const { width } = pane;
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--shade');
  if (from > 0) context.fillRect(0, 0, Math.min(from, width), height);
  if (to < width) context.fillRect(Math.max(0, to), 0, width - Math.max(0, to), height);
  context.fillStyle = line;
  for (const x of [from - 2, to]) if (x > -2 && x < width) context.fillRect(x, 0, 2, height);
}
