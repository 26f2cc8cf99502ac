// SPDX-License-Identifier: MIT

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Answers } from '../src/model/answers.ts';
import { lowerBound } from '../src/model/wanted.ts';
import { KINDS } from '../src/model/kinds.ts';
import { findPools, MANY } from '../src/model/pools.ts';
import { CODE } from '../src/data/numbers.ts';
import { random } from '../tools/sample.mjs';
import {
  chosen, DURATION, dump, expectedTree, frameOf, randomSamples, record, sorted, state, sum, THREADS, without,
} from './helpers.ts';

const SELECTIONS = [
  {},
  { time: { from: 100, to: 420 } },
  { threads: [1, 3] },
  { time: { from: 300, to: 900 }, threads: [0] },
  { search: 'b()', only: true },
  { search: '^(A|lib)', regex: true, only: true, threads: [0, 1, 2] },
  { search: 'no such name', only: true },
];

for (let seed = 1; seed <= 4; seed++) {
  const samples = randomSamples(seed);
  const recording = record(samples);
  const answers = new Answers(recording);

  test(`self, total and recursion as counted sample by sample, seed ${seed}`, () => {
    for (const patch of SELECTIONS) {
      const s = state(patch);
      const expected = chosen(samples, s);
      assert.equal(answers.weights(s).sum, sum(expected));
      const { self, total } = answers.methods(s);
      for (let f = 1; f < recording.frames; f++) {
        const name = recording.name(f);
        assert.equal(self[f], sum(expected.filter((x) => x.stack.at(-1) === name)), `self of ${name}`);
        assert.equal(total[f], sum(expected.filter((x) => x.stack.includes(name))), `total of ${name}`);
      }
    }
  });

  test(`the share of a search counts each sample once, seed ${seed}`, () => {
    for (const [search, regex] of [['a', false], ['A.', false], ['^B|f$', true], ['zzz', false]] as const) {
      const s = state({ search, regex, time: { from: 50, to: 800 } });
      const pattern = regex ? new RegExp(search, 'i') : new RegExp(search.replace('.', '\\.'), 'i');
      const inTime = samples.filter((x) => x.time >= 50 && x.time < 800);
      assert.equal(answers.matched(s), sum(inTime.filter((x) => x.stack.some((n) => pattern.test(n)))));
    }
  });

  test(`threads are counted whether chosen or not, seed ${seed}`, () => {
    const s = state({ threads: [2], time: { from: 0, to: 500 } });
    const { byThread } = answers.weights(s);
    for (let t = 0; t < THREADS; t++)
      assert.equal(byThread[t], sum(samples.filter((x) => x.thread === t && x.time < 500)));
  });

  test(`kinds are those of the leaves, seed ${seed}`, () => {
    const kinds = answers.kinds(state());
    assert.equal(kinds[CODE.kernel], sum(samples.filter((x) => x.stack.at(-1) === '[k] f')));
    assert.equal(kinds.reduce((a, b) => a + b, 0), sum(samples));
  });

  test(`the histogram holds every sample in its bin, seed ${seed}`, () => {
    const bins = 20;
    const { values, highest } = answers.histogram(state({ threads: [0, 1] }), bins);
    const expected = new Array<number>(bins).fill(0);
    for (const x of samples) if (x.thread < 2) expected[Math.floor((x.time * bins) / DURATION)]! += x.weight;
    for (let bin = 0; bin < bins; bin++) {
      const kinds = values.subarray(bin * KINDS.length, (bin + 1) * KINDS.length);
      assert.equal(kinds.reduce((a, b) => a + b, 0), expected[bin]);
    }
    assert.equal(highest, Math.max(...expected));
  });

  test(`the heaviest place of a method, seed ${seed}`, () => {
    const f = frameOf(recording, 'B.c()');
    const path = answers.heaviestStack(state(), f).map((x) => recording.name(x));
    assert.equal(path.at(-1), 'B.c()');
    const through = (prefix: readonly string[]) => sum(samples.filter((x) => prefix.every((n, i) => x.stack[i] === n)));
    const prefixes = samples.flatMap((x) => x.stack.map((_, i) => x.stack.slice(0, i + 1)).filter((p) => p.at(-1) === 'B.c()'));
    assert.equal(through(path), Math.max(...prefixes.map(through)));
  });
}

for (const native of ['leaf', 'none'] as const)
  test(`stacks with native frames: ${native}`, () => {
    const samples = randomSamples(21, 800);
    const recording = record(samples);
    const answers = new Answers(recording);
    const shown = samples.map((x) => ({ ...x, stack: without(x.stack, native) }));
    for (const patch of [{}, { threads: [1, 2] }, { search: 'e', only: true }, { search: 'b()', only: true }]) {
      const s = state({ ...patch, native });
      const expected = chosen(shown, s);
      const stacks = expected.map((x) => ({ path: x.stack, weight: x.weight }));
      assert.deepEqual(sorted(dump(recording, answers.tree(s, 'name'))), sorted(expectedTree('all', stacks)));
      const { self, total } = answers.methods(s);
      for (let f = 1; f < recording.frames; f++) {
        const name = recording.name(f);
        assert.equal(self[f], sum(expected.filter((x) => x.stack.at(-1) === name)), `self of ${name}`);
        assert.equal(total[f], sum(expected.filter((x) => x.stack.includes(name))), `total of ${name}`);
      }
      const reversed = answers.tree({ ...s, reverse: true }, 'name');
      assert.equal(reversed.total(0), sum(expected));
    }
    const bare = answers.matches(state({ native, search: '[native]' }))!;
    assert.equal(bare.count, native === 'none' ? 1 : 0);
  });

