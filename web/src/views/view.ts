// SPDX-License-Identifier: MIT
// What a view is. It shows one selection in its own way and changes it through the store; it knows no
// other view.

import type { State } from '../model/selection.ts';
import type { Key } from '../ui/page.ts';

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
