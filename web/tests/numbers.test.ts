// SPDX-License-Identifier: MIT
// Numbers of a recording mean on the page what they mean to who writes it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BUCKETS } from '../src/data/calls.ts';
import { CODE, HOW } from '../src/data/numbers.ts';
import { WAIT_KINDS } from '../src/data/waits.ts';
import { KINDS } from '../src/model/kinds.ts';
import * as runs from '../tools/sample-runs.mjs';
import * as samples from '../tools/sample.mjs';

const header = (path: string) => readFileSync(new URL(`../../../src/${path}`, import.meta.url), 'utf8');

/** Names and numbers of an enum that is written in C, all with their number. */
function enumOf(path: string, name: string, prefix: string): Record<string, number> {
  const body = new RegExp(`enum ${name} \\{([^}]*)\\}`).exec(header(path))![1]!;
  const found = [...body.matchAll(new RegExp(`${prefix}(\\w+) = (\\d+)`, 'g'))];
  return Object.fromEntries(found.map(([, key, number]) => [key!.toLowerCase(), Number(number)]));
}

const numbered = (list: readonly { name: string }[]) => Object.fromEntries(list.map(({ name }, i) => [name.toLowerCase(), i]));

test('kinds of code, ends of slices and kinds of waits have their numbers', () => {
  assert.deepEqual(CODE, enumOf('aggregate/profile.h', 'dnp_code', 'DNP_CODE_'));
  assert.deepEqual(HOW, enumOf('format/slice_codec.h', 'dnp_slice_end', 'DNP_SLICE_'));
  assert.deepEqual(numbered(WAIT_KINDS), enumOf('format/rec.h', 'dnp_wait_kind', 'DNP_WAIT_'));
  assert.equal(BUCKETS, Number(/DNP_DURATION_BUCKETS (\d+)u/.exec(header('export/lanes.h'))![1]));
});

test('what is drawn, and recordings that are made up, have the same', () => {
  assert.deepEqual(numbered(KINDS), CODE);
  assert.deepEqual(samples.CODE, CODE);
  assert.deepEqual(runs.HOW, HOW);
});