test('threads that run and that wait, in every answer', () => {
  const next = random(31);
  const samples = randomSamples(32, 600).map((x) => ({ ...x, waiting: next() < 0.6 }));
  const recording = record(samples);
  const answers = new Answers(recording);
  const ofState = (activity: string) => samples.filter((x) => activity === 'any' || x.waiting === (activity === 'waiting'));
  for (const activity of ['any', 'running', 'waiting'] as const) {
    const s = state({ activity, threads: [0, 2], time: { from: 100, to: 900 } });
    const inTime = samples.filter((x) => x.time >= 100 && x.time < 900);
    const expected = chosen(ofState(activity), s);
    const { sum: all, waiting, byThread, waitingByThread } = answers.weights(s);
    assert.equal(all, sum(expected));
    assert.equal(waiting!.total[0], sum(expected.filter((x) => x.waiting)));
    for (let t = 0; t < THREADS; t++) {
      const own = inTime.filter((x) => x.thread === t);
      assert.equal(byThread[t], sum(own));
      assert.equal(waitingByThread![t], sum(own.filter((x) => x.waiting)));
    }
    const methods = answers.methods(s);
    for (let f = 1; f < recording.frames; f++)
      assert.equal(methods.waiting!.total[f], sum(expected.filter((x) => x.waiting && x.stack.includes(recording.name(f)))));
    for (const reverse of [false, true]) {
      const tree = answers.tree({ ...s, reverse }, 'weight');
      assert.equal(tree.beside(0), sum(expected.filter((x) => x.waiting)));
      const first = tree.childCount(0) > 0 ? tree.firstChild(0) : -1;
      const name = recording.name(tree.frame(first));
      const below = expected.filter((x) => x.waiting && x.stack.at(reverse ? -1 : 0) === name);
      assert.equal(tree.beside(first), sum(below));
    }
    assert.equal(answers.histogram({ ...s, time: null }, 1).highest, sum(chosen(ofState(activity), { ...s, time: null })));
  }
});

test('a sample of threads in turns stands for the time since the turn before', () => {
  const stack = ['A.a()'];
  const samples = [
    { time: 300, thread: 0, weight: 9, stack, waiting: false }, { time: 850, thread: 1, weight: 2, stack, waiting: true },
  ];
  const interval_ns = 100_000; // 100 units of the recording's time
  const { values } = new Answers(record(samples, { interval_ns })).histogram(state(), 10);
  const bins = Array.from({ length: 10 }, (_, b) => values.subarray(b * KINDS.length, (b + 1) * KINDS.length).reduce((x, y) => x + y, 0));
  const expected = [3, 3, 3, 0, 0, 0, 0.5, 1, 0.5, 0];
  bins.forEach((b, i) => assert.ok(Math.abs(b - expected[i]!) < 1e-9, `${bins}`));
});

test('a state means nothing where the event does not know it', () => {
  const samples = randomSamples(33);
  const answers = new Answers(record(samples));
  assert.equal(answers.weights(state({ activity: 'waiting' })).sum, sum(samples));
  assert.equal(answers.weights(state()).waiting, null);
});

test('threads that are many alike are a pool', () => {
  const thread = (name: string, process = 0) => ({ process, tid: 1, name, samples: 0, cpu_ns: 0 });
  const workers = Array.from({ length: MANY }, (_, i) => thread(`Worker ${i * 7}`));
  const others = Array.from({ length: MANY - 1 }, () => thread('.NET TP Worker'));
  const pools = findPools([thread('Main'), ...workers, ...others, thread('.NET TP Worker', 1)]);
  assert.deepEqual(pools, [{ name: 'Worker *', process: 0, members: workers.map((_, i) => i + 1) }]);
});

test('a bad regular expression matches nothing and says why', () => {
  const answers = new Answers(record(randomSamples(9)));
  const matches = answers.matches(state({ search: '(', regex: true }))!;
  assert.equal(matches.count, 0);
  assert.match(matches.error!, /regular expression/i);
  assert.equal(answers.matched(state({ search: '(', regex: true })), 0);
});

test('what is asked again with the same selection is not computed again', () => {
  const answers = new Answers(record(randomSamples(10)));
  assert.equal(answers.weights(state()), answers.weights(state({ search: 'x', view: 'methods' })));
  assert.notEqual(answers.weights(state()), answers.weights(state({ threads: [1] })));
  assert.equal(answers.tree(state(), 'weight'), answers.tree(state({ focus: [1] }), 'weight'));
});

test('lowerBound', () => {
  const values = [1, 3, 3, 7];
  assert.deepEqual([0, 1, 2, 3, 4, 7, 8].map((v) => lowerBound(values, v)), [0, 0, 1, 1, 3, 3, 4]);
});
