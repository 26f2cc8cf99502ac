// SPDX-License-Identifier: MIT
// The time line: a row for each thread or processor, over time. Only rows in sight are drawn.

import { firstMark, isSpan, saidIn, wakeIn, type Mark, type Wake, type Waker } from '../data/beside.ts';
import { HOW } from '../data/numbers.ts';
import type { Runs } from '../data/runs.ts';
import type { Nanoseconds } from '../data/time.ts';
import type { Track } from '../data/track.ts';
import { waitAt, type Wait } from '../data/waits.ts';
import { count, duration, instant, percent, taken } from '../model/format.ts';
import { nameParts } from '../model/names.ts';
import type { Row, Rows } from '../model/rows.ts';
import type { Marks } from '../model/search.ts';
import { cleared, setSize, SMALL_FONT } from './canvas.ts';
import { el, measured, setText } from './dom.ts';
import type { Page } from './page.ts';
import { paintRuler, RULER_HEIGHT } from './ruler.ts';
import { FLAG_WIDE, RUN_ROW, RunPainter } from './runpainter.ts';
import { css } from './theme.ts';
import { shadeRange, TimePane } from './timepane.ts';
import type { Card, Fact } from './tooltip.ts';

/** How far from a slice the pointer may be, in pixels. */
const NEAR = 3;
/** Of a stack, beside the pointer. */
const MOST_FRAMES = 4;
/** Of marks, there as well. */
const MOST_MARKS = 5;
/** Of the head of an arrow, from who woke to who was woken. */
const ARROW = 5;

export interface RunPicture {
  readonly runs: Runs;
  readonly rows: Rows;
  readonly whole: Nanoseconds;
  readonly window: Nanoseconds;
  readonly range: Nanoseconds | null;
  /** Marks that are searched for; null: nothing is. */
  readonly found: Marks | null;
}

export interface RunOptions {
  readonly label: string;
  onWindow(window: Nanoseconds): void;
  onRange(range: Nanoseconds): void;
  /** A row of several is to be opened or closed. */
  onTurn(row: Row): void;
  /** A place became the cursor; null: it is not known what is waited for there. `woken`: by whom it then was, if that is known. */
  onWait(wait: Wait | null, woken: string): void;
  /** Only these threads. */
  onThreads(threads: readonly number[]): void;
  name(thread: number): string;
}

/** A slice of a row (index ≥ 0), or the time before it. */
interface Place {
  readonly row: number;
  readonly slice: number;
  readonly gap: boolean;
}

const isSame = (a: Row, b: Row) => a.kind === b.kind && a.name === b.name && a.threads.join() === b.threads.join();

const ENDED: Record<number, string> = {
  [HOW.waits]: 'by waiting', [HOW.preempted]: 'preempted: it could have gone on', [HOW.ended]: 'with the thread',
  [HOW.runs]: 'not before the recording did', [HOW.unknown]: 'not known: records were lost', [HOW.sampled]: 'not known: it was only looked at',
};

const WITHOUT: Record<number, string> = {
  [HOW.waits]: 'waits', [HOW.preempted]: 'preempted: ready, but without a processor', [HOW.ended]: 'ended',
  [HOW.runs]: 'not known', [HOW.unknown]: 'not known: records were lost', [HOW.sampled]: 'not seen with a processor',
};

/** Of the time of one processor; several threads may have had more. */
const ofProcessor = (ran: number, length: number) => (ran > length ? `${Math.round((100 * ran) / length)}%` : percent(ran, length));

interface Label {
  readonly element: HTMLElement;
  readonly name: HTMLElement;
  readonly aside: HTMLElement;
  readonly share: HTMLElement;
}

