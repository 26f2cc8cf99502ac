// SPDX-License-Identifier: MIT
// What was recorded, when, how long, and what is missing from it.

import type { CallsInfo, EventInfo, SwitchesInfo } from '../data/meta.ts';
import { printable } from '../data/printable.ts';
import { command, count, date, duration, lostFigure } from '../model/format.ts';
import type { State } from '../model/selection.ts';
import { el } from './dom.ts';
import type { Page } from './page.ts';

/** Counts of what went wrong, and what each means. */
const LOSSES: readonly (readonly [keyof EventInfo & ('lost' | 'truncated' | 'unresolved' | 'failed'), string])[] = [
  ['lost', 'samples that were dropped because a buffer was full; where samples weigh bytes or time, what these would have weighed'],
  ['truncated', 'stacks that do not reach the start of their thread'],
  ['unresolved', 'frames whose code could not be named'],
  ['failed', 'stacks that were walked and do not reach the thread’s start; one that was taken once and holds for a time counts once'],
];

function stat(label: string, value: string, title: string, warn = false): HTMLElement {
  return el('div', { class: warn ? 'stat warn' : 'stat', title }, el('dt', {}, label), el('dd', {}, value));
}

export class Header {
  readonly element: HTMLElement;
  private readonly stats = el('dl', { class: 'stats' });

  constructor(private readonly page: Page, tools: readonly HTMLElement[], shown: HTMLElement) {
    this.element = el(
      'header', { class: 'header' },
      el('div', { class: 'header-main' }, this.title(), this.stats, el('div', { class: 'tools' }, ...tools)),
      shown, this.problems(),
    );
  }

  private title(): HTMLElement {
    const { meta } = this.page.recording;
    const [first] = meta.processes;
    const typed = printable(first ? command(first.command) : '');
    const runtimes = [...new Set(meta.processes.map((p) => p.runtime).filter(Boolean))].map((r) => `.NET ${r}`);
    const more = meta.processes.length > 1 ? `${meta.processes.length} processes` : first ? `pid ${first.pid}` : '';
    const commands = meta.processes.map((p) => printable(`${p.pid}  ${command(p.command)}`)).join('\n');
    const facts = [...runtimes, more, date(meta.start_unix_ns), duration(meta.duration_ns)].filter(Boolean);
    return el(
      'div', { class: 'title' },
      el('h1', {}, printable(meta.title) || 'dnprof'),
      typed && el('code', { class: 'command', title: typed }, typed),
      el('p', { class: 'facts', title: `${meta.tool}\n${commands}` }, printable(facts.join('  ·  '))),
    );
  }

  private problems(): HTMLElement | null {
    const { problems } = this.page.recording.meta;
    if (problems.length === 0) return null;
    const items = problems.map((p) => el('li', {}, printable(p)));
    return el('ul', { class: 'problems', role: 'alert', 'aria-label': 'Problems of this recording' }, ...items);
  }

  private showCalls({ lost }: EventInfo, { calls, methods, unwinds, open }: CallsInfo): void {
    this.stats.replaceChildren(
      stat('calls', count(calls), 'calls that began'),
      stat('methods', count(methods), 'methods whose calls were recorded'),
      stat('unwound', count(unwinds), 'calls that an exception ended'),
      stat('open', count(open), 'calls that had not ended when the recording did'),
      stat('lost', count(lost), 'events that were dropped because a buffer was full', lost > 0),
    );
  }

  private showSwitches({ lost }: EventInfo, { voluntary, involuntary, sampled }: SwitchesInfo): void {
    const switches = [
      stat('switches', count(voluntary + involuntary), 'times that a thread gave up a processor or lost it'),
      stat('preempted', count(involuntary), 'times that a thread lost its processor though it could have gone on'),
    ];
    this.stats.replaceChildren(
      ...(sampled ? [] : switches),
      stat('lost', count(lost), 'records that were dropped because a buffer was full', lost > 0),
    );
  }

  render(state: State): void {
    const { info } = this.page.answers.rows(state);
    if (info.switches) return this.showSwitches(info, info.switches);
    if (info.calls) return this.showCalls(info, info.calls);
    this.stats.replaceChildren(
      stat('samples', count(info.samples), 'samples that were taken of this event'),
      ...LOSSES.map(([key, what]) => stat(key, key === 'lost' ? lostFigure(info.lost, info) : count(info[key]), what, info[key] > 0)),
    );
  }
}
