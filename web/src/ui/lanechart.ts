// SPDX-License-Identifier: MIT
// The single calls of a thread over time: zooms, pans, shows what is under the pointer, walks by keyboard.

import type { Lane, Lanes } from '../data/lanes.ts';
import type { Nanoseconds } from '../data/time.ts';
import { ROOT } from '../data/trie.ts';
import { callerSlice, isMarked, layOutLane, rowOf, type Marked } from '../model/chart.ts';
import { callCount, count, duration, instant } from '../model/format.ts';
import { KINDS } from '../model/kinds.ts';
import { Layout } from '../model/layout.ts';
import { firstAfter } from '../model/slicing.ts';
import { cleared, setSize } from './canvas.ts';
import { el, measured } from './dom.ts';
import type { Item } from './menu.ts';
import type { Page } from './page.ts';
import { Painter, ROW_HEIGHT } from './painter.ts';
import { paintRuler, RULER_HEIGHT } from './ruler.ts';
import { shadeRange, TimePane } from './timepane.ts';
import type { Card, Fact } from './tooltip.ts';

export interface LanePicture {
  readonly lanes: Lanes;
  readonly lane: Lane;
  /** What can be looked at, and what is. */
  readonly whole: Nanoseconds;
  readonly window: Nanoseconds;
  /** The time range that all views count. */
  readonly range: Nanoseconds | null;
  /** What is searched for; null: nothing is. */
  readonly marked: Marked | null;
  /** The chosen method. */
  readonly method: number | null;
  readonly merged_below_ns: number;
}

export interface LaneOptions {
  readonly label: string;
  onWindow(window: Nanoseconds): void;
  onRange(range: Nanoseconds): void;
  onChoose(slice: number): void;
  menu(slice: number): Item[];
}

export class LaneChart {
  readonly element: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly space = el('div', { class: 'flame-space' });
  private readonly ruler = el('canvas', { class: 'chart-ruler', 'aria-hidden': 'true' });
  private readonly canvas = el('canvas', { class: 'flame-canvas', 'aria-hidden': 'true' });
  private readonly overlay = el('canvas', { class: 'flame-overlay', 'aria-hidden': 'true' });
  private readonly painter: Painter;
  private readonly pane: TimePane;
  private picture: LanePicture | null = null;
  private layout = new Layout();
  private height = 0;
  private hovered = -1;
  /** A slice, or -1. */
  private cursor = -1;

  constructor(private readonly page: Page, private readonly options: LaneOptions) {
    this.space.append(el('div', { class: 'flame-sticky' }, this.canvas, this.overlay));
    this.scroller = el(
      'div',
      {
        class: 'flame-scroll chart-scroll', tabindex: 0, role: 'application',
        'aria-roledescription': 'flame chart', 'aria-label': options.label,
      },
      this.space,
    );
    this.element = el('div', { class: 'chart' }, this.ruler, el('div', { class: 'flame chart-rows' }, this.scroller));
    this.painter = new Painter(this.canvas, page.recording);
    this.pane = new TimePane({
      scroller: this.scroller, ruler: this.ruler, origin: this.canvas,
      time: () => this.picture,
      onWindow: options.onWindow,
      onRange: options.onRange,
      hover: (event) => this.onHover(event),
      click: (event) => this.onClick(event),
    });
    this.listen();
  }

  private listen(): void {
    const { scroller } = this;
    new ResizeObserver(() => this.resize()).observe(scroller);
    scroller.addEventListener('scroll', () => this.paint());
    scroller.addEventListener('dblclick', (e) => this.zoomTo(this.sliceUnder(e)));
    scroller.addEventListener('contextmenu', (e) => this.onMenu(e));
    scroller.addEventListener('keydown', (e) => this.onKey(e));
    scroller.addEventListener('focus', () => this.outline());
    scroller.addEventListener('blur', () => this.outline());
  }

  focus(): void {
    this.scroller.focus();
  }

  get chosen(): number {
    return this.cursor;
  }

  show(picture: LanePicture): void {
    const other = this.picture?.lane !== picture.lane;
    this.picture = picture;
    if (other) {
      this.cursor = -1;
      this.hover(-1);
      this.scroller.scrollTop = 0;
    }
    this.space.style.height = `${Math.max(this.height, (picture.lane.rowStart.length - 1) * ROW_HEIGHT)}px`;
    this.paint();
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.scroller;
    if (width === 0 || height === 0) return;
    this.pane.width = width;
    this.height = height;
    for (const canvas of [this.canvas, this.overlay]) setSize(canvas, width, height);
    setSize(this.ruler, width, RULER_HEIGHT);
    if (this.picture) this.show(this.picture);
  }

