// SPDX-License-Identifier: MIT
// The strip over all views: samples over time by kind of code, or processors in use. Dragging on it chooses a time range.

import type { TimeRange } from '../data/time.ts';
import { amount, duration, isBytes, percent } from '../model/format.ts';
import { KINDS } from '../model/kinds.ts';
import type { State } from '../model/selection.ts';
import { cleared, DRAG, setPixels, SMALL_FONT } from './canvas.ts';
import { el, setText } from './dom.ts';
import type { Page } from './page.ts';
import { css } from './theme.ts';

const AXIS = 18;
const LEAST_BINS = 60;
const MOST_BINS = 600;
const SAMPLES_PER_BIN = 60;
/** Over the time of so many samples of a thread it is known how many processors were busy. */
const BUSY_SAMPLES = 30;
const EDGE = 6;
const KEY_STEP = 0.01;
/** Matches over time wait until the typing pauses: the picture below comes first. */
const MATCH_DELAY_MS = 120;
const BEHIND_MATCHES = 0.3;
const STEPS = [1, 2, 5];
const HOUR = 3600e9;
const DAY = 24 * HOUR;
/** Longer steps are such of minutes and hours. */
const MOST_DECIMAL = 20e9;
const LONG_STEPS = [30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400].map((s) => s * 1e9);
/** Up to there times are told in seconds. */
const MOST_SECONDS = 600e9;
const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']] as const;
/** The ends of a range are told as exactly as that part of it. */
const READ_PART = 0.01;

type Grip = 'new' | 'from' | 'to' | 'move';

/** The round step of time that puts at least `room` pixels between ticks; all in nanoseconds. */
export function tickStep(length: number, width: number, room: number): number {
  const least = (length * room) / Math.max(1, width);
  const long = least > MOST_DECIMAL ? LONG_STEPS.find((s) => s >= least) : undefined;
  if (long) return long;
  const unit = least > MOST_DECIMAL ? DAY : 1;
  const power = unit * 10 ** Math.floor(Math.log10(least / unit));
  return (STEPS.find((s) => s * power >= least) ?? 10) * power;
}

/** Digits behind the point that tell multiples of `step` apart. */
const digits = (step: number, unit: number) => Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));

/** "1:05:00", "10:30.5" */
function clockText(ns: number, decimals: number, hours: boolean): string {
  const parts = Math.round(ns / 10 ** (9 - decimals));
  const seconds = Math.floor(parts / 10 ** decimals);
  const rest = decimals > 0 ? `.${String(parts % 10 ** decimals).padStart(decimals, '0')}` : '';
  const two = (n: number) => String(n).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  return `${hours ? `${Math.floor(minutes / 60)}:${two(minutes % 60)}` : minutes}:${two(seconds % 60)}${rest}`;
}

/** A time, as exactly as `step`, among others that reach to `last`: "1.50 s", or, of long times, "1:05:00". */
function timeText(ns: number, step: number, last: number): string {
  if (last >= MOST_SECONDS) return clockText(ns, digits(step, 1e9), last >= HOUR);
  if (ns === 0) return '0 s';
  const [unit, name] = UNITS.find(([u]) => Math.round(ns) >= u) ?? UNITS[UNITS.length - 1]!;
  return `${(ns / unit).toFixed(digits(step, unit))} ${name}`;
}

/** "1.50 s" → "1.5 s", "2.00 s" → "2 s": ticks stand at round times. */
export const tickLabel = (ns: number, step: number, last: number) =>
  timeText(ns, step, last).replace(/\.0+(?= |$)|(\.\d*?)0+(?= |$)/, '$1');

/** The highest mean of so many neighbours; of all, if there are no more. */
export function highestOver(values: Float64Array, neighbours: number): number {
  const n = Math.max(1, Math.min(values.length, neighbours));
  let [sum, highest] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    sum += values[i]! - (i >= n ? values[i - n]! : 0);
    if (i >= n - 1) highest = Math.max(highest, sum / n);
  }
  return highest;
}

