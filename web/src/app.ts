// SPDX-License-Identifier: MIT
// Puts the page together: one store, the views, and what stands around them.

import { isTold, type Recording } from './data/recording.ts';
import { printable } from './data/printable.ts';
import { Answers } from './model/answers.ts';
import { fromHash, toHash } from './model/hash.ts';
import { Store, type State } from './model/selection.ts';
import { Announcer, copyText, el, measured, setText } from './ui/dom.ts';
import { Header } from './ui/header.ts';
import { Help, type KeyGroup } from './ui/help.ts';
import { Highlight, Legend } from './ui/legend.ts';
import { Menu } from './ui/menu.ts';
import { Overview } from './ui/overview.ts';
import type { Key, Page } from './ui/page.ts';
import { SearchBox } from './ui/searchbox.ts';
import { Shown } from './ui/shown.ts';
import type { ThemeSwitch } from './ui/theme.ts';
import { Threads } from './ui/threads.ts';
import { Tooltip } from './ui/tooltip.ts';
import { CallTreeView } from './views/calltree.ts';
import { ChartView } from './views/chart.ts';
import { DetailsView } from './views/details.ts';
import { FlameView } from './views/flame.ts';
import { MethodsView } from './views/methods.ts';
import { TimeLineView } from './views/timeline.ts';
import type { View } from './views/view.ts';

const HASH_DELAY_MS = 150;
const THEME_NAMES = { auto: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };

/** Views of stacks. */
const STACKED = ['flame', 'methods', 'tree', 'chart'];

/** Whether the views are asked for another part of the time, and nothing else is other than it was. */
const onlyMoved = (a: State, b: State) =>
  a.window !== b.window && (Object.keys(a) as (keyof State)[]).every((k) => k === 'window' || a[k] === b[k]);

export class App {
  private readonly page: Page;
  private readonly store: Store;
  private readonly views: readonly View[];
  private readonly tabs: readonly HTMLButtonElement[];
  private readonly header: Header;
  private readonly overview: Overview;
  private readonly threads: Threads;
  private readonly search: SearchBox;
  private readonly legend: Legend;
  private readonly help: Help;
  private readonly keys: readonly Key[];
  private readonly themeButton: HTMLButtonElement;
  private readonly shown: Shown;
  private readonly panel = el('div', { class: 'panel', role: 'tabpanel' });
  private readonly body = el('div', { class: 'body' });
  private hashTimer: ReturnType<typeof setTimeout> | undefined;
  private scheduled = false;
  private drawn: State | null = null;

  constructor(
    private readonly recording: Recording,
    private readonly host: HTMLElement,
    private readonly theme: ThemeSwitch,
  ) {
    this.store = new Store(fromHash(location.hash, recording));
    const highlight = new Highlight();
    this.page = {
      recording,
      answers: new Answers(recording),
      store: this.store,
      announcer: new Announcer(),
      tooltip: new Tooltip(),
      menu: new Menu(),
      colors: () => theme.colors,
      highlightedKind: () => highlight.kind,
      copy: (text) => void this.copy(text),
    };
    this.views = this.makeViews();
    this.tabs = this.views.map((view) => this.tab(view));
    this.themeButton = el('button', { type: 'button', class: 'small', onclick: () => this.theme.next() });
    const helpButton = el(
      'button',
      { type: 'button', class: 'small', title: 'All keys', 'aria-label': 'All keys', onclick: () => this.help.toggle() },
      '?',
    );
    this.shown = new Shown(this.page);
    this.header = new Header(this.page, [this.themeButton, helpButton], this.shown.element);
    this.overview = new Overview(this.page);
    this.threads = new Threads(this.page);
    this.search = new SearchBox(this.page, () => this.view.focus());
    this.legend = new Legend(this.page, highlight, () => this.schedule());
    this.keys = this.pageKeys();
    this.help = new Help(this.keyGroups());
    this.build();
    theme.changed = () => this.schedule();
    this.store.on(() => this.schedule());
    window.addEventListener('hashchange', () => this.onHash());
    document.addEventListener('keydown', (e) => this.onKey(e));
    measured('dnprof-render', () => this.render());
  }

