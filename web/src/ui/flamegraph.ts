// SPDX-License-Identifier: MIT
// A flame graph of any tree: zooms, scrolls, shows what is under the pointer, walks by keyboard.
//
// The picture is a canvas that stays in place while its scroller moves over a space as high as all
// rows. A second canvas above it carries only outlines, so that the pointer costs no repaint.

import { KINDS } from '../model/kinds.ts';
import { amount, count, mean, percent, sampledTime, statedTime } from '../model/format.ts';
import { Layout, layOut, type Span } from '../model/layout.ts';
import type { StackTree } from '../model/tree.ts';
import type { EventInfo } from '../data/meta.ts';
import { cleared, setSize } from './canvas.ts';
import { el, measured, prefersLessMotion } from './dom.ts';
import type { Item } from './menu.ts';
import type { Page } from './page.ts';
import { Painter, ROW_HEIGHT, type Rows } from './painter.ts';
import type { Card } from './tooltip.ts';

const LEAST_WIDTH = 0.5;
const ANIMATION_MS = 180;
const FOCUS_AT = 0.25;
const FOCUS_BELOW = 0.6;

export interface Picture {
  readonly tree: StackTree;
  readonly focus: number;
  readonly flames: boolean;
  readonly matches: Uint8Array | null;
  /** All samples of the selection: the 100% of shares. */
  readonly sum: number;
  readonly event: EventInfo;
  /** It is known which samples are of threads that did not run. */
  readonly waits: boolean;
  /** Calls are counted. */
  readonly calls: boolean;
}

export interface FlameOptions {
  readonly label: string;
  /** Callers stand below callees: what a frame has for itself is not what it did itself. */
  readonly reversed: () => boolean;
  onFocus(node: number): void;
  menu(frame: number, node: number): Item[];
}

const ease = (t: number) => 1 - (1 - t) ** 3;

export class FlameGraph {
  readonly element: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly space = el('div', { class: 'flame-space' });
  private readonly canvas = el('canvas', { class: 'flame-canvas', 'aria-hidden': 'true' });
  private readonly overlay = el('canvas', { class: 'flame-overlay', 'aria-hidden': 'true' });
  private readonly empty = el('p', { class: 'empty', hidden: true }, 'No samples in this selection.');
  private readonly painter: Painter;

  private picture: Picture | null = null;
  private span: Span = { from: 0, to: 1 };
  private layout = new Layout();
  private layoutKey = '';
  private animation = 0;
  private rows = 0;
  private width = 0;
  private height = 0;
  private hovered = -1;
  private hoverCard: Card | null = null;
  private cursor = 0;

  constructor(
    private readonly page: Page,
    private readonly options: FlameOptions,
  ) {
    const sticky = el('div', { class: 'flame-sticky' }, this.canvas, this.overlay);
    this.space.append(sticky);
    this.scroller = el(
      'div',
      {
        class: 'flame-scroll', tabindex: 0, role: 'application',
        'aria-roledescription': 'flame graph', 'aria-label': options.label,
      },
      this.space,
    );
    this.element = el('div', { class: 'flame' }, this.scroller, this.empty);
    this.painter = new Painter(this.canvas, page.recording);
    this.listen();
  }

  private listen(): void {
    const { scroller } = this;
    new ResizeObserver(() => this.resize()).observe(scroller);
    scroller.addEventListener('scroll', () => this.paint());
    scroller.addEventListener('pointermove', (e) => this.onPointer(e));
    scroller.addEventListener('pointerleave', () => this.hover(-1));
    scroller.addEventListener('click', (e) => this.onClick(e));
    scroller.addEventListener('contextmenu', (e) => this.onMenu(e));
    scroller.addEventListener('keydown', (e) => this.onKey(e));
    scroller.addEventListener('focus', () => this.onFocusIn());
    scroller.addEventListener('blur', () => this.outline());
  }

  focus(): void {
    this.scroller.focus();
  }

  show(picture: Picture): void {
    const old = this.picture;
    const sameTree = old?.tree === picture.tree;
    const moved = !sameTree || old.focus !== picture.focus;
    if (moved) this.hover(-1);
    this.picture = picture;
    this.empty.hidden = picture.tree.total(0) > 0;
    if (!sameTree) this.changeTree(old, picture);
    else if (!moved) this.paint();
    else this.moveFocus();
    if (old && old.flames !== picture.flames) this.scrollToFocus(true);
  }