export class RunChart {
  readonly element: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly space = el('div', { class: 'flame-space' });
  private readonly labels = el('div', { class: 'runs-labels' });
  private readonly ruler = el('canvas', { class: 'runs-ruler', 'aria-hidden': 'true' });
  private readonly canvas = el('canvas', { class: 'runs-canvas', 'aria-hidden': 'true' });
  private readonly overlay = el('canvas', { class: 'runs-canvas runs-overlay', 'aria-hidden': 'true' });
  private readonly painter: RunPainter;
  private readonly pane: TimePane;
  private readonly lines: Label[] = [];
  private picture: RunPicture | null = null;
  private height = 0;
  private hovered: Place | null = null;
  private cursor: Place | null = null;
  /** The mark that was gone to. */
  private mark: Mark | null = null;
  private readonly tracks: ReadonlyMap<number, Track>;

  constructor(private readonly page: Page, private readonly options: RunOptions) {
    this.tracks = new Map(page.recording.runs!.tracks.map((t) => [t.id, t]));
    this.space.append(el('div', { class: 'flame-sticky' }, this.labels, this.canvas, this.overlay));
    this.scroller = el(
      'div',
      {
        class: 'flame-scroll runs-scroll', tabindex: 0, role: 'application',
        'aria-roledescription': 'time line', 'aria-label': options.label,
      },
      this.space,
    );
    this.element = el('div', { class: 'runs' }, this.ruler, el('div', { class: 'flame runs-rows' }, this.scroller));
    this.painter = new RunPainter(this.canvas);
    this.pane = new TimePane({
      scroller: this.scroller, ruler: this.ruler, origin: this.canvas,
      time: () => this.picture,
      onWindow: options.onWindow,
      onRange: options.onRange,
      hover: (event) => this.onHover(event),
      click: (event) => this.moveTo(this.place(event)),
    });
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    this.scroller.addEventListener('scroll', () => this.paint());
    this.scroller.addEventListener('dblclick', (e) => this.zoomTo(this.pane.x(e) < 0 ? null : this.place(e)));
    this.scroller.addEventListener('keydown', (e) => this.onKey(e));
    this.scroller.addEventListener('focus', () => this.outline());
    this.scroller.addEventListener('blur', () => this.outline());
    this.labels.addEventListener('click', (e) => this.onLabel(e));
  }

  focus(): void {
    this.scroller.focus();
  }

  show(picture: RunPicture): void {
    if (this.picture && this.picture.rows !== picture.rows) {
      this.follow(this.picture.rows, picture.rows);
      this.hover(null);
    }
    this.picture = picture;
    this.space.style.height = `${Math.max(this.height, picture.rows.list.length * RUN_ROW)}px`;
    this.paint();
  }

  /** The cursor stays on its row, where there still is such a one, with the slices that it had. */
  private follow(before: Rows, now: Rows): void {
    const old = this.cursor && before.list[this.cursor.row];
    const row = old ? now.list.findIndex((r) => isSame(r, old) && r.track() === old.track()) : -1;
    if (this.cursor && row < 0) this.options.onWait(null, '');
    this.cursor = row < 0 ? null : { ...this.cursor!, row };
    this.mark = null;
  }

  private resize(): void {
    const { clientHeight: height, clientWidth: width } = this.scroller;
    const left = this.labels.offsetWidth;
    if (width <= left || height === 0) return;
    this.pane.width = width - left;
    this.height = height;
    for (const canvas of [this.canvas, this.overlay]) setSize(canvas, width - left, height);
    setSize(this.ruler, width - left, RULER_HEIGHT);
    if (this.picture) this.show(this.picture);
  }

  paint(): void {
    if (this.picture && this.pane.width > 0) measured('dnprof-draw', () => this.draw(this.picture!));
  }

  private draw({ rows: { list }, window, runs, found }: RunPicture): void {
    const { scrollTop } = this.scroller;
    const first = Math.max(0, Math.min(list.length, Math.floor(scrollTop / RUN_ROW)));
    const rows = list.slice(first, Math.ceil((scrollTop + this.height) / RUN_ROW));
    const top = first * RUN_ROW - scrollTop;
    const colors = this.page.colors();
    const { losses, waits, beside: { marks } } = runs;
    const scene = { window, losses, waits, marks, found, sampled: runs.info.switches!.sampled, colors, name: (t: number) => this.options.name(t) };
    this.painter.paint(scene, rows, top);
    this.paintLabels(rows, first, top);
    paintRuler(cleared(this.ruler), window, this.pane.width, colors);
    this.outline();
  }

