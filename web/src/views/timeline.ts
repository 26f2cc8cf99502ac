// SPDX-License-Identifier: MIT
// The time line: which thread had a processor when, where the recording has switches.

import { countMarks, countWakes } from '../data/beside.ts';
import { count, duration, instant } from '../model/format.ts';
import { IDLE, RowList } from '../model/rows.ts';
import { findMarks, type Marks } from '../model/search.ts';
import { ROW_ORDERS, type RowOrder, type State } from '../model/selection.ts';
import { TimeWindow } from '../model/window.ts';
import { el, setPressed, setText, toggle } from '../ui/dom.ts';
import type { Key, Page } from '../ui/page.ts';
import { RunChart } from '../ui/runchart.ts';
import { RunTable } from '../ui/runtable.ts';
import { WaitPanel } from '../ui/waitpanel.ts';
import type { View } from './view.ts';

const ORDER_TEXT: Record<RowOrder, string> = { activity: 'by activity', name: 'by name', tid: 'by TID', first: 'as first seen' };

export class TimeLineView implements View {
  readonly name = 'timeline';
  readonly title = 'Time line';
  readonly element: HTMLElement;
  readonly keys: readonly Key[];
  private readonly chart: RunChart;
  private readonly table: RunTable;
  private readonly wait: WaitPanel;
  private readonly rows: RowList;
  private readonly time: TimeWindow;
  private readonly found = el('output', { class: 'share' });
  private readonly readout = el('span', { class: 'focus-share' });
  private readonly hidden = el('p', { class: 'chart-note', role: 'status', hidden: true });
  private readonly empty = el('p', { class: 'empty', hidden: true }, 'None of the chosen threads was seen.');
  private marks: Marks | null = null;
  private foundKey = '';
  private readonly order: HTMLSelectElement;
  private readonly toggles: { readonly button: HTMLButtonElement; on(state: State): boolean }[];

  constructor(private readonly page: Page) {
    const { store, recording } = page;
    const { meta } = recording;
    this.time = new TimeWindow(store, meta.time_unit_ns, () => ({ from: 0, to: Math.max(meta.duration_ns, this.runs.end, 1) }));
    this.rows = new RowList(recording, this.runs, this.time.whole);
    this.order = el(
      'select', { 'aria-label': 'Order of the rows', onchange: () => store.set({ rowOrder: ROW_ORDERS[this.order.selectedIndex]! }) },
      ...ROW_ORDERS.map((o) => el('option', {}, ORDER_TEXT[o])),
    );
    this.chart = new RunChart(page, {
      label: 'Time line of threads. Up and down go from row to row, left and right from slice to slice, Enter zooms in, plus and minus zoom, Shift with arrows pans, question mark lists all keys.',
      onWindow: (window) => store.set({ window }),
      onRange: (range) => this.time.count(range),
      onTurn: (row) => {
        this.rows.turn(row);
        this.render(store.state);
      },
      onWait: (wait, woken) => this.wait.show(wait, woken),
      onThreads: (threads) => store.set({ threads: [...threads].sort((a, b) => a - b) }),
      name: (thread) => this.rows.name(thread),
    });
    this.table = this.makeTable();
    this.wait = new WaitPanel(recording, ({ node }) =>
      store.set({ view: 'flame', event: recording.events.findIndex((e) => e.info.name === 'wait'), reverse: false, native: 'all', focus: recording.trie.stack(node) }));
    this.toggles = this.makeToggles();
    this.element = el(
      'div', { class: 'view timeline' }, this.toolbar(), this.facts(), this.cut(), this.hidden, this.chart.element, this.empty, this.wait.element, this.table.element,
    );
    this.keys = this.makeKeys();
  }

  private get runs() {
    return this.page.recording.runs!;
  }