  /** Other counts: what the user looks at stays where it was, as far as it is still there. */
  private changeTree(old: Picture | null, { tree, focus }: Picture): void {
    const samePlace = old !== null && tree.depth(focus) === old.tree.depth(old.focus);
    this.cursor = old ? tree.find(old.tree.path(this.cursor)) : focus;
    this.layoutKey = '';
    this.jump();
    if (!samePlace) this.scrollToFocus(false);
  }

  private moveFocus(): void {
    this.cursor = this.picture!.focus;
    if (!prefersLessMotion()) return this.animate();
    this.jump();
    this.scrollToFocus(false);
  }

  private target(): Span {
    const { tree, focus } = this.picture!;
    return { from: tree.x(focus), to: tree.x(focus) + tree.total(focus) };
  }

  private jump(): void {
    cancelAnimationFrame(this.animation);
    this.animation = 0;
    this.span = this.target();
    this.update();
    this.setRows(this.layout.rows);
    this.paint();
  }

  private animate(): void {
    cancelAnimationFrame(this.animation);
    const from = this.span;
    const to = this.target();
    const start = performance.now();
    const { tree, focus } = this.picture!;
    const rows = layOut(tree, to, this.width, LEAST_WIDTH).rows;
    this.setRows(Math.max(rows, this.rows));
    this.scrollToFocus(false);
    const step = (now: number) => {
      const t = Math.min(1, Math.max(0, (now - start) / ANIMATION_MS));
      if (t === 1 || this.picture!.tree !== tree || this.picture!.focus !== focus) return this.jump();
      const at = ease(t);
      this.span = { from: from.from + (to.from - from.from) * at, to: from.to + (to.to - from.to) * at };
      this.paint();
      this.animation = requestAnimationFrame(step);
    };
    this.animation = requestAnimationFrame(step);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.scroller;
    if (width === 0 || height === 0) return;
    const first = this.width === 0;
    this.width = width;
    this.height = height;
    for (const canvas of [this.canvas, this.overlay]) setSize(canvas, width, height);
    if (!this.picture) return;
    this.layoutKey = '';
    this.update();
    this.setRows(this.layout.rows);
    if (first) this.scrollToFocus(true);
    this.paint();
  }

  private update(): void {
    const { from, to } = this.span;
    const key = `${from}|${to}|${this.width}`;
    if (key === this.layoutKey) return;
    this.layout = layOut(this.picture!.tree, this.span, this.width, LEAST_WIDTH);
    this.layoutKey = key;
  }

  /** The space is as high as all rows; flames stay where they are seen from its bottom. */
  private setRows(rows: number): void {
    const before = this.contentHeight();
    this.rows = rows;
    const after = this.contentHeight();
    this.space.style.height = `${after}px`;
    if (this.picture?.flames) this.scroller.scrollTop += after - before;
  }

  private contentHeight(): number {
    return Math.max(this.height, this.rows * ROW_HEIGHT);
  }

  private scrollToFocus(always: boolean): void {
    const { flames } = this.picture!;
    const depth = this.picture!.tree.depth(this.picture!.focus);
    const fromRoot = flames
      ? this.contentHeight() - this.height - this.scroller.scrollTop
      : this.scroller.scrollTop;
    const y = depth * ROW_HEIGHT - fromRoot;
    if (!always && y >= 0 && y <= this.height * FOCUS_BELOW) return;
    const wanted = Math.max(0, depth * ROW_HEIGHT - this.height * FOCUS_AT);
    this.scroller.scrollTop = flames ? this.contentHeight() - this.height - wanted : wanted;
  }

  /** Top of a row on the canvas. */
  private top(row: number): number {
    const y = this.picture!.flames ? this.contentHeight() - (row + 1) * ROW_HEIGHT : row * ROW_HEIGHT;
    return y - this.scroller.scrollTop;
  }

  private rowAt(y: number): number {
    const inSpace = y + this.scroller.scrollTop;
    return Math.floor((this.picture!.flames ? this.contentHeight() - inSpace : inSpace) / ROW_HEIGHT);
  }

  private visibleRows(): Rows {
    const [a, b] = [this.rowAt(0), this.rowAt(this.height)];
    const within = (row: number) => Math.max(0, Math.min(this.layout.rows, row));
    return { first: within(Math.min(a, b) - 1), end: within(Math.max(a, b) + 1), top: (row) => this.top(row) };
  }