  private newLabel(): Label {
    const [name, aside, share] = [el('span', { class: 'runs-name' }), el('span', { class: 'runs-aside' }), el('span', { class: 'runs-share' })];
    const element = el('div', { class: 'runs-label' }, el('span', { class: 'fold' }), name, aside, share);
    this.labels.append(element);
    return { element, name, aside, share };
  }

  private paintLabels(rows: readonly Row[], first: number, top: number): void {
    while (this.lines.length < rows.length) this.lines.push(this.newLabel());
    this.lines.forEach(({ element, name, aside, share }, i) => {
      const row = rows[i];
      element.hidden = row === undefined;
      if (!row) return;
      element.style.transform = `translateY(${top + i * RUN_ROW}px)`;
      element.dataset['row'] = String(first + i);
      element.title = row.kind === 'thread' ? `${row.name}, tid ${row.aside}` : `${row.name} ${row.aside}`;
      element.classList.toggle('inner', row.inner);
      element.classList.toggle('active', this.cursor?.row === first + i);
      if (row.open === null) element.removeAttribute('aria-expanded');
      else element.setAttribute('aria-expanded', String(row.open));
      setText(name, row.name);
      setText(aside, row.aside);
      setText(share, this.share(row));
    });
  }

  /** How much of the time in sight it had a processor. */
  private share(row: Row): string {
    const { window, runs } = this.picture!;
    if (runs.info.switches!.sampled) return '';
    const length = window.to - window.from;
    if (row.kind !== 'several') return percent(row.track().ranIn(window), length);
    return ofProcessor(row.parts.reduce((sum, t) => sum + t.ranIn(window), 0), length);
  }

  /** The time range, the cursor, and what is under the pointer. */
  private outline(): void {
    const context = cleared(this.overlay);
    if (!this.picture) return;
    const colors = this.page.colors();
    if (this.picture.range) shadeRange(context, this.picture.range, this.pane, this.height, colors.accent);
    const focused = document.activeElement === this.scroller;
    if (this.cursor) this.outlinePlace(context, this.cursor, colors.accent, focused ? 2.5 : 1.5);
    if (this.hovered) this.outlinePlace(context, this.hovered, colors.text, 1.5);
    if (this.mark) this.outlineMark(context, this.mark);
  }

  /** A line at its time over all rows, and what it says. */
  private outlineMark(context: CanvasRenderingContext2D, { thread, time, text }: Mark): void {
    const colors = this.page.colors();
    const x = Math.round(this.pane.toX(time));
    const row = this.rowOf(thread, time);
    if (x < -1 || x > this.pane.width || row < 0) return;
    context.fillStyle = colors.accent;
    context.fillRect(x, 0, 1, this.height);
    context.font = SMALL_FONT;
    context.textBaseline = 'middle';
    const width = Math.min(context.measureText(text).width, this.pane.width / 2);
    const left = x + FLAG_WIDE + width + 8 < this.pane.width ? x + FLAG_WIDE : x - width - 8;
    const top = row * RUN_ROW - this.scroller.scrollTop + 3;
    context.fillRect(left, top, width + 8, RUN_ROW - 6);
    context.fillStyle = colors.background;
    context.fillText(text, left + 4, top + (RUN_ROW - 6) / 2 + 0.5, width);
  }

