// SPDX-License-Identifier: MIT

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromHash, toHash } from '../src/model/hash.ts';
import { INITIAL, Store } from '../src/model/selection.ts';
import { TimeWindow } from '../src/model/window.ts';
import { highestOver, tickLabel, tickStep } from '../src/ui/overview.ts';
import { load, state } from './helpers.ts';
import { random, server, shop } from '../tools/sample.mjs';
import { trace } from '../tools/sample-trace.mjs';

const recording = load(shop());

test('a change is told to all who listen', () => {
  const store = new Store();
  const seen: string[] = [];
  store.on((s) => seen.push(s.search));
  store.on((s) => seen.push(s.search.toUpperCase()));
  store.set({ search: 'x' });
  assert.deepEqual(seen, ['x', 'X']);
  assert.equal(INITIAL.search, '');
});

test('turning the tree round drops a focus that means nothing in the other', () => {
  const store = new Store(state({ focus: [1, 2] }));
  store.set({ collapse: true });
  assert.deepEqual(store.state.focus, [1, 2]);
  store.set({ reverse: false });
  assert.deepEqual(store.state.focus, [1, 2]);
  store.set({ reverse: true });
  assert.deepEqual(store.state.focus, []);
  store.set({ reverse: false, focus: [3] });
  assert.deepEqual(store.state.focus, [3]);
});

test('an address brings back the same state', () => {
  const full = state({
    time: { from: 1234, to: 5_678_901 }, threads: [0, 2, 5], search: 'a&b=#%<', regex: true, only: true, reverse: true,
    activity: 'running', native: 'leaf', collapse: true, focus: [1, 40, 7], method: 12, view: 'methods', flames: true, order: 'name',
  });
  assert.deepEqual(fromHash(`#${toHash(full, recording)}`, recording), full);
  assert.equal(toHash(state(), recording), '');
  assert.deepEqual(fromHash('', recording), INITIAL);
});

test('a page begins with what it was written with, and its address says only what is other', () => {
  const sample = server();
  const begun = load({ ...sample, meta: { ...sample.meta, begin: { event: 'wall', native: 'none', state: 'running' } } });
  const first = fromHash('', begun);
  assert.deepEqual([first.event, first.native, first.activity], [1, 'none', 'running']);
  assert.equal(toHash(first, begun), '');
  const other = { ...first, event: 0, native: 'all', activity: 'any' } as const;
  assert.equal(toHash(other, begun), 'event=cpu&state=any&native=all');
  assert.deepEqual(fromHash(toHash(other, begun), begun), other);
  const odd = load({ ...sample, meta: { ...sample.meta, begin: { event: 'x', native: 7, state: 'asleep' } } });
  assert.deepEqual(fromHash('native=some&state=', odd), INITIAL);
});

test('an address that does not fit is as if it were not there', () => {
  const hash = 'event=nope&ms=9-2&threads=0.99&focus=zzzzzz&method=-1&order=x&callers=yes';
  assert.deepEqual(fromHash(hash, recording), INITIAL);
  const next = random(3);
  for (let i = 0; i < 200; i++) {
    const junk = Array.from({ length: 40 }, () => String.fromCharCode(32 + next() * 95)).join('');
    assert.ok(fromHash(`ms=${junk}&threads=${junk}&focus=${junk}&method=${junk}`, recording));
  }
});

test('a range in an address ends where the recording does, and there is none behind that', () => {
  const { duration_ns, time_unit_ns } = recording.meta;
  const time = (ms: string) => fromHash(`ms=${ms}`, recording).time;
  const last = Math.max(duration_ns / time_unit_ns, recording.events[0]!.time.at(-1)! + 1);
  assert.deepEqual(time('2000-99999999'), { from: 2e9 / time_unit_ns, to: last });
  assert.deepEqual(time(`0-${'9'.repeat(400)}`), { from: 0, to: last });
  for (const none of ['99999998-99999999', '9-2', '5-5', '-5-10', '5--10', 'NaN-NaN', '1.2.3-9', '1-', '.-9'])
    assert.equal(time(none), null, none);
  // Single calls may have ended later.
  const calls = load(trace({ requests: 6 }));
  const end = calls.events[0]!.calls!.lanes!.end.reduce((a, b) => Math.max(a, b), 0);
  const before = load({ ...trace({ requests: 6 }), meta: { ...trace({ requests: 6 }).meta, duration_ns: 1000 } });
  assert.ok(fromHash(`ms=0-${end / 1e6}`, before).time!.to * before.meta.time_unit_ns >= end);
});