export class Overview {
  readonly element: HTMLElement;
  private readonly canvas = el('canvas', { 'aria-hidden': 'true' });
  private readonly shadeLeft = el('div', { class: 'overview-shade' });
  private readonly shadeRight = el('div', { class: 'overview-shade' });
  private readonly range = el('div', { class: 'overview-range' });
  private readonly busiest = el('span', { class: 'overview-scale' });
  private readonly readout = el('span', { class: 'overview-readout' });
  private readonly clear: HTMLButtonElement;
  private readonly area: HTMLElement;
  private state: State;
  private width = 0;
  private height = 0;
  private matched: Float64Array | null = null;
  private matchTimer: ReturnType<typeof setTimeout> | undefined;
  private drag: { grip: Grip; x: number; start: TimeRange; moved: boolean } | null = null;

  constructor(private readonly page: Page) {
    this.state = page.store.state;
    this.clear = el(
      'button', { type: 'button', class: 'small', hidden: true, onclick: () => page.store.set({ time: null }) },
      'Whole recording',
    );
    this.area = el(
      'div',
      {
        class: 'overview-area', tabindex: 0, role: 'slider', 'aria-label': 'Time range',
        'aria-orientation': 'horizontal', 'aria-valuemin': 0, 'aria-valuemax': 100,
      },
      this.canvas, this.shadeLeft, this.shadeRight, this.range, this.busiest,
    );
    this.element = el(
      'section', { class: 'overview', 'aria-label': 'Samples over time' },
      this.area, el('div', { class: 'overview-foot' }, this.readout, this.clear),
    );
    this.area.addEventListener('pointerdown', (e) => this.onDown(e));
    this.area.addEventListener('pointermove', (e) => this.onMove(e));
    this.area.addEventListener('pointerup', (e) => this.onUp(e));
    this.area.addEventListener('pointercancel', () => (this.drag = null));
    this.area.addEventListener('dblclick', () => page.store.set({ time: null }));
    this.area.addEventListener('keydown', (e) => this.onKey(e));
    new ResizeObserver(() => this.resize()).observe(this.area);
  }

  render(state: State): void {
    this.state = state;
    clearTimeout(this.matchTimer);
    if (state.search === '') this.matched = null;
    this.paint();
    this.placeRange();
    if (state.search !== '') this.matchTimer = setTimeout(() => this.showMatches(), MATCH_DELAY_MS);
  }

  private showMatches(): void {
    const matched = this.page.answers.matchedHistogram(this.state, this.bins());
    if (matched === this.matched) return;
    this.matched = matched;
    this.paint();
  }

  private get length(): number {
    return this.page.answers.duration(this.state);
  }

  private resize(): void {
    this.width = this.area.clientWidth;
    this.height = this.area.clientHeight;
    setPixels(this.canvas, this.width, this.height);
    this.paint();
    this.placeRange();
  }

  private bins(): number {
    if (this.ofRuns()) return MOST_BINS;
    const rows = this.page.answers.rows(this.state).time.length;
    return Math.max(LEAST_BINS, Math.min(MOST_BINS, Math.round(rows / SAMPLES_PER_BIN)));
  }

  /** Whether there are no samples, only threads over time. */
  private ofRuns(): boolean {
    return this.page.recording.runs !== null && !this.page.recording.stacks;
  }

  /** How many processors had a thread of those chosen. */
  private paintRuns(context: CanvasRenderingContext2D, color: string): void {
    const busy = this.page.answers.busy(this.state, this.bins());
    const highest = busy.reduce((a, b) => Math.max(a, b), 0);
    const floor = this.height - AXIS;
    const scale = (floor - 6) / Math.max(1, highest);
    context.fillStyle = color;
    busy.forEach((ran, bin) => {
      const [left, right] = [bin, bin + 1].map((b) => Math.round((b * this.width) / busy.length)) as [number, number];
      context.fillRect(left, floor - ran * scale, Math.max(1, right - left), ran * scale);
    });
    const bin_ns = (this.length * this.page.recording.meta.time_unit_ns) / busy.length;
    const what = this.page.recording.runs!.info.switches!.sampled ? 'threads' : 'CPUs';
    setText(this.busiest, `highest: ${(highest / bin_ns).toFixed(1)} ${what}`);
  }