  private outlinePlace(context: CanvasRenderingContext2D, place: Place, color: string, line: number): void {
    const { from, to } = this.span(place);
    const [a, b] = [Math.max(-4, this.pane.toX(from)), Math.min(this.pane.width + 4, this.pane.toX(to))];
    if (b < 0 || a > this.pane.width) return;
    context.strokeStyle = color;
    context.lineWidth = line;
    const top = place.row * RUN_ROW - this.scroller.scrollTop;
    context.strokeRect(a - line / 2, top + 1 + line / 2, Math.max(2, b - a) + line, RUN_ROW - 2 - line);
    const wake = this.isCrowded(place) ? null : this.wakeOf(place);
    if (wake) this.arrow(context, place, wake);
  }

  /** Whether other slices begin in the same pixel. */
  private isCrowded(place: Place): boolean {
    const track = this.row(place).track();
    const { from } = this.span(place);
    const pixel = this.pane.toTime(1) - this.pane.toTime(0);
    return track.begun(from + pixel / 2) - track.begun(from - pixel / 2) > 1;
  }

  /** From the row of who woke it, at that time, to where it then ran. */
  private arrow(context: CanvasRenderingContext2D, place: Place, { time, by }: Wake): void {
    const row = by.thread === null ? -1 : this.rowOf(by.thread, time);
    if (row < 0 || row === place.row) return;
    const middle = (r: number) => (r + 0.5) * RUN_ROW - this.scroller.scrollTop;
    const before = this.gapBefore(place)!;
    const ran = before.runs ? before.gap.to : time;
    const [x, end] = [time, ran].map((t) => Math.max(-ARROW, Math.min(this.pane.width + ARROW, this.pane.toX(t)))) as [number, number];
    const [from, to] = [middle(row), middle(place.row)];
    const down = Math.sign(to - from);
    const line = new Path2D();
    line.moveTo(x, from);
    for (const [a, b] of [[x, to - (down * RUN_ROW) / 2], [end, to - (down * RUN_ROW) / 2], [end, to]] as const) line.lineTo(a, b);
    const ends = new Path2D();
    ends.arc(x, from, 3, 0, 2 * Math.PI);
    ends.moveTo(end, to);
    ends.lineTo(end - ARROW / 1.5, to - down * ARROW);
    ends.lineTo(end + ARROW / 1.5, to - down * ARROW);
    ends.closePath();
    // With an edge, so that it is seen on bars of any colour.
    const { text, background } = this.page.colors();
    context.strokeStyle = background;
    for (const [path, width] of [[line, 4], [ends, 2.5]] as const) {
      context.lineWidth = width;
      context.stroke(path);
    }
    context.strokeStyle = context.fillStyle = text;
    context.lineWidth = 1.5;
    context.stroke(line);
    context.fill(ends);
  }

  /** The row that shows what a thread did at a time; -1: there is none. */
  private rowOf(thread: number, time: number): number {
    const { list } = this.picture!.rows;
    const alone = list.findIndex((r) => r.kind === 'thread' && r.threads[0] === thread);
    if (alone >= 0) return alone;
    return list.findIndex((r) => {
      if (r.kind !== 'cpu') return r.threads.includes(thread);
      const slice = r.track().begun(time) - 1;
      return slice >= 0 && r.track().owner(slice) === thread && r.track().end(slice) >= time;
    });
  }

  private row(place: Place): Row {
    return this.picture!.rows.list[place.row]!;
  }

  private span({ row, slice, gap }: Place): Nanoseconds {
    const track = this.picture!.rows.list[row]!.track();
    return gap ? track.gap(slice) : track.span(slice);
  }