  paint(): void {
    if (this.picture && this.width > 0) measured('dnprof-draw', () => this.draw(this.picture!));
  }

  private draw({ tree, focus, matches, waits }: Picture): void {
    this.update();
    const scene = {
      frame: (node: number) => tree.frame(node),
      matches,
      layout: this.layout,
      colors: this.page.colors(),
      kind: this.page.highlightedKind(),
      focusDepth: tree.depth(focus),
      hatched: waits ? (node: number) => tree.beside(node) / tree.total(node) : null,
    };
    this.painter.paint(scene, this.visibleRows());
    this.outline();
  }

  /** Outlines of what is under the pointer and, when the graph has the keyboard, of the cursor. */
  private outline(): void {
    const context = cleared(this.overlay);
    if (!this.picture) return;
    const colors = this.page.colors();
    const focused = document.activeElement === this.scroller;
    if (focused) this.outlineNode(context, this.cursor, colors.accent, 2);
    if (this.hovered >= 0) this.outlineNode(context, this.hovered, colors.text, 1.5);
  }

  private outlineNode(context: CanvasRenderingContext2D, node: number, color: string, line: number): void {
    const row = this.picture!.tree.depth(node);
    const i = this.layout.indexOf(row, node);
    if (i < 0) return;
    context.strokeStyle = color;
    context.lineWidth = line;
    const width = Math.max(2, this.layout.width[i]! - 1);
    context.strokeRect(this.layout.x[i]! + line / 2, this.top(row) + line / 2, width - line, ROW_HEIGHT - 1 - line);
  }

  private hit(event: MouseEvent): number {
    if (!this.picture) return -1;
    const box = this.canvas.getBoundingClientRect();
    return this.layout.hit(this.rowAt(event.clientY - box.top), event.clientX - box.left);
  }

  private nodeAt(event: MouseEvent): number {
    const i = this.hit(event);
    return i < 0 ? -1 : this.layout.node[i]!;
  }

  private hover(node: number): void {
    if (node === this.hovered) return;
    this.hovered = node;
    this.hoverCard = node < 0 ? null : this.card(node);
    this.scroller.classList.toggle('pointing', node >= 0);
    if (node < 0) this.page.tooltip.hide();
    this.outline();
  }

  private onPointer(event: PointerEvent): void {
    this.hover(this.nodeAt(event));
    const card = this.hoverCard ?? this.mergedCard(this.hit(event));
    if (card) this.page.tooltip.show(card, event.clientX, event.clientY);
    else this.page.tooltip.hide();
  }

  private mergedCard(i: number): Card | null {
    const merged = this.layout.merged.get(i);
    if (!merged) return null;
    const { sum, event } = this.picture!;
    return {
      title: `${count(merged.nodes)} more, each too narrow to draw`,
      facts: [
        { label: 'Total', value: amount(merged.total, event) },
        { label: 'Of the selection', value: percent(merged.total, sum) },
      ],
    };
  }

  private onClick(event: MouseEvent): void {
    const node = this.nodeAt(event);
    if (node < 0) return;
    this.cursor = node;
    this.hover(-1);
    this.options.onFocus(node);
  }

  private onMenu(event: MouseEvent): void {
    const node = this.nodeAt(event);
    if (node < 0) return;
    event.preventDefault();
    this.cursor = node;
    this.openMenu(event.clientX, event.clientY);
  }

  private openMenu(x: number, y: number): void {
    this.page.tooltip.hide();
    const zoom: Item = { label: 'Zoom in on this', key: 'Enter', run: () => this.options.onFocus(this.cursor) };
    const frame = this.picture!.tree.frame(this.cursor);
    this.page.menu.open([zoom, ...this.options.menu(frame, this.cursor)], x, y);
  }

