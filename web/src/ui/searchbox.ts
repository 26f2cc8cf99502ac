// SPDX-License-Identifier: MIT
// What to look for, and how many of the samples it is part of, where there are any.

import { count, percent } from '../model/format.ts';
import type { State } from '../model/selection.ts';
import { el, setPressed, setText, toggle } from './dom.ts';
import type { Page } from './page.ts';

export class SearchBox {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly regex: HTMLButtonElement;
  private readonly only: HTMLButtonElement;
  private readonly share = el('output', { class: 'share', 'aria-live': 'polite' });

  constructor(private readonly page: Page, private readonly leave: () => void) {
    const { store } = page;
    const { stacks, runs } = page.recording;
    const what = `Search ${[stacks && 'names', runs && runs.beside.marks.size > 0 && 'marks'].filter(Boolean).join(', ')}`;
    this.input = el('input', {
      type: 'search', placeholder: what, 'aria-label': what, spellcheck: 'false',
      oninput: () => store.set({ search: this.input.value }),
      onkeydown: (e: KeyboardEvent) => this.onKey(e),
    });
    this.regex = toggle('.*', 'Search is a regular expression', () => store.set({ regex: !store.state.regex }));
    this.regex.setAttribute('aria-label', 'Regular expression');
    const only = () => store.set({ only: !store.state.only });
    this.only = toggle('Only', 'Count only samples whose stack has a match', only);
    const field = el('div', { class: 'search-field' }, this.input, this.regex, this.only);
    this.only.hidden = !page.recording.stacks;
    this.element = el('div', { class: 'search', role: 'search' }, this.share, field);
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key === 'Enter') this.leave();
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    if (this.input.value !== '') this.page.store.set({ search: '', only: false });
    else this.leave();
  }

  render(state: State): void {
    if (this.input.value !== state.search) this.input.value = state.search;
    setPressed(this.regex, state.regex);
    setPressed(this.only, state.only);
    const { answers } = this.page;
    const matches = answers.matches(state);
    this.input.setAttribute('aria-invalid', String(matches?.error != null));
    this.share.title = matches?.error ?? 'Share of the samples with a match anywhere on their stack, each counted once';
    if (!matches) setText(this.share, '');
    else if (matches.error !== null) setText(this.share, 'Not a regular expression');
    else setText(this.share, this.page.recording.stacks ? this.shareText(state, matches.count) : '');
  }

  private shareText(state: State, frames: number): string {
    const matched = this.page.answers.matched(state);
    const { sum } = this.page.answers.weights(state);
    return `${percent(matched, sum)} · ${count(frames)} ${frames === 1 ? 'name' : 'names'}`;
  }
}
