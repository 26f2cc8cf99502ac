// SPDX-License-Identifier: MIT
// The flame chart: single calls of a thread over time, where the recording has them.

import type { Lane } from '../data/lanes.ts';
import { markedBeside, type Marked } from '../model/chart.ts';
import { callCount, count, duration, instant } from '../model/format.ts';
import type { State } from '../model/selection.ts';
import { TimeWindow } from '../model/window.ts';
import { el, setText } from '../ui/dom.ts';
import { LaneChart } from '../ui/lanechart.ts';
import type { Item } from '../ui/menu.ts';
import type { Key, Page } from '../ui/page.ts';
import { exactly } from './flame.ts';
import type { View } from './view.ts';

export class ChartView implements View {
  readonly name = 'chart';
  readonly title = 'Flame chart';
  readonly element: HTMLElement;
  readonly keys: readonly Key[];
  private readonly chart: LaneChart;
  private readonly threads: HTMLSelectElement;
  private readonly readout = el('span', { class: 'focus-share' });
  private readonly found = el('output', { class: 'focus-share', 'aria-live': 'polite' });
  private readonly empty = el('p', { class: 'empty', hidden: true }, 'No single calls of the chosen threads were recorded.');
  private readonly note = el('p', { class: 'chart-note', hidden: true });
  private readonly time: TimeWindow;
  private listed: readonly Lane[] = [];

  constructor(private readonly page: Page) {
    const { store } = page;
    const { meta } = page.recording;
    this.time = new TimeWindow(store, meta.time_unit_ns, () => ({ from: 0, to: Math.max(meta.duration_ns, this.lanes.last) }));
    this.threads = el('select', {
      'aria-label': 'Thread of the chart', onchange: () => this.chooseLane(this.listed[this.threads.selectedIndex]!),
    });
    const button = (label: string, title: string, onclick: () => void) =>
      el('button', { type: 'button', class: 'small', title, onclick }, label);
    const whole = () => store.set({ window: this.time.whole() });
    const buttons = el(
      'div', { class: 'toggles', role: 'group', 'aria-label': 'What of the time is drawn' },
      button('−', 'Zoom out', () => this.chart.zoom(2)), button('+', 'Zoom in', () => this.chart.zoom(0.5)),
      button('Whole', 'All of the time', whole),
      button('Count this range', 'All views count what is in sight here', () => this.time.count(this.time.now)),
    );
    const toolbar = el('div', { class: 'toolbar' }, this.threads, this.readout, this.found, buttons);
    this.chart = new LaneChart(page, {
      label: 'Flame chart of a thread. Arrows walk, Enter zooms in, plus and minus zoom, Shift with arrows pans, question mark lists all keys.',
      onWindow: (window) => store.set({ window }),
      onRange: (range) => this.time.count(range),
      onChoose: (slice) => this.choose(slice),
      menu: (slice) => this.menu(slice),
    });
    this.element = el('div', { class: 'view' }, toolbar, this.note, this.chart.element, this.empty);
    this.keys = [
      { keys: [], label: '← →', what: 'the call before, the next one' },
      { keys: [], label: '↑ ↓', what: 'the caller, the longest call made' },
      { keys: [], label: 'Enter', what: 'zoom in on the call' },
      { keys: [], label: '+ −', what: 'zoom in, out; the wheel does, too' },
      { keys: [], label: 'Shift ← →', what: 'pan; dragging does, too' },
      { keys: ['Escape', '0'], label: 'Esc or 0', what: 'all of the time', run: whole },
      { keys: [], label: 'Space', what: 'choose the method of the call' },
      { keys: [], label: 'x', what: 'count only the time of the call, in all views' },
      { keys: ['m'], label: 'm', what: 'the next call that is searched for', run: () => this.toMatch(1) },
      { keys: ['M'], label: 'Shift m', what: 'the one before', run: () => this.toMatch(-1) },
      { keys: [], label: 'y', what: 'copy the name of the method' },
    ];
  }

  private get event() {
    return this.page.answers.single!;
  }

  private get lanes() {
    return this.event.calls!.lanes!;
  }