  private makeTable(): RunTable {
    const { store, recording } = this.page;
    const button = (label: string, title: string, onclick: () => void) => el('button', { type: 'button', class: 'small', title, onclick }, label);
    const flame = button('Flame graph of this range', 'What ran in it, by its samples', () => store.set({ view: 'flame' }));
    const drop = button('Drop the range', 'Count all of the time', () => store.set({ time: null, window: this.time.now }));
    return new RunTable(this.runs, {
      name: (thread) => this.rows.name(thread),
      tid: (thread) => recording.meta.threads[thread]!.tid,
      choose: (thread) => store.set({ threads: store.state.threads?.join() === String(thread) ? null : [thread] }),
      chosen: (thread) => store.state.threads?.includes(thread) ?? false,
    }, recording.stacks ? [flame, drop] : [drop]);
  }

  private makeToggles() {
    const { store } = this.page;
    return [
      { button: toggle('Processors', 'A row for each processor instead of each thread', () => this.turn('by')), on: (s: State) => s.by === 'cpu' },
      { button: toggle('Group', 'Threads that are many alike are one row', () => this.turn('grouped')), on: (s: State) => this.rows.grouped(s) },
      { button: toggle('Hide idle', `Leave out threads that had a processor for less than ${100 * IDLE}% of the recording`, () => store.set({ idle: !store.state.idle })), on: (s: State) => !s.idle },
    ];
  }

  private turn(what: 'by' | 'order' | 'grouped'): void {
    const { store } = this.page;
    const { by, rowOrder } = store.state;
    if (what === 'grouped') return store.set({ grouped: !this.rows.grouped(store.state) });
    if (what === 'by') store.set({ by: by === 'cpu' ? 'thread' : 'cpu' });
    else store.set({ rowOrder: ROW_ORDERS[(ROW_ORDERS.indexOf(rowOrder) + 1) % ROW_ORDERS.length]! });
  }

  private toolbar(): HTMLElement {
    const { store } = this.page;
    const button = (label: string, title: string, onclick: () => void) => el('button', { type: 'button', class: 'small', title, onclick }, label);
    const buttons = el(
      'div', { class: 'toggles', role: 'group', 'aria-label': 'What of the time is drawn' },
      button('−', 'Zoom out', () => this.chart.zoom(2)), button('+', 'Zoom in', () => this.chart.zoom(0.5)),
      button('Whole', 'All of the time', () => store.set({ window: this.time.whole() })),
      button('Count this range', 'All views count what is in sight here', () => this.time.count(this.time.now)),
    );
    const choices = this.toggles.filter((_, i) => i > 0 || this.runs.cpus > 0).map((t) => t.button);
    return el('div', { class: 'toolbar' }, this.order, ...choices, this.readout, this.found, buttons);
  }

  /** What the colours mean, and what has to be known of the recording. */
  private facts(): HTMLElement {
    const { info } = this.runs;
    const { sampled, voluntary, involuntary } = info.switches!;
    const key = (kind: string, text: string) => el('span', { class: 'runs-key' }, el('span', { class: `swatch ${kind}`, 'aria-hidden': 'true' }), text);
    const counted = sampled
      ? `sampled about every ${duration(info.interval_ns)}: when a thread ran is known no better than that`
      : `${count(voluntary + involuntary)} switches: ${count(voluntary)} to wait, ${count(involuntary)} preempted`;
    const lost = info.lost > 0 ? `${count(info.lost)} records lost, hatched` : 'nothing lost';
    return el(
      'p', { class: sampled || info.lost > 0 ? 'runs-facts warn' : 'runs-facts' },
      key(sampled ? 'ran sampled' : 'ran', sampled ? 'seen on a processor' : 'on a processor'),
      sampled ? null : key('preempted', 'preempted'), sampled ? null : key('waits', 'waits'),
      this.runs.waits.size > 0 ? key('held', 'waits for a lock or a collection') : null,
      info.lost > 0 ? key('unknown', 'lost, not known') : null,
      this.runs.beside.marks.size > 0 ? key('mark', 'mark of the program') : null,
      el('span', { class: 'runs-said', title: [info.source, info.note].filter(Boolean).join(': ') }, [counted, sampled ? '' : lost].filter(Boolean).join('; ')),
    );
  }

