// SPDX-License-Identifier: MIT
// Which event the page shows, what has to be known of it, and which of its samples and frames count.

import type { CallDepth, EventInfo } from '../data/meta.ts';
import { printable } from '../data/printable.ts';
import { NATIVES, type Native } from '../data/trie.ts';
import { partsOfRange } from '../model/callweights.ts';
import { bytes, count, duration, lostText, percent, reasonsText, statedTime } from '../model/format.ts';
import { ACTIVITIES, type Activity, type State } from '../model/selection.ts';
import { el, setPressed, setText, toggle } from './dom.ts';
import type { Page } from './page.ts';

const ACTIVITY_TEXT: Record<Activity, readonly [string, string]> = {
  any: ['All', 'Samples of all threads'],
  running: ['Running', 'Only samples of threads that ran'],
  waiting: ['Waiting', 'Only samples of threads that slept or waited'],
};

const NATIVE_TEXT: Record<Native, readonly [string, string]> = {
  all: ['All', 'Native frames, of libraries, the kernel and the runtime, wherever they stand'],
  leaf: ['Leaf', 'Native frames only above the topmost managed one'],
  none: ['None', 'Managed frames only; a stack without any is [native]'],
};

/** Buttons of which one is on. */
class Choice<T extends string> {
  readonly element: HTMLElement;
  private readonly buttons: Map<T, HTMLButtonElement>;

  constructor(label: string, values: readonly T[], texts: Record<T, readonly [string, string]>, choose: (value: T) => void) {
    this.buttons = new Map(values.map((v) => [v, toggle(texts[v][0], texts[v][1], () => choose(v))]));
    this.element = el(
      'div', { class: 'choice', role: 'group', 'aria-label': label },
      el('span', { class: 'choice-label', 'aria-hidden': 'true' }, label), ...this.buttons.values(),
    );
  }

  show(value: T): void {
    for (const [v, button] of this.buttons) setPressed(button, v === value);
  }
}

/** How the times of calls were measured. */
const DEPTH_TEXT: Record<CallDepth, string> = {
  tree: 'every call counted, times estimated by samples of the calls that threads were in',
  time: 'every call counted and timed, times added up',
  events: 'every call recorded with its beginning and end',
};

/** Of how much of the CPU time that there was. */
function clockText({ samples, interval_ns, clock_ns }: EventInfo): string | false {
  if (clock_ns === 0) return false;
  return `stand for ${duration(samples * interval_ns)} of the ${duration(clock_ns)} of CPU time that the kernel counted`;
}

/** How long threads ran and waited, where they were sampled. */
function statesText(info: EventInfo): string | false {
  if (info.waiting === 0 || info.interval_ns === 0) return false;
  const ran = info.samples - info.waiting;
  const part = (n: number) => `${statedTime(n, info)} (${percent(n, info.samples)})`;
  return `threads ran ${part(ran)}, waited ${part(info.waiting)}`;
}

/** A range of so many steps in which calls are known is exact enough. */
const COARSE = 100;

/** On how many moments all shares of the whole recording rest. */
function looksText({ looks, equal_looks }: EventInfo): string | false {
  if (equal_looks === 0) return false;
  const error = (share: number) => (196 * Math.sqrt((share * (1 - share)) / equal_looks)).toFixed(1);
  return `rests on ${count(looks)} looks: 50% is ± ${error(0.5)} points, 5% ± ${error(0.05)}`;
}

/** Whether there are switches, so that the note is a fact among others. */
const isPlain = ({ switches }: EventInfo) => switches !== null && !switches.sampled;

/** What has to be known of it first. */
export const notesText = (info: EventInfo) => [isPlain(info) ? '' : info.note, info.not_filtered].filter(Boolean).join('  ·  ');

export class Shown {
  readonly element: HTMLElement;
  private readonly events: HTMLSelectElement;
  private readonly name = el('strong', { class: 'event-name' });
  private readonly facts = el('span', { class: 'event-facts' });
  private readonly note = el('strong', { class: 'event-note' });
  private readonly activity: Choice<Activity>;
  private readonly native: Choice<Native>;

