// SPDX-License-Identifier: MIT

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Answers } from '../src/model/answers.ts';
import { layOut } from '../src/model/layout.ts';
import { load, dump, expectedTree, folded, frameOf, randomSamples, record, sorted, state } from './helpers.ts';
import { large } from '../tools/sample.mjs';

const reverse = (stack: readonly string[]) => [...stack].reverse();

for (let seed = 20; seed < 24; seed++) {
  const samples = randomSamples(seed);
  const recording = record(samples);
  const answers = new Answers(recording);
  const stacks = (way: (stack: readonly string[]) => readonly string[]) =>
    samples.map((s) => ({ path: way(s.stack), weight: s.weight }));
  const agree = (tree: ReturnType<Answers['tree']>, expected: Map<string, string>) =>
    assert.deepEqual(sorted(dump(recording, tree)), sorted(expected));

  test(`callees from the start, seed ${seed}`, () => {
    for (const order of ['weight', 'name'] as const)
      agree(answers.tree(state(), order), expectedTree('all', stacks((s) => s)));
  });

  test(`callees with recursion folded, seed ${seed}`, () => {
    agree(answers.tree(state({ collapse: true }), 'weight'), expectedTree('all', stacks(folded)));
  });

  test(`callers from the leaves, seed ${seed}`, () => {
    // A sample without a stack is a leaf of its own, "all".
    const way = (s: readonly string[]) => (s.length === 0 ? ['all'] : reverse(s));
    const ends = expectedTree('all', stacks(way));
    agree(answers.tree(state({ reverse: true }), 'weight'), ends);
    const foldedEnds = expectedTree('all', stacks((s) => way(folded(s))));
    agree(answers.tree(state({ reverse: true, collapse: true }), 'name'), foldedEnds);
  });

  test(`callers and callees of one method, seed ${seed}`, () => {
    const method = frameOf(recording, 'A.b()');
    const through = samples.filter((s) => s.stack.includes('A.b()'));
    const callees = through.map((s) => ({ path: s.stack.slice(s.stack.indexOf('A.b()') + 1), weight: s.weight }));
    agree(answers.calleesOf(state(), method, 'weight'), expectedTree('A.b()', callees));
    const callers = through.map((s) => ({ path: reverse(s.stack.slice(0, s.stack.indexOf('A.b()'))), weight: s.weight }));
    agree(answers.callersOf(state(), method, 'weight'), expectedTree('A.b()', callers));
  });

  test(`children lie side by side in their parent, heaviest or first name first, seed ${seed}`, () => {
    for (const order of ['weight', 'name'] as const) {
      const tree = answers.tree(state(), order);
      dump(recording, tree);
      for (let node = 0; node < tree.size; node++) {
        let x = tree.x(node);
        const first = tree.firstChild(node);
        const children = Array.from({ length: tree.childCount(node) }, (_, i) => first + i);
        for (const c of children) {
          assert.equal(tree.x(c), x);
          assert.equal(tree.parent(c), node);
          x += tree.total(c);
        }
        assert.equal(x + tree.self(node), tree.x(node) + tree.total(node));
        const keys = children.map((c) => (order === 'weight' ? -tree.total(c) : recording.rank[tree.frame(c)]!));
        assert.deepEqual(keys, [...keys].sort((a, b) => a - b));
      }
    }
  });

  test(`a path leads back to its node, a wrong one to where it leaves the tree, seed ${seed}`, () => {
    const tree = answers.tree(state(), 'weight');
    dump(recording, tree);
    for (let node = 0; node < tree.size; node++) assert.equal(tree.find(tree.path(node)), node);
    const some = tree.firstChild(0);
    assert.equal(tree.find([tree.frame(some), 0]), some);
    assert.equal(tree.find([0, 0, 0]), 0);
  });
}

const wide = load(large({ stacks: 3000, rows: 12_000, threads: 3, methods: 500, seed: 5 }));
const wideTree = new Answers(wide).tree(state(), 'weight');

