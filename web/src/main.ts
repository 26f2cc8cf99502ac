// SPDX-License-Identifier: MIT
// Reads the recording in the page and shows it, or says in plain words why that cannot be done.

import { App } from './app.ts';
import { DataError, parseMeta } from './data/meta.ts';
import { Recording } from './data/recording.ts';
import { el } from './ui/dom.ts';
import { ThemeSwitch } from './ui/theme.ts';

// Before anything is drawn, and also for a page that can only show a message.
const theme = new ThemeSwitch();

function block(id: string): string {
  const text = document.getElementById(id)?.textContent?.trim() ?? '';
  if (text === '') throw new DataError('This page is cut off: it holds no recording.');
  return text;
}

function fail(host: HTMLElement, error: unknown): void {
  const known = error instanceof DataError;
  const message = known ? error.message : `The page's own program failed: ${String(error)}`;
  if (!known) console.error(error);
  host.replaceChildren(
    el(
      'div', { class: 'failure', role: 'alert' },
      el('h1', {}, 'This recording cannot be shown'), el('p', {}, message),
      el('p', { class: 'facts' }, 'The recording it was made from may still be whole: export it again with dnprof.'),
    ),
  );
}

async function main(): Promise<void> {
  const host = document.getElementById('app')!;
  try {
    const meta = parseMeta(block('dnprof-meta'));
    const recording = await Recording.unpack(meta, block('dnprof-data'));
    document.getElementById('dnprof-data')!.textContent = '';
    new App(recording, host, theme);
    performance.measure('dnprof-open', { start: 0, end: performance.now() });
  } catch (error) {
    fail(host, error);
  }
}

// The data stands below this script, so that a page that was cut off can still say so.
document.addEventListener('DOMContentLoaded', () => void main());
