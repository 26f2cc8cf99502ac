// SPDX-License-Identifier: MIT
// What the page gives its parts, and what they tell it of their keys.

import type { Recording } from '../data/recording.ts';
import type { Answers } from '../model/answers.ts';
import type { Store } from '../model/selection.ts';
import type { Announcer } from './dom.ts';
import type { Menu } from './menu.ts';
import type { Colors } from './theme.ts';
import type { Tooltip } from './tooltip.ts';

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