  private chooseLane(lane: Lane): void {
    this.page.store.set({ lane: lane.thread });
  }

  private choose(slice: number): void {
    const { store } = this.page;
    const { lanes } = this;
    const stack = lanes.trie.stack(lanes.node[slice]!);
    const focus = store.state.reverse || store.state.native !== 'all' ? {} : { focus: stack };
    store.set({ method: lanes.frame(slice) || null, ...focus });
  }

  private menu(slice: number): Item[] {
    const { store, recording } = this.page;
    const { lanes } = this;
    const frame = lanes.frame(slice);
    const name = recording.name(frame);
    return [
      { label: 'Callers and callees', run: () => store.set({ view: 'methods', method: frame }) },
      {
        label: 'In the flame graph',
        run: () => store.set({ view: 'flame', event: recording.events.indexOf(this.event), reverse: false, native: 'all', focus: lanes.trie.stack(lanes.node[slice]!) }),
      },
      { label: 'Find it everywhere', run: () => store.set({ ...exactly(name), only: false }) },
      { label: 'Copy name', key: 'y', run: () => this.page.copy(name) },
    ];
  }

  /** Lanes of the chosen threads; the one that is drawn. */
  private lane(state: State): Lane | null {
    const { recording } = this.page;
    const busy = (lane: Lane) => recording.meta.threads[lane.thread]!.samples;
    this.listed = this.lanes.lanes
      .filter((l) => state.threads === null || state.threads.includes(l.thread))
      .sort((a, b) => busy(b) - busy(a) || a.thread - b.thread);
    return this.listed.find((l) => l.thread === state.lane) ?? this.listed[0] ?? null;
  }

  private toMatch(step: number): void {
    const { state } = this.page.store;
    const marked = this.page.answers.marked(state, state.lengths);
    const lane = this.lane(state);
    if (!marked || !lane) return;
    const best = markedBeside(this.lanes, lane, marked, this.chart.chosen, step);
    if (best >= 0) this.chart.moveTo(best);
  }

  focus(): void {
    this.chart.focus();
  }

  render(state: State): void {
    const lane = this.lane(state);
    this.showThreads(lane);
    this.chart.element.hidden = lane === null;
    this.empty.hidden = lane !== null;
    const window = this.time.now;
    setText(this.readout, `${instant(window.from).replace(/0{1,3} s$/, ' s')}  +${duration(window.to - window.from)}`);
    const marked = this.page.answers.marked(state, state.lengths);
    const { merged_below_ns } = this.event.info.calls!;
    this.showNote(merged_below_ns);
    setText(this.found, lane && marked ? this.foundText(lane, marked) : '');
    if (!lane) return;
    this.chart.show({
      lanes: this.lanes, lane, whole: this.time.whole(), window, range: this.time.range(state), marked, method: state.method, merged_below_ns,
    });
  }

  private foundText({ rowStart }: Lane, { before }: Marked): string {
    return `${callCount(before[rowStart[rowStart.length - 1]!]! - before[rowStart[0]!]!)} found`;
  }

  private showNote(merged_below_ns: number): void {
    this.note.hidden = merged_below_ns === 0;
    setText(
      this.note,
      `${callCount(this.event.info.calls!.calls)} are more than a page can hold: of those shorter than ${duration(merged_below_ns)}, ` +
        'neighbours are drawn as one, hatched, and without what they called. Counts and times of the other views are whole.',
    );
  }

  private showThreads(lane: Lane | null): void {
    const { threads } = this.page.recording.meta;
    const names = this.listed.map((l) => `${threads[l.thread]!.name || 'thread'} · ${threads[l.thread]!.tid}`);
    const key = names.join('\n');
    if (this.threads.dataset['names'] !== key) {
      this.threads.replaceChildren(...names.map((name) => el('option', {}, name)));
      this.threads.dataset['names'] = key;
    }
    this.threads.hidden = lane === null;
    this.threads.selectedIndex = lane ? this.listed.indexOf(lane) : -1;
    this.threads.title = `${count(this.listed.length)} threads with single calls`;
  }
}
