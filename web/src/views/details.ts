// SPDX-License-Identifier: MIT
// What the report has besides stacks, in tables: types, messages and catchers of exceptions, requests, collections. Of
// the whole recording, whatever is chosen.

import { isText, type ColumnKind, type TableInfo } from '../data/meta.ts';
import { printable } from '../data/printable.ts';
import { bytes, count, duration } from '../model/format.ts';
import type { State } from '../model/selection.ts';
import { el, setPressed, setText, toggle } from '../ui/dom.ts';
import type { Key, Page } from '../ui/page.ts';
import { Table, type Column } from '../ui/table.ts';
import type { View } from './view.ts';

const FORMATS: Record<ColumnKind, (value: string | number) => string> = {
  name: (v) => printable(String(v)),
  text: (v) => printable(String(v)),
  count: (v) => count(Number(v)),
  ns: (v) => duration(Number(v)),
  bytes: (v) => bytes(Number(v)),
};

function compare(a: string | number, b: string | number): number {
  if (a === '' || b === '') return Number(a !== '') - Number(b !== '');
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
}

/** The report's own order. */
const RANK: Column = { name: 'rank', title: '#', width: '40px', compare: (a, b) => a - b, text: (row) => count(row + 1) };

/** One table, and the row that was chosen in it. */
class DetailTable {
  readonly table: Table;
  private chosen = -1;

  constructor(private readonly info: TableInfo, copy: (text: string) => void) {
    this.table = new Table({
      label: info.title, columns: [RANK, ...info.columns.map((c, i) => this.column(c.title, c.kind, i))], sort: RANK.name,
      rowHeight: 24, compactBelow: 0, empty: 'There are none.',
      choose: (row) => {
        this.chosen = row;
        this.render();
      },
      chosen: (row) => row === this.chosen,
      open: (row) => copy(FORMATS.text(info.rows[row]![0]!)),
    });
  }

  private column(title: string, kind: ColumnKind, i: number): Column {
    const of = (row: number) => this.info.rows[row]![i]!;
    const text = (row: number) => (of(row) === '' ? '' : FORMATS[kind](of(row)));
    return {
      name: `${i}`, title, width: kind === 'name' ? 'minmax(110px, 2fr)' : kind === 'text' ? 'minmax(80px, 1fr)' : 'minmax(70px, 104px)', numeric: !isText(kind),
      compare: (a, b) => compare(of(a), of(b)), text,
      ...(isText(kind) && { hint: text }),
    };
  }

  render(): void {
    this.table.show(this.info.rows.map((_, i) => i));
  }
}

export class DetailsView implements View {
  readonly name = 'details';
  readonly title = 'Details';
  readonly element: HTMLElement;
  readonly keys: readonly Key[] = [
    { keys: [], label: '↑ ↓', what: 'the row before, the next' },
    { keys: [], label: 'Shift Enter', what: 'copy what the row is about' },
  ];
  private readonly choices = el('div', { class: 'toggles', role: 'group', 'aria-label': 'Tables' });
  private readonly facts = el('span', { class: 'facts' });
  private readonly place = el('div', { class: 'details-table' });
  private readonly tables = new Map<TableInfo, DetailTable>();
  /** Of each event, which of its tables. */
  private readonly chosen = new Map<number, number>();
  private current: DetailTable | null = null;
  private state: State | null = null;
  /** What the buttons are of. */
  private offered: readonly TableInfo[] | null = null;

  constructor(private readonly page: Page) {
    this.element = el('div', { class: 'view details' }, el('div', { class: 'toolbar' }, this.facts, this.choices), this.place);
  }

  render(state: State): void {
    const { tables } = this.page.recording.events[state.event]!.info;
    const at = this.chosen.get(state.event) ?? 0;
    this.state = state;
    if (this.offered !== tables) this.choices.replaceChildren(...tables.map((table, i) => this.button(table, i)));
    this.offered = tables;
    [...this.choices.children].forEach((button, i) => setPressed(button, i === at));
    this.show(tables[at] ?? null);
  }

  private button(table: TableInfo, i: number): HTMLButtonElement {
    return toggle(table.title, `The table “${table.title}”`, () => {
      this.chosen.set(this.state!.event, i);
      this.render(this.state!);
    });
  }

  private show(info: TableInfo | null): void {
    this.current = info && this.of(info);
    setText(this.facts, info ? this.factsOf(info) : 'This event has nothing besides its stacks.');
    // One that stands there keeps its place and the keyboard.
    const element = this.current?.table.element ?? null;
    if (this.place.firstElementChild !== element) this.place.replaceChildren(...(element ? [element] : []));
    this.current?.render();
  }

  private of(info: TableInfo): DetailTable {
    let found = this.tables.get(info);
    if (!found) this.tables.set(info, (found = new DetailTable(info, (text) => this.page.copy(text))));
    return found;
  }

  private factsOf(info: TableInfo): string {
    const n = info.rows.length;
    const rows = n < info.rows_in_all ? `the first ${count(n)} of ${count(info.rows_in_all)}` : `${count(n)} ${n === 1 ? 'row' : 'rows'}`;
    return `${rows}, of the whole recording`;
  }

  focus(): void {
    this.current?.table.focus();
  }
}
