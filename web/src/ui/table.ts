// SPDX-License-Identifier: MIT
// A table of any length: only the rows in sight are elements. Sorts by its headers; one row is active,
// and arrows, Home, End, Page Up and Page Down move it.

import { el, setText } from './dom.ts';

export interface Column {
  readonly name: string;
  readonly title: string;
  /** A track of CSS grid. */
  readonly width: string;
  readonly numeric?: boolean;
  /** Whether it is there now; none: always. */
  when?(): boolean;
  /** Left out where the table has little room. */
  readonly minor?: boolean;
  /** Ascending order of two rows; none: not sortable. */
  compare?(a: number, b: number): number;
  text(row: number): string;
  /** A part of 1 to draw as a bar behind the text. */
  bar?(row: number): number;
  /** How much of the bar, at its end, is hatched. */
  hatched?(row: number): number;
  /** A colour to draw as a square before the text. */
  swatch?(row: number): string;
  /** Less important text after the text. */
  aside?(row: number): string;
  hint?(row: number): string;
  /** Where a row is opened and closed by the pointer. */
  readonly fold?: boolean;
}

export interface TableOptions {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly sort: string;
  readonly rowHeight: number;
  /** Narrower than this, minor columns are left out. */
  readonly compactBelow: number;
  readonly empty: string;
  readonly multiple?: boolean;
  /** Chosen by a click, Enter or the space bar. */
  choose(row: number, event: MouseEvent | KeyboardEvent): void;
  /** Twice clicked, or Enter with Shift. */
  open?(row: number): void;
  chosen(row: number): boolean;
  /** The row that this one stands below, wherever that is; itself: none. */
  parent?(row: number): number;
  /** null: has nothing below it. */
  expanded?(row: number): boolean | null;
  expand?(row: number, open: boolean): void;
  menu?(row: number, x: number, y: number): void;
  /** The row the cursor has come to. */
  activated?(row: number): void;
}

const cellClass = (c: Column) => ['cell', c.numeric && 'numeric', c.minor && 'minor'].filter(Boolean).join(' ');

/** A bar, and how much of it, at its end, is hatched. */
function fillBar(cell: HTMLElement, part: number, hatched: number): void {
  const [bar, over] = cell.querySelectorAll<HTMLElement>('.bar');
  bar!.style.width = `${(part || 0) * 100}%`;
  if (!over) return;
  const end = Math.min(part, hatched) || 0;
  over.style.left = `${((part || 0) - end) * 100}%`;
  over.style.width = `${end * 100}%`;
}

const BEYOND = 4;
/** Deeper rows stand no further to the right. */
const MOST_INDENT = 40;
let tables = 0;

interface Line {
  readonly element: HTMLElement;
  readonly cells: readonly HTMLElement[];
}

export class Table {
  readonly element: HTMLElement;
  private readonly id = `table${tables++}`;
  private readonly head = el('div', { class: 'table-head', role: 'row' });
  private readonly body: HTMLElement;
  private readonly space = el('div', { class: 'table-space', role: 'presentation' });
  private readonly empty: HTMLElement;
  private readonly headers = new Map<string, HTMLElement>();
  private readonly lines: Line[] = [];
  private rows: readonly number[] = [];
  private sortBy: Column;
  private descending: boolean;
  private faded: ((row: number) => boolean) | null = null;
  private active = 0;