test('the layout holds every rectangle wide enough, and no other', () => {
  const width = 800;
  const all = { from: 0, to: wideTree.total(0) };
  const span = { from: all.to * 0.2, to: all.to * 0.45 };
  for (const s of [all, span]) {
    const layout = layOut(wideTree, s, width, 0.5);
    const scale = width / (s.to - s.from);
    const shown = new Set(layout.node.subarray(0, layout.count).filter((node) => node >= 0));
    for (let row = 0; row < layout.rows; row++)
      for (let i = layout.rowStart[row]!; i < layout.rowStart[row + 1]!; i++) {
        if (layout.node[i]! >= 0) assert.equal(wideTree.depth(layout.node[i]!), row);
        assert.ok(layout.width[i]! >= 0.5 && layout.x[i]! >= 0 && layout.x[i]! + layout.width[i]! <= width + 0.01);
        if (i > layout.rowStart[row]!) assert.ok(layout.x[i]! >= layout.x[i - 1]! + layout.width[i - 1]! - 0.01);
      }
    for (let node = 0; node < wideTree.size; node++) {
      const left = Math.max(0, (wideTree.x(node) - s.from) * scale);
      const right = Math.min(width, (wideTree.x(node) + wideTree.total(node) - s.from) * scale);
      assert.equal(shown.has(node), right - left >= 0.5, `node ${node} ${right - left}`);
    }
  }
});

test('what is too narrow is drawn together, so that only self time is empty', () => {
  const width = 600;
  const least = 2;
  const whole = wideTree.total(0);
  const layout = layOut(wideTree, { from: 0, to: whole }, width, least);
  assert.ok(layout.merged.size > 10);
  for (let row = 0; row + 1 < layout.rows; row++) {
    for (let i = layout.rowStart[row]!; i < layout.rowStart[row + 1]!; i++) {
      const node = layout.node[i]!;
      if (node < 0) continue;
      const below = Array.from({ length: layout.rowStart[row + 2]! - layout.rowStart[row + 1]! }, (_, k) => layout.rowStart[row + 1]! + k);
      const mine = below.filter((k) => layout.x[k]! >= layout.x[i]! - 0.01 && layout.x[k]! + layout.width[k]! <= layout.x[i]! + layout.width[i]! + 0.01);
      const covered = mine.reduce((sum, k) => sum + layout.width[k]!, 0);
      const callees = ((wideTree.total(node) - wideTree.self(node)) * width) / whole;
      // A lone child, or a few between two wide ones, may be too narrow even together.
      assert.ok(covered <= callees + 0.1 && callees - covered < least * (mine.length + 1), `${covered} of ${callees}`);
    }
  }
  for (const [i, merged] of layout.merged) {
    assert.equal(layout.node[i], -1);
    assert.ok(merged.nodes >= 1 && Math.abs((merged.total * width) / whole - layout.width[i]!) < 0.01);
  }
});

test('a rectangle is found by any of its points, and nothing between two', () => {
  const layout = layOut(wideTree, { from: 0, to: wideTree.total(0) }, 800, 0.5);
  for (let row = 0; row < layout.rows; row++)
    for (let i = layout.rowStart[row]!; i < layout.rowStart[row + 1]!; i++) {
      assert.equal(layout.hit(row, layout.x[i]!), i);
      assert.equal(layout.hit(row, layout.x[i]! + layout.width[i]! * 0.9), i);
      if (layout.node[i]! >= 0) assert.equal(layout.indexOf(row, layout.node[i]!), i);
    }
  assert.equal(layout.hit(-1, 10), -1);
  assert.equal(layout.hit(layout.rows, 10), -1);
  assert.equal(layout.hit(0, 800.5), -1);
});

test('a picture expands only what it shows', () => {
  const tree = new Answers(wide).tree(state(), 'weight');
  layOut(tree, { from: 0, to: tree.total(0) }, 20, 0.5);
  assert.ok(tree.size < wide.trie.nodes / 10, `${tree.size} of ${wide.trie.nodes}`);
});

test('nothing selected is an empty layout', () => {
  const tree = new Answers(wide).tree(state({ search: 'no such', only: true }), 'weight');
  assert.equal(tree.total(0), 0);
  assert.equal(layOut(tree, { from: 0, to: 0 }, 500, 0.5).rows, 0);
});