  /** Those that have something to show. */
  private makeViews(): View[] {
    const { page, recording } = this;
    return [
      ...(recording.stacks || !recording.runs && !recording.told ? [new FlameView(page), new MethodsView(page), new CallTreeView(page)] : []),
      ...(page.answers.single ? [new ChartView(page)] : []),
      ...(recording.runs ? [new TimeLineView(page)] : []),
      ...(recording.events.some((e) => e.info.tables.length > 0) ? [new DetailsView(page)] : []),
    ];
  }

  /** Whether there are names, or marks, to look for. */
  private get searchable(): boolean {
    const { stacks, runs } = this.recording;
    return stacks || (runs !== null && runs.beside.marks.size > 0);
  }

  private build(): void {
    const { announcer, tooltip, menu } = this.page;
    const tabList = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Views' }, ...this.tabs);
    tabList.addEventListener('keydown', (e) => this.onTabKey(e));
    const bar = el('div', { class: 'bar-row' }, this.threadsToggle(), tabList, this.search.element);
    this.search.element.hidden = !this.searchable;
    this.legend.element.hidden = !this.recording.stacks;
    this.panel.append(...this.views.map((v) => v.element));
    this.body.append(this.threads.element, el('main', { class: 'main' }, bar, this.panel));
    this.host.replaceChildren(
      this.header.element, this.overview.element, this.body, this.legend.element,
      tooltip.element, menu.element, announcer.element, this.help.element,
    );
  }

  private tab(view: View): HTMLButtonElement {
    const onclick = () => this.store.set({ view: view.name });
    return el('button', { type: 'button', class: 'tab', role: 'tab', onclick }, view.title);
  }

  private threadsToggle(): HTMLButtonElement {
    const button = el(
      'button',
      {
        type: 'button', class: 'small', 'aria-expanded': 'true', 'aria-label': 'List of threads',
        title: 'Show or hide the list of threads', onclick: () => this.toggleThreads(button),
      },
      '◧',
    );
    return button;
  }

  private toggleThreads(button: HTMLButtonElement): void {
    const hidden = this.body.classList.toggle('without-threads');
    button.setAttribute('aria-expanded', String(!hidden));
  }

  /** Of what has no stacks its tables, whatever was looked at before. */
  private get view(): View {
    const { info } = this.recording.events[this.store.state.event]!;
    const details = isTold(info) && this.views.find((v) => v.name === 'details');
    if (details && STACKED.includes(this.store.state.view)) return details;
    return this.views.find((v) => v.name === this.store.state.view) ?? this.views[0]!;
  }

  private pageKeys(): Key[] {
    const { store } = this;
    const views = this.views.map((view, i): Key => ({
      keys: [String(i + 1)],
      label: String(i + 1),
      what: view.title.toLowerCase(),
      run: () => store.set({ view: view.name }),
    }));
    const search: Key = { keys: ['/'], label: '/', what: 'search; Esc clears it, Enter goes to the view', run: () => this.search.focus() };
    return [
      ...views,
      ...(this.searchable ? [search] : []),
      { keys: ['t'], label: 't', what: 'list of threads; Enter chooses, space adds, → opens', run: () => this.focusThreads() },
      { keys: ['T'], label: 'Shift t', what: 'all threads', run: () => store.set({ threads: null }) },
      { keys: ['w'], label: 'w', what: 'the whole time', run: () => store.set({ time: null }) },
      ...this.shownKeys(),
      { keys: ['d'], label: 'd', what: 'system colours, light, dark', run: () => this.theme.next() },
      { keys: ['?'], label: '?', what: 'this list', run: () => this.help.toggle() },
    ];
  }