  constructor(private readonly options: TableOptions) {
    const { columns } = options;
    this.sortBy = columns.find((c) => c.name === options.sort)!;
    this.descending = this.sortBy.numeric === true;
    for (const column of columns) this.head.append(this.header(column));
    this.body = el('div', { class: 'table-body', role: 'rowgroup' }, this.space);
    this.empty = el('p', { class: 'empty', hidden: true }, options.empty);
    this.element = el(
      'div',
      {
        class: 'table', role: options.expanded ? 'treegrid' : 'grid', tabindex: 0, 'aria-label': options.label,
        'aria-multiselectable': options.multiple ?? null, 'aria-colcount': columns.length,
      },
      this.head, this.body, this.empty,
    );
    this.setCompact();
    this.element.style.setProperty('--row', `${options.rowHeight}px`);
    this.body.addEventListener('scroll', () => this.draw());
    this.element.addEventListener('keydown', (e) => this.onKey(e));
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  private resize(): void {
    this.setCompact();
    this.draw();
  }

  private setCompact(): void {
    const compact = this.element.clientWidth > 0 && this.element.clientWidth < this.options.compactBelow;
    const shown = this.options.columns.filter((c) => (!compact || !c.minor) && (c.when?.() ?? true));
    this.element.style.setProperty('--columns', shown.map((c) => c.width).join(' '));
    this.element.classList.toggle('compact', compact);
  }

  private header(column: Column): HTMLElement {
    const sort = () => {
      this.descending = this.sortBy === column ? !this.descending : column.numeric === true;
      this.sortBy = column;
      this.show(this.rows, this.faded);
    };
    const content = column.compare
      ? el('button', { type: 'button', onclick: sort, title: `Sort by ${column.title.toLowerCase()}` }, column.title)
      : column.title;
    const header = el('div', { class: cellClass(column), role: 'columnheader' }, content);
    this.headers.set(column.name, header);
    return header;
  }

  /** The column to sort by may be gone: then by the first of numbers that is there. */
  private sortByShown(): void {
    if (this.sortBy.when?.() ?? true) return;
    const there = this.options.columns.find((c) => c.numeric && !c.minor && (c.when?.() ?? true));
    if (!there) return;
    this.sortBy = there;
    this.descending = true;
  }

  private order(): (a: number, b: number) => number {
    const { compare } = this.sortBy;
    const { parent } = this.options;
    const sign = this.descending ? -1 : 1;
    const beside = (a: number, b: number) => sign * (compare?.(a, b) ?? 0) || a - b;
    if (!parent) return beside;
    const ways = new Map<number, readonly number[]>();
    const way = (row: number): readonly number[] => {
      let steps = ways.get(row);
      if (!steps) ways.set(row, (steps = [...(parent(row) === row ? [] : way(parent(row))), row]));
      return steps;
    };
    // Rows that stand below others are ordered among those that stand below the same one.
    return (a, b) => {
      const [p, q] = [way(a), way(b)];
      let i = 0;
      while (i < p.length && i < q.length && p[i] === q[i]) i++;
      return i < p.length && i < q.length ? beside(p[i]!, q[i]!) : p.length - q.length;
    };
  }

  /** Shows these rows in the order the user chose; some of them may stand back. */
  show(rows: readonly number[], faded: ((row: number) => boolean) | null = null): void {
    this.faded = faded;
    const activeRow = this.rows[this.active];
    this.setCompact();
    for (const column of this.options.columns)
      if (column.when) this.headers.get(column.name)!.hidden = !column.when();
    this.sortByShown();
    this.rows = this.sortBy.compare ? [...rows].sort(this.order()) : rows;
    const at = activeRow === undefined ? -1 : this.rows.indexOf(activeRow);
    this.active = at >= 0 ? at : 0;
    for (const [name, header] of this.headers) {
      if (name === this.sortBy.name) header.setAttribute('aria-sort', this.descending ? 'descending' : 'ascending');
      else header.removeAttribute('aria-sort');
    }
    this.element.setAttribute('aria-rowcount', String(this.rows.length + 1));
    this.space.style.height = `${this.rows.length * this.options.rowHeight}px`;
    this.empty.hidden = this.rows.length > 0;
    this.draw();
  }

  /** Brings a row into sight and makes it the active one. */
  reveal(row: number): void {
    const at = this.rows.indexOf(row);
    if (at >= 0) this.moveTo(at);
  }

  focus(): void {
    this.element.focus();
  }

  private draw(): void {
    const { rowHeight } = this.options;
    const first = Math.max(0, Math.floor(this.body.scrollTop / rowHeight) - BEYOND);
    const bottom = this.body.scrollTop + this.body.clientHeight;
    const end = Math.min(this.rows.length, Math.ceil(bottom / rowHeight) + BEYOND);
    while (this.lines.length < end - first) this.addLine();
    this.lines.forEach((line, i) => {
      line.element.hidden = first + i >= end;
      if (!line.element.hidden) this.fill(line, first + i);
    });
    const active = this.lines[this.active - first]?.element;
    if (active && !active.hidden) this.element.setAttribute('aria-activedescendant', active.id);
    else this.element.removeAttribute('aria-activedescendant');
  }

  private addLine(): void {
    const cells = this.options.columns.map((column) =>
      el(
        'div',
        { class: cellClass(column), role: 'gridcell', 'data-column': column.name },
        column.bar ? el('span', { class: 'bar', 'aria-hidden': 'true' }) : null,
        column.hatched ? el('span', { class: 'bar hatched', 'aria-hidden': 'true' }) : null,
        column.swatch ? el('span', { class: 'swatch', 'aria-hidden': 'true' }) : null,
        column.fold ? el('span', { class: 'fold', 'aria-hidden': 'true' }) : null,
        el('span', { class: 'text' }),
        column.aside ? el('span', { class: 'aside' }) : null,
      ),
    );
    const line: Line = { element: el('div', { class: 'table-row', role: 'row' }, ...cells), cells };
    const at = () => Number(line.element.dataset['at']);
    line.element.id = `${this.id}-${this.lines.length}`;
    line.element.addEventListener('click', (e) => this.onClick(at(), e));
    line.element.addEventListener('dblclick', (e) => {
      if (!(e.target as Element).closest('.fold')) this.options.open?.(this.rows[at()]!);
    });
    line.element.addEventListener('contextmenu', (e) => {
      if (!this.options.menu) return;
      e.preventDefault();
      this.options.menu(this.rows[at()]!, e.clientX, e.clientY);
    });
    this.lines.push(line);
    this.space.append(line.element);
  }

  private fill(line: Line, at: number): void {
    const row = this.rows[at]!;
    const { element, cells } = line;
    element.dataset['at'] = String(at);
    element.style.transform = `translateY(${at * this.options.rowHeight}px)`;
    element.setAttribute('aria-rowindex', String(at + 2));
    element.setAttribute('aria-selected', String(this.options.chosen(row)));
    element.classList.toggle('active', at === this.active);
    element.classList.toggle('faded', this.faded?.(row) ?? false);
    this.fillTree(element, row);
    this.options.columns.forEach((column, i) => {
      const cell = cells[i]!;
      cell.hidden = !(column.when?.() ?? true);
      if (cell.hidden) return;
      setText(cell.querySelector('.text')!, column.text(row));
      if (column.bar) fillBar(cell, Math.min(1, column.bar(row)), column.hatched?.(row) ?? 0);
      if (column.swatch) cell.querySelector<HTMLElement>('.swatch')!.style.background = column.swatch(row);
      if (column.aside) setText(cell.querySelector('.aside')!, column.aside(row));
      if (column.hint) cell.title = column.hint(row);
    });
  }

  private fillTree(element: HTMLElement, row: number): void {
    const { expanded, parent } = this.options;
    if (!expanded || !parent) return;
    const open = expanded(row);
    if (open === null) element.removeAttribute('aria-expanded');
    else element.setAttribute('aria-expanded', String(open));
    let level = 1;
    for (let r = row; parent(r) !== r; r = parent(r)) level++;
    element.setAttribute('aria-level', String(level));
    element.style.setProperty('--level', String(Math.min(level - 1, MOST_INDENT)));
  }

  private onClick(at: number, event: MouseEvent): void {
    this.active = at;
    const row = this.rows[at]!;
    const open = this.options.expanded?.(row) ?? null;
    const handle = event.target instanceof Element && event.target.matches('.fold');
    if (handle && open !== null) this.options.expand!(row, !open);
    else this.options.choose(this.rows[at]!, event);
    this.draw();
  }

  private moveTo(at: number): void {
    const { rowHeight } = this.options;
    this.active = Math.max(0, Math.min(this.rows.length - 1, at));
    const top = this.active * rowHeight;
    const { scrollTop, clientHeight } = this.body;
    if (top < scrollTop) this.body.scrollTop = top;
    else if (top + rowHeight > scrollTop + clientHeight) this.body.scrollTop = top + rowHeight - clientHeight;
    this.draw();
    this.options.activated?.(this.rows[this.active]!);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.rows.length === 0) return;
    const page = Math.max(1, Math.floor(this.body.clientHeight / this.options.rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, End: this.rows.length,
    };
    const row = this.rows[this.active]!;
    if (this.foldKey(event.key, row)) this.draw();
    else if (event.key in steps) this.moveTo(this.active + steps[event.key]!);
    else if (event.key === 'Enter' && event.shiftKey && this.options.open) this.options.open(row);
    else if (event.key === 'Enter' || event.key === ' ') this.options.choose(row, event);
    else if (this.options.menu && (event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey)))
      this.menuAtActive(row);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.draw();
  }

  /** The arrows to the sides open and close what has something below it. */
  private foldKey(key: string, row: number): boolean {
    const { expanded, parent, expand } = this.options;
    if (!expanded || (key !== 'ArrowRight' && key !== 'ArrowLeft')) return false;
    const open = expanded(row);
    const above = parent!(row);
    if (open !== null && open !== (key === 'ArrowRight')) expand!(row, !open);
    else if (key === 'ArrowLeft' && above !== row) this.reveal(above);
    return true;
  }

  private menuAtActive(row: number): void {
    const id = this.element.getAttribute('aria-activedescendant');
    const box = (id ? document.getElementById(id) : null)?.getBoundingClientRect();
    this.options.menu!(row, (box?.left ?? 0) + 40, box?.bottom ?? 0);
  }
}
