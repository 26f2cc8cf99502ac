// SPDX-License-Identifier: MIT

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Answers } from '../src/model/answers.ts';
import { Counted } from '../src/model/cells.ts';
import { KINDS } from '../src/model/kinds.ts';
import { ACTIVITIES, type State } from '../src/model/selection.ts';
import { NATIVES } from '../src/data/trie.ts';
import { random } from '../tools/sample.mjs';
import { chosen, DURATION, randomSamples, record, state, sum, THREADS, without, type Sample } from './helpers.ts';

const BINS = 20;

/** Many samples in few stacks, as programs have them; `waits`: threads run and wait. */
function repeated(seed: number, waits: boolean, count = 2000): Sample[] {
  const next = random(seed);
  const stacks = randomSamples(seed, 12).map((x) => x.stack);
  return randomSamples(seed + 100, count).map((x) => {
    const again = { ...x, stack: stacks[Math.floor(next() * stacks.length)]! };
    return waits ? { ...again, waiting: next() < 0.4 } : again;
  });
}

function randomState(next: () => number): State {
  const pick = (n: number) => Math.floor(next() * n);
  const from = pick(DURATION);
  return state({
    time: next() < 0.3 ? null : { from, to: from + 1 + pick(DURATION - from) },
    threads: next() < 0.4 ? null : Array.from({ length: THREADS }, (_, t) => t).filter(() => next() < 0.6),
    activity: ACTIVITIES[pick(3)]!,
    native: NATIVES[pick(3)]!,
    search: ['a()', 'b()', 'lib', 'native', 'no such name'][pick(5)]!,
    only: next() < 0.5,
  });
}

function checkWeights(answers: Answers, samples: readonly Sample[], s: State): void {
  const { recording } = answers;
  const { byThread, waitingByThread } = answers.weights(s);
  const anyThread = chosen(samples, { ...s, threads: null });
  for (let t = 0; t < THREADS; t++) {
    const own = anyThread.filter((x) => x.thread === t);
    assert.equal(byThread[t], sum(own));
    if (waitingByThread) assert.equal(waitingByThread[t], sum(own.filter((x) => x.waiting)));
  }
  const known = waitingByThread !== null && s.activity !== 'any';
  const expected = chosen(samples, s).filter((x) => !known || x.waiting === (s.activity === 'waiting'));
  const { self, total, waiting } = answers.methods(s);
  for (let f = 1; f < recording.frames; f++) {
    const name = recording.name(f);
    const through = expected.filter((x) => x.stack.includes(name));
    assert.equal(self[f], sum(expected.filter((x) => x.stack.at(-1) === name)), `self of ${name}`);
    assert.equal(total[f], sum(through), `total of ${name}`);
    if (waiting) assert.equal(waiting.total[f], sum(through.filter((x) => x.waiting)), `${name} waiting`);
  }
}

/** Of events whose samples are of a moment. */
function checkHistogram(answers: Answers, samples: readonly Sample[], s: State): void {
  const found = (list: readonly Sample[]) => {
    const bins = new Float64Array(BINS);
    for (const x of list) bins[Math.floor((x.time * BINS) / DURATION)]! += x.weight;
    return bins;
  };
  const { values } = answers.histogram(s, BINS);
  const heights = found([]).map((_, bin) => values.subarray(bin * KINDS.length, (bin + 1) * KINDS.length).reduce((a, b) => a + b, 0));
  assert.deepEqual(heights, found(chosen(samples, { ...s, time: null })));
  assert.deepEqual(answers.matchedHistogram(s, BINS), found(chosen(samples, { ...s, time: null, only: true })));
}

for (let seed = 1; seed <= 4; seed++) {
  const waits = seed % 2 === 0;
  test(`counted by cell as sample by sample, seed ${seed}`, () => {
    const samples = repeated(seed, waits);
    const answers = new Answers(record(samples), 1);
    assert.ok(new Counted(answers.recording.events[0]!, 1).cells);
    const next = random(seed + 200);
    for (let i = 0; i < 60; i++) {
      const s = randomState(next);
      const shown = samples.map((x) => ({ ...x, stack: without(x.stack, s.native) }));
      checkWeights(answers, shown, s);
      if (!waits) checkHistogram(answers, shown, s);
    }
  });
}

test('bins of samples that stand for spans of time are the same by cell', () => {
  const recording = record(repeated(5, true), { interval_ns: 30_000 });
  const [byCell, bySample] = [new Answers(recording, 1), new Answers(recording, Infinity)];
  const next = random(6);
  for (let i = 0; i < 40; i++) {
    const s = randomState(next);
    assert.deepEqual(byCell.histogram(s, BINS), bySample.histogram(s, BINS));
    assert.deepEqual(byCell.matchedHistogram(s, BINS), bySample.matchedHistogram(s, BINS));
  }
});

test('a long range of time has far fewer cells than samples, a short one its samples', () => {
  const samples = repeated(7, true, 20_000);
  const { events } = record(samples);
  const counted = new Counted(events[0]!, 1);
  const whole = counted.in(null);
  assert.ok(whole.end - whole.first <= 12 * THREADS * 2);
  assert.equal(Float64Array.from(whole.weight).reduce((a, b) => a + b, 0), sum(samples));
  const short = counted.in({ from: 500, to: 502 });
  assert.equal(short.columns, events[0]);
  assert.equal(short.end - short.first, samples.filter((x) => x.time === 500 || x.time === 501).length);
});

test('a range is added up once, and a new one anew', () => {
  const samples = repeated(8, false);
  const counted = new Counted(record(samples).events[0]!, 1);
  const part = counted.in({ from: 100, to: 900 });
  assert.equal(counted.in({ from: 100, to: 900 }), part);
  const other = counted.in({ from: 100, to: 800 });
  assert.equal(Float64Array.from(other.weight).reduce((a, b) => a + b, 0), sum(samples.filter((x) => x.time >= 100 && x.time < 800)));
});

test('few samples, or nearly as many cells, are counted one by one', () => {
  const few = record(repeated(9, false)).events[0]!;
  assert.equal(new Counted(few).cells, null);
  assert.equal(new Counted(few).in(null).columns, few);
  const different = record(randomSamples(9, 400)).events[0]!;
  assert.equal(new Counted(different, 1).cells, null);
  assert.equal(new Counted(record(randomSamples(9, 1)).events[0]!, 1).cells, null);
  assert.equal(new Counted(record([]).events[0]!, 1).cells, null);
});

test('weights of a cell may be more than 32 bits hold', () => {
  const heavy = Array.from({ length: 8 }, (_, i) => ({ time: i, thread: 0, weight: 2 ** 31, stack: ['A.a()'] }));
  assert.equal(new Answers(record(heavy), 1).weights(state()).sum, 2 ** 34);
});