  private shownKeys(): Key[] {
    const { shown, recording } = this;
    const native: Key = { keys: ['v'], label: 'v', what: 'native frames: all, leaf, none', run: () => shown.nextNative() };
    const event: Key = { keys: ['e'], label: 'e', what: 'the next event', run: () => shown.nextEvent() };
    const state: Key = { keys: ['s'], label: 's', what: 'all, running, waiting threads', run: () => shown.nextActivity() };
    return [
      ...(recording.events.length > 1 ? [event] : []),
      ...(recording.events.some((e) => e.waiting) ? [state] : []),
      ...(recording.stacks ? [native] : []),
    ];
  }

  private focusThreads(): void {
    this.body.classList.remove('without-threads');
    this.threads.focus();
  }

  private keyGroups(): KeyGroup[] {
    const strip: Key[] = [
      { keys: [], label: '← →', what: 'move the range' },
      { keys: [], label: 'Shift ← →', what: 'move its end' },
      { keys: [], label: '+ −', what: 'shorter, longer' },
      { keys: [], label: 'Esc', what: 'the whole time' },
    ];
    return [
      { title: 'Everywhere', keys: this.keys },
      ...this.views.map((v) => ({ title: v.title, keys: v.keys })),
      { title: 'Time strip', keys: strip },
    ];
  }

  private onKey(event: KeyboardEvent): void {
    const inField = event.target instanceof HTMLElement && event.target.matches('input, select, textarea');
    if (event.defaultPrevented || inField || event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.help.element.open && event.key !== '?') return;
    const key = [...this.keys, ...this.view.keys].find((k) => k.run && k.keys.includes(event.key));
    if (!key) return;
    event.preventDefault();
    key.run!(event);
  }

  private onTabKey(event: KeyboardEvent): void {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const at = this.views.indexOf(this.view) + step;
    const next = (at + this.views.length) % this.views.length;
    this.store.set({ view: this.views[next]!.name });
    this.tabs[next]!.focus();
    event.preventDefault();
  }

  private onHash(): void {
    const hash = location.hash.replace(/^#/, '');
    if (hash !== toHash(this.store.state, this.recording)) this.store.set(fromHash(hash, this.recording));
  }

  private async copy(text: string): Promise<void> {
    const done = await copyText(text);
    this.page.announcer.say(done ? `Copied ${text}` : 'The browser does not allow copying');
  }

  /** Many changes before the next frame are one picture. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      measured('dnprof-render', () => this.render());
    });
  }

  private render(): void {
    const { state } = this.store;
    const before = this.drawn;
    this.drawn = state;
    if (before && onlyMoved(before, state)) this.view.render(state);
    else this.renderAll(state);
    this.keepHash();
  }

  private renderAll(state: State): void {
    this.showView();
    for (const part of [this.header, this.shown, this.overview, this.threads, this.search, this.legend]) part.render(state);
    this.view.render(state);
    setText(this.themeButton, THEME_NAMES[this.theme.name]);
  }

  private showView(): void {
    const { view } = this;
    this.views.forEach((v, i) => {
      v.element.hidden = v !== view;
      this.tabs[i]!.setAttribute('aria-selected', String(v === view));
      this.tabs[i]!.tabIndex = v === view ? 0 : -1;
    });
    this.panel.setAttribute('aria-label', view.title);
    const { title } = this.recording.meta;
    document.title = `${printable(title) || 'recording'} – dnprof`;
  }

  /** Browsers refuse a page that changes its address all the time, as a drag would. */
  private keepHash(): void {
    clearTimeout(this.hashTimer);
    this.hashTimer = setTimeout(() => {
      const hash = toHash(this.store.state, this.recording);
      if (hash !== location.hash.replace(/^#/, '')) history.replaceState(null, '', `#${hash}`);
    }, HASH_DELAY_MS);
  }
}