  /** What is under the pointer; of slices, the nearest that is near enough. */
  private place(event: MouseEvent): Place | null {
    if (!this.picture) return null;
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top + this.scroller.scrollTop) / RUN_ROW);
    const x = this.pane.x(event);
    const track = this.picture.rows.list[row]?.track();
    if (!track || x < 0) return null;
    const time = this.pane.toTime(x);
    const next = track.begun(time);
    const beside = (i: number) => Math.max(track.start(i) - time, time - track.end(i)) * (this.pane.width / (this.picture!.window.to - this.picture!.window.from));
    const [before, after] = [next > 0 ? beside(next - 1) : Infinity, next < track.count ? beside(next) : Infinity];
    if (Math.min(before, after) <= NEAR) return { row, slice: before <= after ? next - 1 : next, gap: false };
    return time < track.life.from || time > track.life.to ? null : { row, slice: next, gap: true };
  }

  private hover(place: Place | null): void {
    if (!place) this.page.tooltip.hide();
    const [a, b] = [this.hovered, place];
    this.hovered = place;
    if (a?.row !== b?.row || a?.slice !== b?.slice || a?.gap !== b?.gap) this.outline();
  }

  private onHover(event: PointerEvent | null): void {
    const place = event && this.place(event);
    this.hover(place);
    if (event && place) this.page.tooltip.show(this.card(place, this.pane.x(event)), event.clientX, event.clientY);
  }

  private onLabel(event: MouseEvent): void {
    const label = (event.target as HTMLElement).closest<HTMLElement>('.runs-label');
    const row = label && this.picture?.rows.list[Number(label.dataset['row'])];
    if (!row) return;
    if (row.open !== null) this.options.onTurn(row);
    else this.moveTo(this.firstOf(Number(label.dataset['row'])));
  }

  zoom(factor: number): void {
    this.pane.zoom(factor, this.middle());
  }

  /** What zooming is about. */
  private middle(): number | null {
    if (!this.cursor) return null;
    if (this.mark) return this.mark.time;
    const { from, to } = this.span(this.cursor);
    return (from + to) / 2;
  }

  private zoomTo(place: Place | null): void {
    if (!place) return;
    this.cursor = place;
    this.pane.zoomTo(this.span(place));
  }

  private title(row: Row, slice: number): { title: string; of: string } {
    const { threads } = this.page.recording.meta;
    const track = row.track();
    const thread = slice >= 0 && slice < track.count ? track.owner(slice) : track.id;
    if (row.kind === 'thread') return { title: row.name, of: `tid ${row.aside}` };
    return { title: this.options.name(thread), of: `tid ${threads[thread]?.tid ?? '?'} · ${row.name} ${row.aside}`.trim() };
  }

  /** Where a pixel has several slices, what they come to; else what is there. `x`: where it is asked for. */
  private card(place: Place, x: number | null): Card {
    const row = this.row(place);
    const track = row.track();
    if (x !== null) {
      const pixel = { from: this.pane.toTime(x - 0.5), to: this.pane.toTime(x + 0.5) };
      const tracks = row.kind === 'cpu' ? [track] : row.parts;
      const slices = tracks.reduce((sum, t) => sum + t.begun(pixel.to) - t.begun(pixel.from), 0);
      if (slices > 1) {
        const crowd = this.crowd(row, tracks, pixel, slices);
        return { ...crowd, facts: [...crowd.facts, ...this.markFacts(place, x)] };
      }
    }
    const card = place.gap ? this.gapCard(row, track, place.slice) : this.sliceCard(row, track, place.slice);
    const wait = this.waitOf(place);
    const wake = this.wakeOf(place);
    return {
      ...card,
      facts: [
        ...card.facts, ...(wake ? [{ label: 'Woken by', value: this.woken(wake, this.gapBefore(place)) }] : []),
        ...(wait ? this.waitFacts(wait) : []), ...this.markFacts(place, x),
      ],
    };
  }

  /** Marks at the pointer, or in a place. */
  private markFacts(place: Place, x: number | null): Fact[] {
    const row = this.row(place);
    const track = row.track();
    const time = x === null ? this.span(place) : { from: this.pane.toTime(x - FLAG_WIDE), to: this.pane.toTime(x + 1) };
    const threads = row.kind !== 'cpu' ? row.threads : place.gap ? [] : [track.owner(place.slice)];
    const marks = threads.flatMap((t) => saidIn(this.picture!.runs.beside, t, time)).sort((a, b) => a.time - b.time);
    const own = this.mark && marks.includes(this.mark) && x === null ? [this.mark] : [];
    const shown = [...own, ...marks.filter((m) => m !== own[0])].slice(0, MOST_MARKS);
    const more = marks.length - shown.length;
    return [
      ...shown.map((m) => ({ label: isSpan(m) ? 'Span' : 'Mark', value: `${m.text} · ${isSpan(m) ? `${taken(m)} · ` : ''}${threads.length > 1 ? `${this.options.name(m.thread)} · ` : ''}${instant(m.time)}` })),
      ...(more > 0 ? [{ label: 'Marks', value: `and ${count(more)} more` }] : []),
    ];
  }

  private crowd(row: Row, tracks: readonly Track[], pixel: Nanoseconds, slices: number): Card {
    const length = pixel.to - pixel.from;
    const times = tracks.map((t) => t.times(pixel));
    const ran = times.reduce((sum, t) => sum + t.ran, 0);
    const facts: Fact[] = [
      { label: 'In this pixel', value: `${count(slices)} times on a processor in ${duration(length)}; zoom in to see each` },
      { label: 'From', value: instant(pixel.from) },
      { label: 'On-CPU', value: `${duration(ran)}, ${ofProcessor(ran, length)}` },
    ];
    const { preempted } = times[0]!;
    if (row.kind === 'thread') facts.push({ label: 'Preempted', value: `${duration(preempted)}, ${percent(preempted, length)}` });
    const several = row.kind === 'thread' ? `tid ${row.aside}` : row.aside;
    return { title: row.name, subtitle: several || 'all its threads', color: css(this.page.colors().ran), facts };
  }

  private between({ from, to }: Nanoseconds): Fact[] {
    return [
      { label: 'From', value: instant(from) }, { label: 'To', value: instant(to) }, { label: 'Length', value: duration(to - from) },
    ];
  }

  private sliceCard(row: Row, track: Track, i: number): Card {
    if (track.isMissing(i)) return this.gapCard(row, track, i + 1);
    const { title, of } = this.title(row, i);
    const facts = this.between(this.own(track, i));
    const gap = track.gap(i + 1);
    if (row.kind === 'thread') {
      const known = track.how(i) !== HOW.sampled;
      if (known) facts.push({ label: 'Processor', value: String(track.cpu(i)) });
      facts.push({ label: 'Ended', value: ENDED[track.how(i)] ?? 'not known' });
      if (gap.to > gap.from) facts.push({ label: 'Then', value: `${(WITHOUT[track.how(i)] ?? 'not known').split(':')[0]} for ${duration(gap.to - gap.from)}, until ${instant(gap.to)}` });
    }
    return { title, subtitle: `${of} · had a processor`, color: css(this.page.colors().ran), facts };
  }

  /** All of a slice: a row of several has no more of it than what no other thread's slice before it has. */
  private own(track: Track, i: number): Nanoseconds {
    const own = this.tracks.get(track.owner(i))!;
    return own.span(own.begun(track.start(i)) - 1);
  }

  private gapCard(row: Row, track: Track, i: number): Card {
    const gap = track.gap(i);
    if (row.kind !== 'thread') {
      const idle = row.kind === 'cpu' ? 'none of these threads ran here' : 'none of them had a processor';
      return { title: row.name, subtitle: idle, facts: this.between(gap) };
    }
    const how = track.how(i - 1);
    const next = i < track.count ? [{ label: 'Then', value: how === HOW.sampled ? 'seen with a processor' : `on processor ${track.cpu(i)} for ${duration(track.length(i))}` }] : [];
    const colors = this.page.colors();
    const color = how === HOW.preempted ? { color: css(colors.preempted) } : {};
    return { title: row.name, subtitle: WITHOUT[how] ?? 'not known', ...color, facts: [...this.between(gap), ...next] };
  }

  /** What was waited for in a gap, or after a slice. */
  private waitOf({ row, slice, gap }: Place): Wait | null {
    const { rows, runs } = this.picture!;
    const { kind, threads, track } = rows.list[row]!;
    if (kind !== 'thread') return null;
    const { from, to } = track().gap(gap ? slice : slice + 1);
    return to > from ? waitAt(runs.waits, threads[0]!, (from + to) / 2) : null;
  }

  /** The time without a processor before a slice, on the thread's own row; null: several are without one. */
  private gapBefore(place: Place): { thread: number; gap: Nanoseconds; runs: boolean } | null {
    const { kind, threads, track } = this.row(place);
    if (kind === 'thread') return { thread: threads[0]!, gap: track().gap(place.slice), runs: place.slice < track().count };
    if (place.gap) return null;
    const own = this.tracks.get(track().owner(place.slice))!;
    return { thread: own.id, gap: own.gap(own.begun(track().start(place.slice)) - 1), runs: true };
  }

  private wakeOf(place: Place): Wake | null {
    const before = this.gapBefore(place);
    return before && wakeIn(this.picture!.runs.beside, before.thread, before.gap);
  }

  private waker({ thread, pid, tid, name }: Waker): string {
    if (thread !== null) return this.options.name(thread);
    return pid === 0 ? 'an interrupt, a timer or a device' : `${name || `thread ${tid}`} (process ${pid})`;
  }

  private woken({ time, by }: Wake, before: { gap: Nanoseconds; runs: boolean } | null): string {
    const ran = before?.runs ? `${duration(before.gap.to - time)} before it ran` : `at ${instant(time)}; it did not run any more`;
    return `${this.waker(by)}, ${ran}`;
  }

  private waitFacts({ kind, call, node }: Wait): Fact[] {
    const { recording } = this.page;
    const managed = node > 0 ? recording.trie.stack(node).reverse().filter((f) => recording.isManaged(f)).slice(0, MOST_FRAMES) : [];
    return [
      { label: 'Waits for', value: `${kind.what} (${kind.name}${call ? `, in ${call}` : ''})` },
      ...(managed.length > 0 ? [{ label: 'In', value: managed.map((f) => nameParts(recording.name(f)).short).join(' ← ') }] : []),
    ];
  }

  private firstOf(row: number): Place | null {
    const { rows, window } = this.picture!;
    const track = rows.list[row]?.track();
    if (!track) return null;
    const slice = Math.max(0, track.begun(window.from) - 1);
    if (track.count === 0) return { row, slice: 0, gap: true };
    return { row, slice: track.end(slice) <= window.from && slice + 1 < track.count ? slice + 1 : slice, gap: false };
  }

  /** Makes a place the cursor and brings it into sight. */
  private moveTo(place: Place | null, mark: Mark | null = null): void {
    if (!place) return;
    this.cursor = place;
    this.mark = mark;
    this.pane.show(mark ? { from: mark.time, to: mark.time + 1 } : this.span(place));
    const top = place.row * RUN_ROW - this.scroller.scrollTop;
    if (top < 0) this.scroller.scrollTop += top;
    if (top > this.height - RUN_ROW) this.scroller.scrollTop += top - this.height + RUN_ROW;
    this.paint();
    this.options.onWait(this.waitOf(place), this.wokenAfter(place));
    const card = this.card(place, null);
    this.page.announcer.say(`${card.title}, ${card.subtitle}. ${card.facts.map((f) => `${f.label} ${f.value}`).join(', ')}`);
  }

  /** Who ended a wait, or the one after a slice. */
  private wokenAfter({ row, slice, gap }: Place): string {
    const wait = { row, slice: gap ? slice : slice + 1, gap: true };
    const wake = this.wakeOf(wait);
    return wake ? `woken by ${this.woken(wake, this.gapBefore(wait))}` : '';
  }

  /** What a row shows at a time. */
  private at(row: number, time: number): Place {
    const track = this.picture!.rows.list[row]!.track();
    const next = track.begun(time);
    const within = next > 0 && track.end(next - 1) >= time;
    return { row, slice: within ? next - 1 : next, gap: !within };
  }

  /** To who woke the thread that the cursor is on. */
  toWaker(): void {
    const wake = this.cursor && this.wakeOf(this.cursor);
    if (!wake) return;
    const row = wake.by.thread === null ? -1 : this.rowOf(wake.by.thread, wake.time);
    if (row >= 0) this.moveTo(this.at(row, wake.time));
    else this.page.announcer.say(`Woken by ${this.waker(wake.by)}, which has no row here`);
  }

  /** To the next mark of the rows, of those that are searched for if any are; -1: the one before. */
  toMark(step: 1 | -1): void {
    if (!this.picture) return;
    const { rows, runs, found, window } = this.picture;
    const [now, thread] = this.mark ? [this.mark.time, this.mark.thread] : [this.middle() ?? (window.from + window.to) / 2, -1];
    let best: { readonly mark: Mark; readonly row: number } | null = null;
    const shown = new Set(rows.list.flatMap((r) => (r.kind === 'cpu' ? [...this.tracks.keys()] : r.threads)));
    for (const [t, own] of found ?? runs.beside.marks) {
      if (!shown.has(t)) continue;
      for (let i = step > 0 ? firstMark(own, now) : firstMark(own, now + 1) - 1; i >= 0 && i < own.length; i += step) {
        const mark = own[i]!;
        if ((mark.time - now || mark.thread - thread) * step <= 0) continue;
        if (best && (mark.time - best.mark.time || mark.thread - best.mark.thread) * step >= 0) break;
        const row = this.rowOf(mark.thread, mark.time);
        if (row < 0) continue;
        best = { mark, row };
        break;
      }
    }
    if (best) this.moveTo(this.at(best.row, best.mark.time), best.mark);
  }

  private toSide(step: number): void {
    if (!this.cursor) return this.moveTo(this.firstOf(0));
    const { row, slice, gap } = this.cursor;
    const next = gap && step > 0 ? slice : slice + step;
    if (next >= 0 && next < this.row(this.cursor).track().count) this.moveTo({ row, slice: next, gap: false });
  }

  /** The slice of the row above or below that is nearest in time. */
  private toRow(step: number): void {
    const { list } = this.picture!.rows;
    const middle = this.middle();
    if (!this.cursor || middle === null) return this.moveTo(this.firstOf(Math.max(0, Math.floor(this.scroller.scrollTop / RUN_ROW))));
    const row = Math.max(0, Math.min(list.length - 1, this.cursor.row + step));
    const track = list[row]!.track();
    const slice = Math.max(0, track.begun(middle) - 1);
    this.moveTo(track.count === 0 ? { row, slice: 0, gap: true } : { row, slice, gap: false });
  }


  private onKey(event: KeyboardEvent): void {
    if (!this.picture || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.height / RUN_ROW) - 1);
    const { cursor } = this;
    const plain: Record<string, () => void> = {
      ArrowLeft: () => this.toSide(-1),
      ArrowRight: () => this.toSide(1),
      ArrowUp: () => this.toRow(-1),
      ArrowDown: () => this.toRow(1),
      PageUp: () => this.toRow(-page),
      PageDown: () => this.toRow(page),
      Home: () => this.moveTo(this.firstOf(0)),
      End: () => this.moveTo(this.firstOf(this.picture!.rows.list.length - 1)),
      Enter: () => (cursor && this.row(cursor).open !== null ? this.options.onTurn(this.row(cursor)) : this.zoomTo(cursor)),
      ' ': () => cursor && this.row(cursor).threads.length > 0 && this.options.onThreads(this.row(cursor).threads),
      x: () => cursor && this.options.onRange(this.span(cursor)),
    };
    const action = this.pane.key(event, this.middle()) ?? (event.shiftKey ? undefined : plain[event.key]);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}