  paint(): void {
    if (this.picture && this.pane.width > 0) measured('dnprof-draw', () => this.draw(this.picture!));
  }

  private draw({ lanes, lane, window, marked }: LanePicture): void {
    this.layout = layOutLane(lanes, lane, window, this.pane.width, marked);
    const { scrollTop } = this.scroller;
    const rows = this.layout.rows;
    const scene = {
      frame: (slice: number) => lanes.frame(slice),
      layout: this.layout,
      colors: this.page.colors(),
      matches: null,
      kind: this.page.highlightedKind(),
      focusDepth: 0,
      several: (slice: number) => (lanes.mixed[slice] === 1 ? lanes.calls[slice]! : 0),
      hatched: (slice: number) => (lanes.calls[slice]! > 1 ? 1 : 0),
      faded: marked && ((slice: number) => !isMarked(marked, slice)),
    };
    const first = Math.min(rows, Math.floor(scrollTop / ROW_HEIGHT));
    const end = Math.min(rows, Math.ceil((scrollTop + this.height) / ROW_HEIGHT));
    this.painter.paint(scene, { first, end, top: (row) => row * ROW_HEIGHT - scrollTop });
    paintRuler(cleared(this.ruler), window, this.pane.width, this.page.colors());
    this.outline();
  }

  /** The time range, calls of the chosen method, the cursor, and what is under the pointer. */
  private outline(): void {
    const context = cleared(this.overlay);
    if (!this.picture) return;
    const colors = this.page.colors();
    if (this.picture.range) shadeRange(context, this.picture.range, this.pane, this.height, colors.accent);
    this.underline(context, colors.accent);
    const focused = document.activeElement === this.scroller;
    if (this.cursor >= 0) this.outlineSlice(context, this.cursor, colors.accent, focused ? 2.5 : 1.5);
    if (this.hovered >= 0 && this.hovered !== this.cursor) this.outlineSlice(context, this.hovered, colors.text, 1.5);
  }

  private underline(context: CanvasRenderingContext2D, color: string): void {
    const { lanes, method } = this.picture!;
    if (method === null) return;
    const { layout } = this;
    const { scrollTop } = this.scroller;
    context.fillStyle = color;
    for (let row = 0; row < layout.rows; row++) {
      const y = (row + 1) * ROW_HEIGHT - scrollTop - 4;
      if (y < 0 || y > this.height) continue;
      for (let i = layout.rowStart[row]!; i < layout.rowStart[row + 1]!; i++) {
        const slice = layout.node[i]!;
        if (lanes.mixed[slice] === 0 && lanes.frame(slice) === method) context.fillRect(layout.x[i]!, y, layout.width[i]!, 3);
      }
    }
  }

  private outlineSlice(context: CanvasRenderingContext2D, slice: number, color: string, line: number): void {
    const { lanes, lane } = this.picture!;
    const from = Math.max(-4, this.pane.toX(lanes.start[slice]!));
    const to = Math.min(this.pane.width + 4, this.pane.toX(lanes.end[slice]!));
    if (to < 0 || from > this.pane.width) return;
    context.strokeStyle = color;
    context.lineWidth = line;
    const top = rowOf(lane, slice) * ROW_HEIGHT - this.scroller.scrollTop;
    context.strokeRect(from + line / 2, top + line / 2, Math.max(2, to - from - line), ROW_HEIGHT - 1 - line);
  }

  private at(event: MouseEvent): { x: number; row: number } {
    const box = this.canvas.getBoundingClientRect();
    return { x: this.pane.x(event), row: Math.floor((event.clientY - box.top + this.scroller.scrollTop) / ROW_HEIGHT) };
  }

  /** The rectangle under the pointer, or -1. */
  private hit(event: MouseEvent): number {
    if (!this.picture || event.target === this.ruler) return -1;
    const { x, row } = this.at(event);
    return this.layout.hit(row, x);
  }

  private sliceUnder(event: MouseEvent): number {
    const i = this.hit(event);
    return i < 0 ? -1 : this.layout.node[i]!;
  }