test('ticks stand at round times with room between them', () => {
  assert.equal(tickStep(10e9, 1000, 90), 1e9);
  assert.equal(tickStep(10e9, 400, 90), 5e9);
  assert.equal(tickStep(60e9, 1400, 90), 5e9);
  for (const length of [1, 17, 1e3, 12_345, 1e12])
    for (const width of [300, 1000, 2500]) {
      const step = tickStep(length, width, 90);
      assert.ok((step * width) / length >= 89.999 && (step * width) / length <= 900 * 1.001);
    }
});

test('no two ticks read the same, however long the recording is', () => {
  assert.deepEqual([0, 1200e9, 3900e9].map((t) => tickLabel(t, 300e9, 7200e9)), ['0:00:00', '0:20:00', '1:05:00']);
  assert.equal(tickLabel(630.5e9, 0.5e9, 900e9), '10:30.5');
  assert.equal(tickLabel(31 * 3600e9, 3600e9, 40 * 3600e9), '31:00:00');
  assert.deepEqual([0, 1e9, 1.5e9, 25.05e9, 599.5e9].map((t) => tickLabel(t, 0.05e9, 599.6e9)), ['0 s', '1 s', '1.5 s', '25.05 s', '599.5 s']);
  assert.deepEqual([500e3, 999.5e3, 1e6].map((t) => tickLabel(t, 500, 2e6)), ['500 µs', '999.5 µs', '1 ms']);
  for (const length of [1000, 2e6, 90e6, 1e9, 30e9, 599e9, 601e9, 3599e9, 3600e9, 9000e9, 86_400e9, 3e15])
    for (const part of [1, 1 / 7, 1 / 50])
      for (const width of [300, 1000, 2500]) {
        const from = length * (1 - part);
        const step = tickStep(length * part, width, 90);
        const labels = [];
        for (let k = Math.ceil(from / step); k * step < length; k++) labels.push(tickLabel(k * step, step, length));
        assert.equal(new Set(labels).size, labels.length, `${length} ${part} ${width}: ${labels.join(', ')}`);
      }
});

test('ticks of minutes and hours stand at such', () => {
  const minute = 60e9;
  const steps = [10, 30, 90, 150, 700, 1500, 3000].map((minutes) => tickStep(minutes * minute, 1000, 90) / minute);
  assert.deepEqual(steps, [1, 5, 10, 20, 120, 180, 360]);
  assert.equal(tickStep(30 * 1440 * minute, 1000, 90) / minute, 5 * 1440);
});

test('the highest of a strip is that of some neighbours together', () => {
  const values = Float64Array.from([0, 6, 0, 3, 3, 0]);
  assert.equal(highestOver(values, 1), 6);
  assert.equal(highestOver(values, 2), 3);
  assert.equal(highestOver(values, 4), 3);
  assert.equal(highestOver(values, 100), 2);
  assert.equal(highestOver(new Float64Array(0), 3), 0);
});

test('a range that was drawn beyond what there is ends where that does', () => {
  const store = new Store();
  const window = new TimeWindow(store, 10, () => ({ from: 0, to: 1000 }));
  const counted = (from: number, to: number) => {
    window.count({ from, to });
    return window.range(store.state);
  };
  assert.deepEqual(counted(-500, 300.5), { from: 0, to: 301 });
  assert.deepEqual(counted(200, 2000), { from: 200, to: 1000 });
  assert.deepEqual(counted(1200, 2000), { from: 999, to: 1000 });
  assert.deepEqual(counted(-9, -5), { from: 0, to: 1 });
});