  private paint(): void {
    if (this.width === 0) return;
    const context = cleared(this.canvas);
    const colors = this.page.colors();
    if (this.ofRuns()) this.paintRuns(context, css(colors.ran));
    else this.paintBars(context, colors.kinds, colors.accent);
    this.paintAxis(context, colors.muted, colors.line);
  }

  private paintBars(context: CanvasRenderingContext2D, kinds: readonly string[], accent: string): void {
    const { bins, values, highest } = this.page.answers.histogram(this.state, this.bins());
    const floor = this.height - AXIS;
    const scale = (floor - 6) / Math.max(1, highest);
    const below = new Float64Array(bins);
    const bar = (bin: number, from: number, to: number) => {
      const left = Math.round((bin * this.width) / bins);
      const right = Math.round(((bin + 1) * this.width) / bins);
      context.fillRect(left, floor - to * scale, Math.max(1, right - left), (to - from) * scale + 0.3);
    };
    const matched = this.matched?.length === bins ? this.matched : null;
    context.globalAlpha = matched ? BEHIND_MATCHES : 1;
    KINDS.forEach((_, kind) => {
      context.fillStyle = kinds[kind]!;
      for (let bin = 0; bin < bins; bin++) {
        const value = values[bin * KINDS.length + kind]!;
        if (value > 0) bar(bin, below[bin]!, (below[bin]! += value));
      }
    });
    context.globalAlpha = 1;
    context.fillStyle = accent;
    if (matched) for (let bin = 0; bin < bins; bin++) if (matched[bin]! > 0) bar(bin, 0, matched[bin]!);
    setText(this.busiest, this.busyText(highest, below));
  }

  /** What the highest bar stands for: with CPU samples the number of CPUs that were busy, over some samples. */
  private busyText(highest: number, bars: Float64Array): string {
    const bins = bars.length;
    const { info, waiting } = this.page.answers.rows(this.state);
    const bin_ns = (this.length * this.page.recording.meta.time_unit_ns) / bins;
    const what = waiting ? 'threads' : info.name === 'cpu' ? 'CPUs' : null;
    if (info.calls) return `highest: ${((highest * info.weight_ns) / bin_ns).toFixed(1)} ${info.calls.depth === 'tree' ? 'CPUs' : 'threads'} in calls`;
    if (isBytes(info)) return `highest: ${amount((highest * 1e9) / bin_ns, info)}/s`;
    if (what === null || info.interval_ns <= 0) return '';
    const busy = highestOver(bars, Math.ceil((BUSY_SAMPLES * info.interval_ns) / bin_ns)) * (info.interval_ns / bin_ns);
    return `highest: ${busy.toFixed(busy < 100 ? 1 : 0)} ${what}`;
  }

  private paintAxis(context: CanvasRenderingContext2D, text: string, line: string): void {
    const { time_unit_ns } = this.page.recording.meta;
    const length = this.length * time_unit_ns;
    const step = tickStep(length, this.width, 90);
    const floor = this.height - AXIS + 0.5;
    context.strokeStyle = line;
    context.fillStyle = text;
    context.font = SMALL_FONT;
    context.textBaseline = 'middle';
    context.beginPath();
    context.moveTo(0, floor);
    context.lineTo(this.width, floor);
    for (let t = 0; t < length; t += step) {
      const x = Math.round(this.toX(t / time_unit_ns)) + 0.5;
      context.moveTo(x, floor);
      context.lineTo(x, floor + 4);
      const label = tickLabel(t, step, length);
      if (x + context.measureText(label).width + 6 < this.width) context.fillText(label, x + 4, floor + 9);
    }
    context.stroke();
  }

  private toX(time: number): number {
    return (time / this.length) * this.width;
  }

  private toTime(x: number): number {
    return Math.round((Math.max(0, Math.min(this.width, x)) / this.width) * this.length);
  }

