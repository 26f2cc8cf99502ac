// SPDX-License-Identifier: MIT
// How long the calls of a method took: bars over buckets that grow with the time. Dragging over them
// brings these calls out in the flame chart.

import { bucketStart } from '../data/calls.ts';
import { quantile, type Durations } from '../model/durations.ts';
import { callCount, count, duration, percent } from '../model/format.ts';
import type { State } from '../model/selection.ts';
import { cleared, setPixels, SMALL_FONT } from './canvas.ts';
import { el, setText } from './dom.ts';
import type { Page } from './page.ts';

const HEIGHT = 92;
const AXIS = 16;
const ROOM = 64;
/** A bucket with a single call among millions is still seen. */
const LEAST_BAR = 1.5;

export class DurationBars {
  readonly element: HTMLElement;
  private readonly canvas = el('canvas', { 'aria-hidden': 'true' });
  private readonly area: HTMLElement;
  private readonly facts = el('span', { class: 'facts' });
  private readonly all: HTMLButtonElement;
  private durations: Durations | null = null;
  private state: State;
  private width = 0;
  private from: number | null = null;

  constructor(private readonly page: Page) {
    this.state = page.store.state;
    this.all = el('button', { type: 'button', class: 'small', onclick: () => page.store.set({ lengths: null }) }, 'All durations');
    this.area = el(
      'div',
      { class: 'durations-area', tabindex: 0, role: 'slider', 'aria-label': 'Durations of the calls', 'aria-valuemin': 0, 'aria-valuemax': 0 },
      this.canvas,
    );
    this.element = el(
      'section', { class: 'durations', 'aria-label': 'Durations', hidden: true },
      el('h3', {}, 'Durations'), el('div', { class: 'durations-head' }, this.facts, this.all), this.area,
    );
    this.area.addEventListener('pointerdown', (e) => this.onDown(e));
    this.area.addEventListener('pointermove', (e) => this.onMove(e));
    this.area.addEventListener('pointerup', () => (this.from = null));
    this.area.addEventListener('pointerleave', () => page.tooltip.hide());
    this.area.addEventListener('keydown', (e) => this.onKey(e));
    new ResizeObserver(() => this.resize()).observe(this.area);
  }

  show(state: State, method: number): void {
    this.state = state;
    this.durations = this.page.answers.durations(state, method);
    this.element.hidden = this.durations === null || this.durations.calls === 0;
    if (this.element.hidden) return;
    const d = this.durations!;
    const at = (part: number) => duration(quantile(d, part));
    setText(this.facts, `${callCount(d.calls)} that ended  ·  half under ${at(0.5)}  ·  90% under ${at(0.9)}  ·  99% under ${at(0.99)}`);
    this.all.hidden = state.lengths === null;
    this.area.setAttribute('aria-valuemax', String(d.end - d.first));
    this.area.setAttribute('aria-valuenow', String(this.chosen().first - d.first));
    this.area.setAttribute('aria-valuetext', this.rangeText());
    this.paint();
  }

  /** Buckets that are brought out. */
  private chosen(): { first: number; end: number } {
    const { first, end } = this.durations!;
    const { lengths } = this.state;
    if (!lengths) return { first, end };
    let [a, b] = [first, end];
    while (a < end && bucketStart(a) < lengths.from) a++;
    while (b > a && bucketStart(b) > lengths.to) b--;
    return { first: a, end: b };
  }

  private callsIn(first: number, end: number): number {
    let sum = 0;
    for (let b = first; b < end; b++) sum += this.durations!.counts[b]!;
    return sum;
  }

  private rangeText(): string {
    const { first, end } = this.chosen();
    return `${duration(bucketStart(first))} to ${duration(bucketStart(end))}, ${callCount(this.callsIn(first, end))}`;
  }

  private resize(): void {
    this.width = this.area.clientWidth;
    setPixels(this.canvas, this.width, HEIGHT);
    if (this.durations) this.paint();
  }

  private x(bucket: number): number {
    const { first, end } = this.durations!;
    return ((bucket - first) / (end - first)) * this.width;
  }

  private paint(): void {
    if (this.width === 0 || !this.durations?.calls) return;
    const { counts, first, end } = this.durations;
    const colors = this.page.colors();
    const context = cleared(this.canvas);
    const highest = counts.reduce((a, b) => Math.max(a, b), 1);
    const floor = HEIGHT - AXIS;
    const chosen = this.chosen();
    context.font = SMALL_FONT;
    context.textBaseline = 'middle';
    let free = 0;
    for (let b = first; b < end; b++) {
      const [left, right] = [Math.round(this.x(b)), Math.round(this.x(b + 1))];
      const high = counts[b] === 0 ? 0 : Math.max(LEAST_BAR, (counts[b]! / highest) * (floor - 4));
      context.fillStyle = b >= chosen.first && b < chosen.end ? colors.accent : colors.line;
      context.fillRect(left, floor - high, Math.max(1, Math.min(right - left - 1, ROOM)), high);
      if (left < free) continue;
      context.fillStyle = colors.muted;
      const label = duration(bucketStart(b)).replace(/\.?0+ /, (zeros) => (zeros.startsWith('.') ? ' ' : zeros));
      if (left + context.measureText(label).width < this.width) context.fillText(label, left, floor + AXIS / 2 + 1);
      free = left + ROOM;
    }
    context.fillStyle = colors.line;
    context.fillRect(0, floor, this.width, 1);
  }

  private bucketAt(event: PointerEvent): number {
    const { first, end } = this.durations!;
    const x = event.clientX - this.area.getBoundingClientRect().left;
    return Math.max(first, Math.min(end - 1, first + Math.floor((x / this.width) * (end - first))));
  }

  private choose(a: number, b: number): void {
    const { first, end } = this.durations!;
    const [low, high] = [Math.min(a, b), Math.max(a, b) + 1];
    const all = low === first && high === end;
    this.page.store.set({ lengths: all ? null : { from: bucketStart(low), to: bucketStart(high) } });
  }

  private onDown(event: PointerEvent): void {
    if (event.button !== 0 || !this.durations) return;
    this.area.setPointerCapture(event.pointerId);
    this.from = this.bucketAt(event);
    this.choose(this.from, this.from);
  }

  private onMove(event: PointerEvent): void {
    if (!this.durations) return;
    const bucket = this.bucketAt(event);
    if (this.from !== null) this.choose(this.from, bucket);
    const { counts, calls } = this.durations;
    const facts = [
      { label: 'Calls', value: count(counts[bucket]!) },
      { label: 'Of all', value: percent(counts[bucket]!, calls) },
      { label: 'Shorter ones', value: percent(this.callsIn(this.durations.first, bucket), calls) },
    ];
    this.page.tooltip.show({ title: `${duration(bucketStart(bucket))} to ${duration(bucketStart(bucket + 1))}`, facts }, event.clientX, event.clientY);
  }

  /** Arrows move the chosen buckets, with Shift their end; Escape chooses all. */
  private onKey(event: KeyboardEvent): void {
    const step = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (!this.durations || (step === 0 && !(event.key === 'Escape' && this.state.lengths))) return;
    event.preventDefault();
    event.stopPropagation();
    if (step === 0) return this.page.store.set({ lengths: null });
    const { first, end } = this.durations;
    const now = this.state.lengths ? this.chosen() : { first: step > 0 ? first - 1 : end, end: step > 0 ? first : end + 1 };
    const from = event.shiftKey ? now.first : now.first + step;
    const to = now.end - 1 + step;
    if (from < first || to >= end || to < from) return;
    this.choose(from, to);
  }
}