  /** Where the page does not have all marks, or wake-ups, that there were. */
  private cut(): HTMLElement | null {
    const { info, beside } = this.runs;
    const rest = (here: number, all: number, what: string) => (here < all ? [`the first ${count(here)} of ${count(all)} ${what}`] : []);
    const cut = [...rest(countMarks(beside.marks), info.switches!.marks, 'marks'), ...rest(countWakes(beside.wakes), info.switches!.wakes, 'wake-ups')];
    return cut.length > 0 ? el('p', { class: 'chart-note' }, `The page has only ${cut.join(', and ')}.`) : null;
  }

  /** Marks that are searched for; null: nothing is. */
  private marksFound({ search, regex }: State): Marks | null {
    const key = `${regex}|${search}`;
    if (key !== this.foundKey) {
      this.marks = findMarks(this.runs.beside.marks, search, regex);
      this.foundKey = key;
    }
    return this.marks;
  }

  private makeKeys(): Key[] {
    const { store } = this.page;
    const whole = () => store.set({ window: this.time.whole() });
    const processors: Key = { keys: ['c'], label: 'c', what: 'rows by processor, by thread', run: () => this.turn('by') };
    const { marks, wakes } = this.runs.beside;
    const beside: Key[] = [
      ...(marks.size > 0 ? [{ keys: ['m'], label: 'm', what: 'the next mark, that is searched for', run: () => this.chart.toMark(1) }, { keys: ['M'], label: 'Shift m', what: 'the one before', run: () => this.chart.toMark(-1) }] : []),
      ...(wakes.size > 0 ? [{ keys: ['b'], label: 'b', what: 'to who woke the thread', run: () => this.chart.toWaker() }] : []),
    ];
    return [
      { keys: [], label: '↑ ↓ PgUp PgDn', what: 'from row to row' },
      { keys: [], label: '← →', what: 'the slice before, the next one' },
      { keys: [], label: 'Enter', what: 'zoom in on the slice; open or close a row of several' },
      { keys: [], label: '+ −', what: 'zoom in, out; the wheel does, too' },
      { keys: [], label: 'Shift ← →', what: 'pan; dragging does, too' },
      { keys: ['Escape', '0'], label: 'Esc or 0', what: 'all of the time', run: whole },
      ...beside,
      { keys: [], label: 'x', what: 'count only the time of the slice, in all views' },
      { keys: [], label: 'Space', what: 'only the thread of the row, in all views' },
      ...(this.runs.cpus > 0 ? [processors] : []),
      { keys: ['o'], label: 'o', what: 'order: activity, name, TID, first seen', run: () => this.turn('order') },
      { keys: ['g'], label: 'g', what: 'threads that are alike in one row, or each', run: () => this.turn('grouped') },
      { keys: ['i'], label: 'i', what: 'hide the idle, show them', run: () => store.set({ idle: !store.state.idle }) },
    ];
  }

  focus(): void {
    this.chart.focus();
  }

  render(state: State): void {
    const rows = this.rows.of(state);
    const window = this.time.now;
    const range = this.time.range(state);
    for (const { button, on } of this.toggles) setPressed(button, on(state));
    this.toggles[1]!.button.disabled = this.toggles[2]!.button.disabled = this.order.disabled = state.by === 'cpu';
    this.order.selectedIndex = ROW_ORDERS.indexOf(state.rowOrder);
    setText(this.readout, `${instant(window.from).replace(/0{1,3} s$/, ' s')}  +${duration(window.to - window.from)}`);
    this.hidden.hidden = rows.hidden === 0;
    setText(this.hidden, `${count(rows.hidden)} hidden: ${rows.hidden === 1 ? 'it' : 'each'} had a processor for less than ${100 * IDLE}% of the recording.`);
    this.empty.hidden = rows.list.length > 0;
    this.chart.element.hidden = rows.list.length === 0;
    this.table.show(range, this.runs.tracks.filter((t) => state.threads === null || state.threads.includes(t.id)));
    const found = this.marksFound(state);
    const marks = countMarks(this.runs.beside.marks);
    setText(this.found, found && marks > 0 ? `${count(countMarks(found))} of ${count(marks)} marks` : '');
    this.chart.show({ runs: this.runs, rows, whole: this.time.whole(), window, range, found });
  }
}
