// SPDX-License-Identifier: MIT
// What a view is, and what the page gives it. A view shows one selection in its own way and changes
// it through the store; it knows no other view.

import type { Recording } from '../data/recording.ts';
import type { Answers } from '../model/answers.ts';
import type { State, Store } from '../model/selection.ts';
import type { Announcer } from '../ui/dom.ts';
import type { Menu } from '../ui/menu.ts';
import type { Colors } from '../ui/theme.ts';
import type { Tooltip } from '../ui/tooltip.ts';

export interface Page {
  readonly recording: Recording;
  readonly answers: Answers;
  readonly store: Store;
  readonly announcer: Announcer;
  readonly tooltip: Tooltip;
  readonly menu: Menu;
  readonly colors: () => Colors;
  /** A kind of code to bring out, or null. */
  readonly highlightedKind: () => number | null;
  copy(text: string): void;
}

export interface Key {
  /** Values of KeyboardEvent.key. */
  readonly keys: readonly string[];
  readonly label: string;
  readonly what: string;
  run?(event: KeyboardEvent): void;
}

export interface View {
  /** In the address of the page. */
  readonly name: string;
  /** On its tab. */
  readonly title: string;
  readonly element: HTMLElement;
  /** What the keyboard does in this view; those with `run` work anywhere on the page. */
  readonly keys: readonly Key[];
  render(state: State): void;
  /** Gives the keyboard to what the view is about. */
  focus(): void;
}