  private card(node: number): Card {
    const { tree, sum, event } = this.picture!;
    const { recording } = this.page;
    const frame = tree.frame(node);
    const kind = recording.frameKind[frame]!;
    const total = tree.total(node);
    const self = tree.self(node);
    const time = sampledTime(total, event);
    const facts = [
      { label: 'Total', value: `${amount(total, event)}${time && ` · ${time}`}` },
      { label: 'Of the selection', value: percent(total, sum) },
    ];
    const reversed = this.options.reversed();
    if (!reversed) facts.push({ label: 'Self', value: `${amount(self, event)} · ${percent(self, sum)}` });
    if (this.picture!.waits) {
      const waiting = tree.beside(node);
      const part = (n: number) => `${statedTime(n, event)} · ${percent(n, total)}`;
      facts.push({ label: 'Running', value: part(total - waiting) }, { label: 'Waiting', value: part(waiting) });
    }
    if (this.picture!.calls && frame !== 0) {
      const calls = tree.beside(node);
      facts.push({ label: 'Calls', value: count(calls) });
      if (!reversed) facts.push({ label: 'Mean of a call', value: mean(total, calls, event) });
    }
    if (node > 0) {
      const parent = tree.total(tree.parent(node));
      facts.push({ label: reversed ? 'Of its callee' : 'Of its caller', value: percent(total, parent) });
    }
    const module = recording.module(frame);
    return {
      title: recording.name(frame),
      subtitle: node === 0 && frame === 0 ? 'Everything' : [KINDS[kind]!.name, module].filter(Boolean).join(' · '),
      color: this.page.colors().kinds[kind]!,
      facts,
    };
  }

  /** The frame at the keyboard's cursor, in words. */
  private announce(): void {
    const card = this.card(this.cursor);
    const facts = card.facts.map((f) => `${f.label} ${f.value}`).join(', ');
    this.page.announcer.say(`${card.title}. ${card.subtitle}. ${facts}`);
  }

  private onFocusIn(): void {
    this.outline();
    if (this.picture) this.announce();
  }

  private onKey(event: KeyboardEvent): void {
    if (!this.picture || event.ctrlKey || event.metaKey || event.altKey) return;
    const { tree, flames, focus } = this.picture;
    const actions: Record<string, () => void> = {
      ArrowUp: () => (flames ? this.toChild() : this.toParent()),
      ArrowDown: () => (flames ? this.toParent() : this.toChild()),
      ArrowLeft: () => this.toSide(-1),
      ArrowRight: () => this.toSide(1),
      Home: () => this.moveTo(0),
      Enter: () => this.options.onFocus(this.cursor),
      ' ': () => this.options.onFocus(this.cursor),
      Backspace: () => this.options.onFocus(Math.max(0, tree.parent(focus))),
      ContextMenu: () => this.menuAtCursor(),
      y: () => this.page.copy(this.page.recording.name(tree.frame(this.cursor))),
    };
    const action = event.shiftKey ? (event.key === 'F10' ? actions['ContextMenu'] : undefined) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  private menuAtCursor(): void {
    const row = this.picture!.tree.depth(this.cursor);
    const i = this.layout.indexOf(row, this.cursor);
    const box = this.canvas.getBoundingClientRect();
    this.openMenu(box.left + (i < 0 ? 0 : this.layout.x[i]! + 8), box.top + this.top(row) + ROW_HEIGHT);
  }

  private toParent(): void {
    this.moveTo(Math.max(0, this.picture!.tree.parent(this.cursor)));
  }

  /** To the widest child, or on the way to the focus to the child that leads there. */
  private toChild(): void {
    const { tree, focus } = this.picture!;
    const depth = tree.depth(this.cursor);
    if (depth < tree.depth(focus)) {
      let n = focus;
      while (tree.depth(n) > depth + 1) n = tree.parent(n);
      if (tree.parent(n) === this.cursor) return this.moveTo(n);
    }
    const count = tree.childCount(this.cursor);
    let best = -1;
    for (let c = tree.firstChild(this.cursor); count > 0 && c < tree.firstChild(this.cursor) + count; c++)
      if (best < 0 || tree.total(c) > tree.total(best)) best = c;
    if (best >= 0) this.moveTo(best);
  }

  private toSide(step: number): void {
    const row = this.picture!.tree.depth(this.cursor);
    const [start, end] = [this.layout.rowStart[row] ?? 0, this.layout.rowStart[row + 1] ?? 0];
    let i = this.layout.indexOf(row, this.cursor) + step;
    while (i >= start && i < end && this.layout.node[i]! < 0) i += step;
    if (i >= start && i < end) this.moveTo(this.layout.node[i]!);
  }

  private moveTo(node: number): void {
    this.cursor = node;
    const top = this.top(this.picture!.tree.depth(node));
    if (top < 0) this.scroller.scrollTop += top - ROW_HEIGHT;
    if (top > this.height - ROW_HEIGHT) this.scroller.scrollTop += top - this.height + 2 * ROW_HEIGHT;
    this.outline();
    this.announce();
  }
}
