// SPDX-License-Identifier: MIT
// Opens any page of dnprof in a browser, says as JSON what it shows, and takes its picture.
//   node tests/browser/check-page.mjs FILE [--shot PNG] [--state HASH] [--scheme light|dark] [--size 1440x900]
// Exit status 1 if the page cannot show its recording or does anything it must not.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { close, open } from './page.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    shot: { type: 'string' },
    state: { type: 'string', default: '' },
    scheme: { type: 'string', default: 'light' },
    size: { type: 'string', default: '1440x900' },
  },
});
if (positionals.length !== 1) {
  console.error('check-page: one page, please: check-page.mjs FILE [--shot PNG] [--state HASH] [--scheme dark]');
  process.exit(2);
}

const [width, height] = values.size.split('x').map(Number);
const { page, done } = await open(resolve(positionals[0]), { width, height, scheme: values.scheme, hash: values.state });
// Counts in words of the page, so that they are what a user sees.
const shown = await page.evaluate(() => {
  const text = (selector) => document.querySelector(selector)?.textContent.trim() ?? null;
  const number = (s) => Number(s.replace(/,/g, ''));
  const stats = [...document.querySelectorAll('.stat')].map((s) => [s.querySelector('dt').textContent, number(s.querySelector('dd').textContent)]);
  return {
    title: text('h1'),
    command: text('.command'),
    failure: document.querySelector('.failure')?.innerText ?? null,
    ...Object.fromEntries(stats),
    problems: [...document.querySelectorAll('.problems li')].map((p) => p.textContent),
    threads: number(/[\d,]+(?= threads|\))/.exec(text('.threads h2') ?? '0)')[0]),
    event: text('.event select') === null ? null : (document.querySelector('.event select').value || text('.event-name')),
    note: text('.event-note'),
    event_facts: text('.event-facts'),
    selected: text('.focus-share'),
    search_share: text('.share'),
    kinds: Object.fromEntries([...document.querySelectorAll('.legend-item')].map((k) => [k.childNodes[1].textContent, k.lastChild.textContent])),
    open_ms: Math.round(performance.getEntriesByName('dnprof-open')[0]?.duration ?? -1),
  };
});
if (values.shot) await page.screenshot({ path: values.shot });
const wrong = await done();
await close();
console.log(JSON.stringify({ ...shown, wrong }, null, 2));
process.exit(shown.failure || wrong.length > 0 ? 1 : 0);