  private placeRange(): void {
    const { time } = this.state;
    const { time_unit_ns } = this.page.recording.meta;
    for (const part of [this.shadeLeft, this.shadeRight, this.range]) part.hidden = time === null;
    this.clear.hidden = time === null;
    const { from, to } = time ?? { from: 0, to: this.length };
    this.shadeLeft.style.width = this.range.style.left = `${this.toX(from)}px`;
    this.range.style.width = `${this.toX(to) - this.toX(from)}px`;
    this.shadeRight.style.left = `${this.toX(to)}px`;
    const read = (t: number) => timeText(t * time_unit_ns, READ_PART * (to - from) * time_unit_ns, this.length * time_unit_ns);
    const text = `${read(from)} – ${read(to)}`;
    const length = duration((to - from) * time_unit_ns);
    setText(this.readout, time ? `${text}  (${length}, ${percent(to - from, this.length)} of the time)` : '');
    this.area.setAttribute('aria-valuenow', String(Math.round((100 * from) / this.length)));
    this.area.setAttribute('aria-valuetext', time ? `${text}, ${length}` : 'the whole recording');
  }

  private gripAt(x: number): Grip {
    const { time } = this.state;
    if (!time) return 'new';
    const [from, to] = [this.toX(time.from), this.toX(time.to)];
    if (Math.abs(x - from) <= EDGE) return 'from';
    if (Math.abs(x - to) <= EDGE) return 'to';
    return x > from && x < to ? 'move' : 'new';
  }

  private at(event: PointerEvent): number {
    return event.clientX - this.area.getBoundingClientRect().left;
  }

  private onDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    const x = this.at(event);
    this.area.setPointerCapture(event.pointerId);
    const start = this.state.time ?? { from: 0, to: this.length };
    this.drag = { grip: this.gripAt(x), x, start, moved: false };
  }

  private onMove(event: PointerEvent): void {
    const x = this.at(event);
    const { drag } = this;
    if (!drag) {
      this.area.dataset['grip'] = this.gripAt(x);
      return;
    }
    drag.moved ||= Math.abs(x - drag.x) >= DRAG;
    if (drag.moved) this.page.store.set({ time: this.dragged(drag.grip, drag.x, x, drag.start) });
  }

  private dragged(grip: Grip, startX: number, x: number, start: TimeRange): TimeRange {
    const t = this.toTime(x);
    if (grip === 'move') return this.moved(start, Math.round(((x - startX) / this.width) * this.length));
    const fixed = grip === 'from' ? start.to : grip === 'to' ? start.from : this.toTime(startX);
    return { from: Math.min(fixed, t), to: Math.max(fixed, t, Math.min(fixed, t) + 1) };
  }

  private moved(range: TimeRange, by: number): TimeRange {
    const room = Math.max(-range.from, Math.min(this.length - range.to, by));
    return { from: range.from + room, to: range.to + room };
  }

  private ended(range: TimeRange, by: number): TimeRange {
    return { from: range.from, to: Math.min(this.length, Math.max(range.from + 1, range.to + by)) };
  }

  private onUp(event: PointerEvent): void {
    const { drag } = this;
    this.drag = null;
    if (!drag || drag.moved) return;
    if (drag.grip === 'new' && this.state.time && this.at(event) >= 0) this.page.store.set({ time: null });
  }

  /** Arrows move the range, with Shift its end; + and - make it longer and shorter about its middle. */
  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = Math.max(1, Math.round(this.length * KEY_STEP));
    const range = this.state.time ?? { from: 0, to: this.length };
    const by = event.key === 'ArrowLeft' ? -step : event.key === 'ArrowRight' ? step : 0;
    let next: TimeRange | null = range;
    if (by !== 0 && event.shiftKey) next = this.ended(range, by);
    else if (by !== 0) next = this.moved(range, by);
    else if (event.key === '+' || event.key === '=') next = this.scaled(range, 0.5);
    else if (event.key === '-') next = this.scaled(range, 2);
    else if (event.key === 'Escape' && this.state.time) next = null;
    else return;
    event.preventDefault();
    event.stopPropagation();
    const whole = next !== null && next.from === 0 && next.to === this.length;
    this.page.store.set({ time: whole ? null : next });
  }

  private scaled(range: TimeRange, factor: number): TimeRange {
    const middle = (range.from + range.to) / 2;
    const half = Math.max(0.5, ((range.to - range.from) * factor) / 2);
    return {
      from: Math.max(0, Math.round(middle - half)),
      to: Math.min(this.length, Math.max(Math.round(middle - half) + 1, Math.round(middle + half))),
    };
  }
}
