// SPDX-License-Identifier: MIT
// Marks of the program and who woke whom: what is read, found in time, and searched for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countMarks, countWakes, firstMark, marksIn, saidIn, wakeIn } from '../src/data/beside.ts';
import { DataError } from '../src/data/meta.ts';
import { taken } from '../src/model/format.ts';
import { findMarks } from '../src/model/search.ts';
import { random } from '../tools/sample.mjs';
import { runsOf, threads as sampleThreads } from '../tools/sample-runs.mjs';
import { load } from './helpers.ts';

const DURATION_NS = 10_000_000;
const meta = (n: number) => ({
  duration_ns: DURATION_NS, processes: [{ pid: 1, name: 'app', command: ['app'], runtime: '', start_ns: 0, duration_ns: DURATION_NS }],
  threads: Array.from({ length: n }, (_, t) => ({ process: 0, tid: 100 + t, name: `t${t}` })),
});
type Options = Parameters<typeof runsOf>[2];
const besideOf = (threads: number, options: Options) => load(runsOf(Array.from({ length: threads }, () => ({ slices: [] })), meta(threads), options)).runs!.beside;

const WAKERS = [{ thread: 0, pid: 1, tid: 100 }, { thread: -1 }, { thread: -1, pid: 70, tid: 71, name: 'other\u202e' }];

test('spans have a length, and are said wherever they reach', () => {
  const beside = besideOf(2, { marks: [[1, 100, 'order', 50], [1, 120, 'now'], [0, 100, 'other', 900]] });
  assert.deepEqual(beside.marks.get(1)!.map((m) => m.length), [50, 0]);
  assert.deepEqual(saidIn(beside, 1, { from: 130, to: 140 }).map((m) => m.text), ['order']);
  assert.deepEqual(saidIn(beside, 1, { from: 110, to: 120 }).map((m) => m.text), ['order', 'now']);
  assert.deepEqual(beside.marks.get(1)!.map((m) => m.open), [false, false]);
  assert.deepEqual(saidIn(beside, 1, { from: 151, to: 200 }), []);
});

test('a span that had not ended is told from one that ended last', () => {
  const own = besideOf(1, { marks: [[0, 100, 'order', 50], [0, 120, 'open', 30, true], [0, 150, 'just begun', 0, true]] }).marks.get(0)!;
  assert.deepEqual(own.map((m) => [m.length, m.open]), [[50, false], [30, true], [0, true]]);
  assert.deepEqual(own.map(taken), ['50 ns', '30 ns, no end recorded', '0 s, no end recorded']);
});

test('marks are each thread\'s, in order of time', () => {
  const beside = besideOf(3, { marks: [[2, 500, 'b'], [0, 90, 'first'], [2, 100, 'a\n'], [2, 500, 'c']] });
  assert.equal(countMarks(beside.marks), 4);
  assert.deepEqual(beside.marks.get(2)!.map((m) => [m.time, m.text]), [[100, 'a\ufffd'], [500, 'b'], [500, 'c']]);
  assert.equal(beside.marks.get(1), undefined);
  assert.deepEqual(marksIn(beside, 2, { from: 101, to: 500 }).map((m) => m.text), ['b', 'c']);
  assert.deepEqual(marksIn(beside, 2, { from: 501, to: 900 }), []);
  assert.deepEqual(marksIn(beside, 1, { from: 0, to: 900 }), []);
});

test('marks in any part of the time are those that a look at each finds', () => {
  const next = random(9);
  const pick = (n: number) => Math.floor(next() * n);
  const marks = Array.from({ length: 300 }, (_, i): [number, number, string] => [pick(4), pick(1000), `m${i}`]);
  const beside = besideOf(4, { marks });
  for (let i = 0; i < 200; i++) {
    const [thread, from] = [pick(4), pick(1000)];
    const to = from + pick(200);
    const expected = marks.filter(([t, time]) => t === thread && time >= from && time <= to);
    assert.deepEqual(marksIn(beside, thread, { from, to }).map((m) => m.text).sort(), expected.map((m) => m[2]).sort());
    const own = beside.marks.get(thread)!;
    assert.equal(firstMark(own, from), own.filter((m) => m.time < from).length);
  }
});

test('the last wake-up in a part of the time counts, and tells who it was', () => {
  const beside = besideOf(3, { wakers: WAKERS, wakes: [[1, 5000, 0], [1, 300, 2], [2, 10, 1], [1, 4000, 2]] });
  assert.equal(countWakes(beside.wakes), 4);
  const by = (thread: number, from: number, to: number) => wakeIn(beside, thread, { from, to });
  assert.deepEqual(by(1, 3000, 6000), { time: 5000, by: { thread: 0, pid: 1, tid: 100, name: '' } });
  assert.deepEqual(by(1, 300, 300), { time: 300, by: { thread: null, pid: 70, tid: 71, name: 'other\ufffd' } });
  assert.deepEqual(by(2, 0, 99)!.by, { thread: null, pid: 0, tid: 0, name: '' });
  assert.deepEqual([by(1, 301, 3999), by(0, 0, 9999), by(2, 11, 99)], [null, null, null]);
});

test('marks are searched for by a part of their text, or a regular expression', () => {
  const { marks } = besideOf(2, { marks: [[0, 1, 'Order 12'], [0, 2, 'order 3.'], [1, 3, 'done']] });
  const found = (text: string, regex = false) => [...(findMarks(marks, text, regex) ?? [])].flatMap(([, own]) => own.map((m) => m.text));
  assert.equal(findMarks(marks, '', false), null);
  assert.deepEqual(found('ORDER'), ['Order 12', 'order 3.']);
  assert.deepEqual(found('3.'), ['order 3.']);
  assert.deepEqual(found('^.o', true), ['done']);
  assert.deepEqual(found('(', true), []);
});

test('pages without them, and those that have the first ones only', () => {
  const without = load(sampleThreads());
  assert.equal(without.runs!.beside.marks.size + without.runs!.beside.wakes.size, 0);
  const { runs } = load(sampleThreads({ beside: true, told: { marks: 7000 } }));
  assert.equal(runs!.info.switches!.marks, 7000);
  assert.equal(runs!.info.switches!.wakes, countWakes(runs!.beside.wakes));
  assert.ok(countWakes(runs!.beside.wakes) > 100);
});

test('damaged marks and wake-ups are refused', () => {
  const sample = sampleThreads({ beside: true, workers: 2 });
  const damage = (name: string, change: (data: Uint8Array | Uint32Array | Float32Array) => void) =>
    assert.throws(() => load(sample, (n, data) => n === `switch.${name}` && change(data)), DataError, name);
  damage('marks.thread', (d) => (d[0] = 1000));
  damage('marks.text', (d) => (d[0] = 1000));
  damage('marks.times', (d) => (d[d.length - 1] = 128));
  damage('strings', (d) => (d[d.length - 1] = 65));
  damage('wakers.thread', (d) => (d[0] = 1000));
  damage('wakers.name', (d) => (d[0] = 1000));
  damage('wakes.thread', (d) => (d[0] = 1000));
  damage('wakes.by', (d) => (d[0] = 1000));
  damage('wakes.times', (d) => (d[d.length - 1] = 128));
});