  private hover(slice: number): void {
    if (slice === this.hovered) return;
    this.hovered = slice;
    if (slice < 0) this.page.tooltip.hide();
    this.scroller.classList.toggle('pointing', slice >= 0);
    this.outline();
  }

  private onHover(event: PointerEvent | null): void {
    const i = event ? this.hit(event) : -1;
    this.hover(i < 0 ? -1 : this.layout.node[i]!);
    if (event && i >= 0) this.page.tooltip.show(this.card(this.layout.node[i]!, this.layout.shared.get(i) ?? 1), event.clientX, event.clientY);
  }

  private onClick(event: PointerEvent): void {
    const slice = this.sliceUnder(event);
    if (slice >= 0) this.choose(slice);
  }

  private choose(slice: number): void {
    this.cursor = slice;
    this.options.onChoose(slice);
    this.outline();
  }

  /** About the call at the cursor, where that is in sight. */
  zoom(factor: number): void {
    this.pane.zoom(factor, this.middle());
  }

  private span(slice: number): Nanoseconds {
    const { lanes } = this.picture!;
    return { from: lanes.start[slice]!, to: lanes.end[slice]! };
  }

  private middle(): number | null {
    if (this.cursor < 0) return null;
    const { from, to } = this.span(this.cursor);
    return (from + to) / 2;
  }

  /** A call, with some room beside it. */
  zoomTo(slice: number): void {
    if (slice < 0 || !this.picture) return;
    this.cursor = slice;
    this.pane.zoomTo(this.span(slice));
    this.scrollTo(slice);
  }

  private onMenu(event: MouseEvent): void {
    const slice = this.sliceUnder(event);
    if (slice < 0) return;
    event.preventDefault();
    this.cursor = slice;
    this.openMenu(event.clientX, event.clientY);
  }

  private openMenu(x: number, y: number): void {
    this.page.tooltip.hide();
    const { cursor } = this;
    const items: Item[] = [
      { label: 'Zoom in on this', key: 'Enter', run: () => this.zoomTo(cursor) },
      { label: 'Count only its time', key: 'x', run: () => this.options.onRange(this.span(cursor)) },
      ...this.options.menu(cursor),
    ];
    this.page.menu.open(items, x, y);
  }

  /** Nanoseconds of the calls that a call made; with merged ones, which have what was between them, at most. */
  private below(slice: number): { ns: number; merged: boolean } {
    const { lanes, lane } = this.picture!;
    const row = rowOf(lane, slice) + 1;
    if (row + 1 >= lane.rowStart.length) return { ns: 0, merged: false };
    let [ns, merged] = [0, false];
    const [from, to] = [lanes.start[slice]!, lanes.end[slice]!];
    const last = lane.rowStart[row + 1]!;
    for (let i = firstAfter(lanes, lane.rowStart[row]!, last, from); i < last && lanes.start[i]! < to; i++) {
      ns += lanes.end[i]! - lanes.start[i]!;
      merged ||= !lanes.single(i);
    }
    return { ns, merged };
  }

  private facts(slice: number): Fact[] {
    const { lanes, lane, merged_below_ns } = this.picture!;
    const [start, end] = [lanes.start[slice]!, lanes.end[slice]!];
    const calls = lanes.calls[slice]!;
    const depth = { label: 'Depth', value: count(rowOf(lane, slice) + 1) };
    const began = { label: 'Start', value: instant(start) };
    if (!lanes.single(slice))
      return [
        { label: 'Calls', value: `${count(calls)}, each shorter than ${duration(merged_below_ns)}` },
        began, { label: 'From first to last', value: duration(end - start) }, depth,
      ];
    const below = this.below(slice);
    const own = duration(end - start - below.ns);
    const above = lanes.caller(slice);
    const caller = above === ROOT ? [] : [{ label: 'Caller', value: this.page.recording.name(lanes.trie.frame[above]!) }];
    return [began, { label: 'Duration', value: duration(end - start) }, { label: 'Of its own', value: below.merged ? `at least ${own}` : own }, depth, ...caller];
  }

  private card(slice: number, shared: number): Card {
    const { recording } = this.page;
    const { lanes } = this.picture!;
    const frame = lanes.frame(slice);
    const kind = recording.frameKind[frame]!;
    const name = recording.name(frame);
    const others = shared > 1 ? [{ label: 'In this pixel', value: `${count(shared)} of them; zoom in to see each` }] : [];
    if (lanes.mixed[slice] === 1)
      return { title: `${callCount(lanes.calls[slice]!)} of several methods`, subtitle: `called by ${name}`, facts: [...this.facts(slice), ...others] };
    return {
      title: name,
      subtitle: [KINDS[kind]!.name, recording.module(frame)].filter(Boolean).join(' · '),
      color: this.page.colors().kinds[kind]!,
      facts: [...this.facts(slice), ...others],
    };
  }