  constructor(private readonly page: Page) {
    const { store } = page;
    this.events = this.eventChoice();
    this.activity = new Choice('Threads', ACTIVITIES, ACTIVITY_TEXT, (activity) => store.set({ activity }));
    this.native = new Choice('Native frames', NATIVES, NATIVE_TEXT, (native) => this.chooseNative(native));
    const about = el('div', { class: 'event' }, this.events, this.name, this.note, this.facts);
    this.element = el(
      'section', { class: 'shown', 'aria-label': 'What is shown' },
      about, el('div', { class: 'choices' }, this.activity.element, this.native.element),
    );
  }

  private eventChoice(): HTMLSelectElement {
    const { events } = this.page.recording;
    const choose = () => this.page.store.set({ event: select.selectedIndex });
    const select: HTMLSelectElement = el(
      'select', { 'aria-label': 'Event', hidden: events.length < 2, onchange: choose },
      ...events.map((e) => el('option', {}, printable(e.info.name))),
    );
    return select;
  }

  /** The next event, state of threads or choice of native frames, for the keyboard. */
  nextEvent(): void {
    const { store, recording } = this.page;
    store.set({ event: (store.state.event + 1) % recording.events.length });
  }

  nextActivity(): void {
    const { store, answers } = this.page;
    const next = ACTIVITIES[(ACTIVITIES.indexOf(store.state.activity) + 1) % ACTIVITIES.length]!;
    if (answers.rows(store.state).waiting) store.set({ activity: next });
  }

  nextNative(): void {
    const { native } = this.page.store.state;
    this.chooseNative(NATIVES[(NATIVES.indexOf(native) + 1) % NATIVES.length]!);
  }

  /** The way to the focus leads over frames that are there in the new tree, too. */
  private chooseNative(native: Native): void {
    const { store, recording } = this.page;
    const { focus } = store.state;
    const managed = focus.filter((f) => recording.isManaged(f));
    if (native === store.state.native) return;
    store.set({ native, focus: native === 'all' || store.state.reverse ? [] : managed });
  }

  /** How exact the counts of a range of time are. */
  private exactText(state: State): string | false {
    const rows = this.page.answers.rows(state);
    const { calls } = rows.info;
    if (!calls || !state.time) return false;
    const parts = partsOfRange(this.page.recording, rows, state.time);
    const length = (state.time.to - state.time.from) * this.page.recording.meta.time_unit_ns;
    const merged = duration(calls.merged_below_ns);
    const step = Math.min(calls.step_ns, this.page.recording.meta.duration_ns);
    if (!parts) return step > length / COARSE && `calls are known in steps of ${duration(step)}: no range is more exact`;
    if (calls.merged_below_ns === 0 || parts.edges.length === 0) return false;
    const where = parts.rows ? `within ${duration(step)} of the ends of this range` : 'in so short a range';
    return `${where} calls under ${merged} are counted in proportion, and their time in part to their callers`;
  }

  render(state: State): void {
    const { info, waiting } = this.page.answers.rows(state);
    const every = info.interval_ns > 0 && !info.calls && `one every ${duration(info.interval_ns)}`;
    this.events.selectedIndex = state.event;
    this.name.hidden = this.page.recording.events.length > 1;
    setText(this.name, printable(info.name));
    const plain = isPlain(info);
    const notes = notesText(info);
    this.note.hidden = notes === '';
    setText(this.note, printable(notes));
    const facts = [
      info.raised_lot > 0 ? `${info.source} to ${bytes(info.raised_lot)}` : info.source, plain && info.note, every, info.calls && DEPTH_TEXT[info.calls.depth], clockText(info), statesText(info), looksText(info), this.exactText(state),
      lostText(info), reasonsText('failed', info.failed, info.failures),
    ].filter(Boolean);
    setText(this.facts, printable(facts.join('  ·  ')));
    this.facts.title = this.facts.textContent!;
    this.activity.element.hidden = waiting === null;
    this.activity.show(state.activity);
    this.native.element.hidden = info.switches !== null;
    this.native.show(state.native);
  }
}
