// SPDX-License-Identifier: MIT

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

const page: string = await (await import(new URL('../../build.mjs', import.meta.url).href)).buildPage();

const sha = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const inner = (tag: string) => new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(page)![1]!;

test('the page allows its own script and style, and nothing else', () => {
  const csp = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)![1]!;
  assert.equal(
    csp,
    `default-src 'none'; script-src ${sha(inner('script'))}; style-src ${sha(inner('style'))}; base-uri 'none'; form-action 'none'`,
  );
});

test('each marker is there once, where the exporter puts its data', () => {
  for (const marker of ['@DNPROF_META@', '@DNPROF_DATA@']) assert.equal(page.split(marker).length, 2);
  assert.match(page, /<script id="dnprof-meta" type="application\/json">@DNPROF_META@<\/script>/);
  assert.match(page, /<script id="dnprof-data" type="text\/plain">@DNPROF_DATA@<\/script>/);
});

test('nothing is asked of the network, and no attribute is a script', () => {
  assert.doesNotMatch(page, /https?:\/\//);
  assert.doesNotMatch(page, /<[^>]+\son\w+=/);
  assert.doesNotMatch(page, /<(link|iframe|img|object)\b/);
});