  private announce(): void {
    const card = this.card(this.cursor, 1);
    this.page.announcer.say(`${card.title}. ${card.facts.map((f) => `${f.label} ${f.value}`).join(', ')}`);
  }

  private onKey(event: KeyboardEvent): void {
    if (!this.picture || event.ctrlKey || event.metaKey || event.altKey) return;
    const plain: Record<string, () => void> = {
      ArrowLeft: () => this.toSide(-1),
      ArrowRight: () => this.toSide(1),
      ArrowUp: () => this.toRow(-1),
      ArrowDown: () => this.toRow(1),
      Enter: () => this.zoomTo(this.cursor),
      ' ': () => this.cursor >= 0 && this.choose(this.cursor),
      x: () => this.rangeOfCursor(),
      y: () => this.cursor >= 0 && this.page.copy(this.page.recording.name(this.picture!.lanes.frame(this.cursor))),
      ContextMenu: () => this.menuAtCursor(),
    };
    const shifted: Record<string, () => void> = { F10: () => this.menuAtCursor() };
    const action = this.pane.key(event, this.middle()) ?? (event.shiftKey ? shifted : plain)[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  private rangeOfCursor(): void {
    if (this.cursor >= 0) this.options.onRange(this.span(this.cursor));
  }

  private menuAtCursor(): void {
    if (this.cursor < 0) return;
    const { lanes, lane } = this.picture!;
    const box = this.canvas.getBoundingClientRect();
    const x = Math.max(0, Math.min(this.pane.width, this.pane.toX(lanes.start[this.cursor]!)));
    this.openMenu(box.left + x + 8, box.top + (rowOf(lane, this.cursor) + 1) * ROW_HEIGHT - this.scroller.scrollTop);
  }

  /** The first slice in sight of the topmost row, where there is no cursor yet. */
  private start(): void {
    const { lanes, lane, window } = this.picture!;
    const i = firstAfter(lanes, lane.rowStart[0]!, lane.rowStart[1] ?? 0, window.from);
    if (i < (lane.rowStart[1] ?? 0)) this.moveTo(i);
  }

  private toSide(step: number): void {
    if (this.cursor < 0) return this.start();
    const { lane } = this.picture!;
    const row = rowOf(lane, this.cursor);
    const next = this.cursor + step;
    if (next >= lane.rowStart[row]! && next < lane.rowStart[row + 1]!) this.moveTo(next);
  }

  /** To the caller, or to the longest of the calls that it made. */
  private toRow(step: number): void {
    if (this.cursor < 0) return this.start();
    const { lanes, lane } = this.picture!;
    const row = rowOf(lane, this.cursor) + step;
    const [from, to] = [lanes.start[this.cursor]!, lanes.end[this.cursor]!];
    if (step < 0) {
      const caller = callerSlice(lanes, lane, this.cursor);
      if (caller >= 0) this.moveTo(caller);
      return;
    }
    if (row + 1 >= lane.rowStart.length) return;
    const last = lane.rowStart[row + 1]!;
    let best = -1;
    for (let i = firstAfter(lanes, lane.rowStart[row]!, last, from); i < last && lanes.start[i]! <= to; i++)
      if (callerSlice(lanes, lane, i) === this.cursor && (best < 0 || lanes.end[i]! - lanes.start[i]! > lanes.end[best]! - lanes.start[best]!)) best = i;
    if (best >= 0) this.moveTo(best);
  }

  /** Makes a slice the cursor and brings it into sight. */
  moveTo(slice: number): void {
    this.cursor = slice;
    this.pane.show(this.span(slice));
    this.scrollTo(slice);
    this.outline();
    this.announce();
  }

  private scrollTo(slice: number): void {
    const top = rowOf(this.picture!.lane, slice) * ROW_HEIGHT - this.scroller.scrollTop;
    if (top < 0) this.scroller.scrollTop += top - ROW_HEIGHT;
    if (top > this.height - ROW_HEIGHT) this.scroller.scrollTop += top - this.height + 2 * ROW_HEIGHT;
  }
}
