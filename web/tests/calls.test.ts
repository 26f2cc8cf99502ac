// SPDX-License-Identifier: MIT

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUCKETS, bucketStart } from '../src/data/calls.ts';
import { DataError } from '../src/data/meta.ts';
import { CODE } from '../src/data/numbers.ts';
import { Varints } from '../src/data/varint.ts';
import { Answers } from '../src/model/answers.ts';
import { Counted } from '../src/model/cells.ts';
import { isMarked, layOutLane, mark, markedBeside, rowOf, sliceAt } from '../src/model/chart.ts';
import { quantile } from '../src/model/durations.ts';
import { fromHash, toHash } from '../src/model/hash.ts';
import { partsOf } from '../src/model/slicing.ts';
import { varints, zigzag } from '../tools/encode.mjs';
import { Builder, random } from '../tools/sample.mjs';
import { bucketOf, manyCalls, trace, traceOf, type SampleCall } from '../tools/sample-trace.mjs';
import { frameOf, load, state } from './helpers.ts';

const DURATION_NS = 1_000_000;

interface Made {
  readonly builder: Builder & { parents: number[]; nodeFrames: number[] };
  readonly calls: SampleCall[];
}

/** Calls that nest, on two threads; at times a method calls itself, or is over before the clock goes on. */
function make(seed: number): Made {
  const next = random(seed);
  const builder = new Builder() as Made['builder'];
  const calls: SampleCall[] = [];
  const fill = (thread: number, caller: number, from: number, to: number, depth: number) => {
    let now = from;
    while (depth < 6 && now + 20 < to) {
      const start = now + Math.floor(next() * 2000);
      const end = next() < 0.1 ? start : Math.min(to, start + 10 + Math.floor(next() * (to - from)));
      if (start >= to) break;
      const node = builder.child(caller, builder.frame(`A.m${Math.floor(next() * 5)}()`, 'A.dll', CODE.user));
      fill(thread, node, start, end, depth + 1);
      calls.push({ thread, node, start, end });
      now = end;
    }
  };
  for (const thread of [0, 1]) fill(thread, 0, 0, DURATION_NS, 0);
  return { builder, calls };
}

const threads = [0, 1].map((t) => ({ process: 0, tid: 10 + t, name: `t${t}` }));
const recordingOf = ({ builder, calls }: Made, options = {}) => load(traceOf(builder, calls, { duration_ns: DURATION_NS, threads }, options));

test('LEB128 is read back, to the largest number a page can have', () => {
  const numbers = [0, 1, 127, 128, 300, 2 ** 31, 2 ** 40 + 7, 2 ** 50 + 3];
  const column = new Varints(varints(numbers));
  assert.deepEqual(numbers.map(() => column.next()), numbers);
  assert.ok(column.done);
  const signed = [0, -1, 1, -64, 64, -(2 ** 31), 2 ** 31];
  const other = new Varints(varints(signed.map(zigzag)));
  assert.deepEqual(signed.map(() => other.signed()), signed);
  assert.throws(() => other.next(), DataError);
});

test('buckets of durations begin where the exporter puts them', () => {
  for (let b = 0; b < 60; b++) assert.equal(bucketOf(bucketStart(b)), b);
  for (const ns of [5, 7, 11, 1000, 1499, 1500, 999_999]) {
    const bucket = bucketOf(ns);
    assert.ok(bucketStart(bucket) <= ns && ns < bucketStart(bucket + 1), String(ns));
  }
});

test('slices are read back, by thread and depth', () => {
  const made = make(5);
  const recording = recordingOf(made);
  const lanes = recording.events[0]!.calls!.lanes!;
  assert.equal(lanes.count, made.calls.length);
  const read: string[] = [];
  for (const { thread, rowStart } of lanes.lanes)
    for (let d = 0; d + 1 < rowStart.length; d++)
      for (let i = rowStart[d]!; i < rowStart[d + 1]!; i++) {
        assert.equal(recording.trie.stack(lanes.node[i]!).length, d + 1);
        assert.equal(rowOf(lanes.lanes.find((l) => l.thread === thread)!, i), d);
        read.push([thread, lanes.node[i], lanes.start[i], lanes.end[i]].join());
      }
  assert.deepEqual(read.sort(), made.calls.map((c) => [c.thread, c.node, c.start, c.end].join()).sort());
});

test('damaged slices are found', () => {
  const sample = () => traceOf(make(5).builder, [], { duration_ns: DURATION_NS, threads });
  assert.ok(load(sample()).events[0]!.calls!.lanes);
  const { builder, calls } = make(5);
  const broken = (column: string, at: number, value: number) => () =>
    load(traceOf(builder, calls, { duration_ns: DURATION_NS, threads }), (name, data) => name === column && (data[at] = value));
  assert.throws(broken('trace.slices.threads', 0, 7), /a thread is out of range/);
  assert.throws(broken('trace.slices.threads', 1, 9_999_999), /calls are missing/);
  assert.throws(broken('trace.slices.threads', 1, 1), /more calls than it says|overlap|out of range/);
  assert.throws(broken('trace.calls.node', 0, 4_000_000), /a call is out of range/);
  assert.throws(broken('trace.spans.node', 0, 4_000_000), /a call is out of range/);
});

test('a range of time weighs what its calls took, exactly', () => {
  const made = make(11);
  const recording = recordingOf(made);
  const answers = new Answers(recording);
  const next = random(3);
  for (let round = 0; round < 20; round++) {
    const from = Math.floor(next() * 900);
    const to = from + 1 + Math.floor(next() * 100);
    const chosen = next() < 0.5 ? [0] : null;
    const { self, total, calls } = answers.weights(state({ time: { from, to }, threads: chosen }));
    const own = new Float64Array(recording.trie.nodes);
    const began = new Float64Array(recording.trie.nodes);
    for (const { thread, node, start, end } of made.calls) {
      if (chosen && thread !== 0) continue;
      const time = Math.max(0, Math.min(end, to * 1000) - Math.max(start, from * 1000));
      own[node]! += time;
      const above = recording.trie.parent[node]!;
      if (above !== 0) own[above]! -= time;
      if (start >= from * 1000 && start < to * 1000) began[node]!++;
    }
    assert.deepEqual(self, own);
    assert.deepEqual(calls!.self, began);
    assert.equal(total[0], own.reduce((a, b) => a + b, 0));
  }
});

test('all of the time weighs the same by rows as by calls', () => {
  const made = make(12);
  const answers = new Answers(recordingOf(made));
  const rows = answers.weights(state());
  const slices = answers.weights(state({ time: { from: 0, to: DURATION_NS / 1000 } }));
  assert.deepEqual(rows.self, slices.self);
  assert.deepEqual(rows.calls!.self, slices.calls!.self);
  assert.deepEqual(rows.byThread, slices.byThread);
  assert.equal(rows.calls!.total[0], made.calls.length);
});

test('rows of calls weigh the same by cell as one by one', () => {
  const recording = load(trace({ depth: 'tree' }));
  const [byCell, byRow] = [new Answers(recording, 1), new Answers(recording, Infinity)];
  const event = recording.events[0]!;
  for (const rows of [event, { ...event.calls!.counts, waiting: null }]) assert.ok(new Counted(rows, 1).cells);
  const half = recording.meta.duration_ns / recording.meta.time_unit_ns / 2;
  const next = random(14);
  const pick = <T>(a: T, b: T) => (next() < 0.5 ? a : b);
  for (let i = 0; i < 40; i++) {
    const from = Math.floor(next() * half);
    const s = state({ time: pick(null, { from, to: from + half }), threads: pick([1], null), search: pick('Text', ''), only: true });
    assert.deepEqual(byCell.weights(s), byRow.weights(s));
    assert.deepEqual(byCell.methods(s), byRow.methods(s));
    assert.ok(byRow.weights(s).calls!.total[0]! > 0);
  }
});

test('where calls were merged whole bins are counted by rows, and by calls what is beside them', () => {
  const parts = (from: number, to: number, merged = 256) => partsOf({ from, to }, 100, merged, 950);
  const bin = (from: number, to = from + 100) => ({ bin: { from, to } });
  assert.deepEqual(parts(150, 720, 0), { rows: null, edges: [{ from: 150, to: 720, ...bin(150, 720) }] });
  const ends = [{ from: 150, to: 200, ...bin(100) }, { from: 700, to: 720, ...bin(700) }];
  assert.deepEqual(parts(150, 720), { rows: { from: 200, to: 700 }, edges: ends });
  assert.deepEqual(parts(110, 190), { rows: null, edges: [{ from: 110, to: 190, ...bin(100) }] });
  assert.deepEqual(parts(110, 230).edges, [{ from: 110, to: 200, ...bin(100) }, { from: 200, to: 230, ...bin(200) }]);
  // Behind the end there is nothing.
  assert.deepEqual(parts(0, 950), { rows: { from: 0, to: 950 }, edges: [] });
  assert.deepEqual(parts(450, 2000), { rows: { from: 500, to: 950 }, edges: [{ from: 450, to: 500, ...bin(400) }] });
  assert.deepEqual(parts(920, 950), { rows: null, edges: [{ from: 920, to: 950, ...bin(900, 950) }] });
});

test('parts of a recording whose calls were merged are the whole, whatever single calls are missing', () => {
  const made = make(15);
  for (const bins of [1, 7, 500]) {
    const recording = recordingOf(made, { merged_below_ns: 1e9, bins, slices: (c: SampleCall) => c.end - c.start > 2000 });
    const answers = new Answers(recording);
    const end = DURATION_NS / 1000;
    const all = answers.weights(state()).calls!;
    assert.deepEqual(answers.weights(state({ time: { from: 0, to: end } })).calls!.self, all.self);
    for (const cut of [0.25, 0.5, 0.777].map((part) => Math.floor(end * part))) {
      const [a, b] = [{ from: 0, to: cut }, { from: cut, to: end }].map((time) => answers.weights(state({ time })).calls!);
      all.self.forEach((n, i) => assert.ok(Math.abs(a!.self[i]! + b!.self[i]! - n) < 1e-3 && Object.is(Math.max(0, a!.self[i]!), a!.self[i])));
    }
    assert.equal(answers.weights(state({ time: { from: end + 5, to: end + 9 } })).calls!.total[0], 0);
  }
});

test('a slice of many calls that reaches over many bins is counted where they were', () => {
  const builder = new Builder() as Made['builder'];
  const node = builder.child(0, builder.frame('A.m()', 'A.dll', CODE.user));
  const many = Array.from({ length: 1000 }, (_, i) => ({ thread: 0, node, start: i * 600, end: i * 600 + 300 }));
  const merged = { thread: 0, node, start: 0, end: 999 * 600 + 300, calls: 1000 };
  const whole = traceOf(builder, many, { duration_ns: DURATION_NS, threads }, { merged_below_ns: 512, bins: 8, slices: () => false, instead: [merged] });
  const answers = new Answers(load(whole));
  const calls = (from: number, to: number) => answers.weights(state({ time: { from: from / 1000, to: to / 1000 } })).calls!.total[0]!;
  const bin = load(whole).events[0]!.info.calls!.step_ns;
  for (const [from, to] of [[bin / 2, 2.5 * bin], [1.2 * bin, 1.8 * bin], [0, 3 * bin], [0.25 * bin, DURATION_NS]] as [number, number][]) {
    const [a, b] = [from, Math.min(to, 999 * 600 + 300)];
    assert.ok(Math.abs(calls(from, to) - Math.max(0, b - a) / 600) < 0.1 * (bin / 600) + 2, `${from}–${to}: ${calls(from, to)}`);
  }
});

test('methods know their calls, the mean, the shortest and the longest', () => {
  const made = make(13);
  const recording = recordingOf(made);
  const { calls } = new Answers(recording).methods(state());
  for (let m = 0; m < 5; m++) {
    const frame = frameOf(recording, `A.m${m}()`);
    const own = made.calls.filter((c) => recording.trie.frame[c.node] === frame).map((c) => c.end - c.start);
    assert.equal(calls!.calls[frame], own.length);
    assert.equal(calls!.sum[frame], own.reduce((a, b) => a + b, 0));
    assert.equal(calls!.shortest[frame], Math.fround(Math.min(...own)));
    assert.equal(calls!.longest[frame], Math.fround(Math.max(...own)));
  }
});

test('trees carry calls, also where calls took no time', () => {
  const { builder, calls } = make(14);
  const node = builder.child(0, builder.frame('A.Empty()', 'A.dll', CODE.user));
  calls.push({ thread: 1, node, start: 0, end: 0 });
  const recording = load(traceOf(builder, calls, { duration_ns: DURATION_NS, threads }));
  const answers = new Answers(recording);
  const empty = frameOf(recording, 'A.Empty()');
  for (const reverse of [false, true]) {
    const tree = answers.tree(state({ reverse }), 'weight');
    const found = tree.child(0, empty)!;
    assert.equal(tree.total(found), 0);
    assert.equal(tree.beside(found), 1);
  }
  const callers = answers.callersOf(state(), frameOf(recording, 'A.m1()'), 'weight');
  const outer = new Set<number>();
  calls.forEach((c) => {
    const stack = recording.trie.stack(c.node);
    if (recording.name(stack[stack.length - 1]!) === 'A.m1()' && !stack.slice(0, -1).some((f) => recording.name(f) === 'A.m1()')) outer.add(c.node);
  });
  assert.equal(callers.beside(0), calls.filter((c) => outer.has(c.node)).length);
});

test('durations are those of the chosen time and threads', () => {
  const made = make(15);
  const recording = recordingOf(made);
  const answers = new Answers(recording);
  const frame = frameOf(recording, 'A.m2()');
  const own = made.calls.filter((c) => recording.trie.frame[c.node] === frame);
  const all = answers.durations(state(), frame)!;
  assert.equal(all.calls, own.length);
  for (let b = all.first; b < all.end; b++)
    assert.equal(all.counts[b], own.filter((c) => bucketOf(c.end - c.start) === b).length);
  assert.equal(answers.durations(state({ threads: [1] }), frame)!.calls, own.filter((c) => c.thread === 1).length);
  const times = own.map((c) => c.end - c.start).sort((a, b) => a - b);
  const half = bucketOf(times[Math.ceil(times.length / 2) - 1]!);
  assert.ok(quantile(all, 0.5) >= bucketStart(half) && quantile(all, 0.5) <= bucketStart(half + 1));
  assert.ok(all.end <= BUCKETS);
});

test('durations of a range that is shorter than a bin are of the calls that ended in it', () => {
  const made = make(15);
  const next = random(6);
  const last = ({ start, end }: SampleCall) => Math.max(start, end - 1);
  for (const bins of [2, 40]) {
    const recording = recordingOf(made, { bins });
    const answers = new Answers(recording);
    for (let round = 0; round < 60; round++) {
      const frame = frameOf(recording, `A.m${round % 5}()`);
      const from = Math.floor(next() * 960_000);
      const to = from + Math.floor(next() * (round < 30 ? 20_000 : DURATION_NS - from)) + 1;
      const own = made.calls.filter((c) => recording.trie.frame[c.node] === frame && last(c) >= from && last(c) < to && (round % 2 === 0 || c.thread === 1));
      const { counts, calls } = answers.durations(state({ time: { from: from / 1000, to: to / 1000 }, threads: round % 2 === 0 ? null : [1] }), frame)!;
      const expected = new Float64Array(BUCKETS);
      for (const c of own) expected[bucketOf(c.end - c.start)]!++;
      assert.deepEqual(counts, expected, `${bins} bins, ${from} to ${to}`);
      assert.equal(calls, own.length);
    }
    // A call by itself, as it is chosen in the chart.
    const one = made.calls.find((c) => c.end - c.start > 500)!;
    const alone = answers.durations(state({ time: { from: one.start / 1000, to: one.end / 1000 } }), recording.trie.frame[one.node]!)!;
    assert.ok(alone.counts[bucketOf(one.end - one.start)]! >= 1);
  }
});

test('durations in a part of a bin: calls that go on have none, those that are drawn as one are there in proportion', () => {
  const builder = new Builder() as Made['builder'];
  const node = builder.child(0, builder.frame('A.m()', 'A.dll', CODE.user));
  const calls = Array.from({ length: 1000 }, (_, i) => ({ thread: 0, node, start: i * 600, end: i * 600 + 300 }));
  const goesOn = { thread: 1, node, start: 100_000, end: DURATION_NS };
  const drawn = { thread: 0, node, start: 0, end: 999 * 600 + 300, calls: 1000 };
  for (const merged of [false, true]) {
    const options = merged ? { merged_below_ns: 512, bins: 2, slices: () => false, instead: [drawn, goesOn] } : { bins: 2, instead: [goesOn] };
    const recording = load(traceOf(builder, calls, { duration_ns: DURATION_NS, threads }, options));
    const frame = frameOf(recording, 'A.m()');
    const durations = (from: number, to: number) => new Answers(recording).durations(state({ time: { from, to } }), frame)!;
    assert.ok(Math.abs(durations(100, 200).calls - 167) <= 1, `${durations(100, 200).calls}`);
    assert.equal(durations(0, 1000).calls, 1000);
    assert.equal(durations(900, 1000).counts[bucketOf(900_000)], 0);
  }
});

test('a chart shows each call in sight, or a cell that stands for it', () => {
  const made = make(16);
  const lanes = recordingOf(made).events[0]!.calls!.lanes!;
  const next = random(8);
  for (let round = 0; round < 30; round++) {
    const lane = lanes.lanes[round % 2]!;
    const from = next() * DURATION_NS * 0.9;
    const window = { from, to: from + 100 + next() * (round < 15 ? 5000 : DURATION_NS / 2) };
    const marked = round % 3 === 0 ? mark(lanes, (i) => i % 7 === 0) : null;
    const layout = layOutLane(lanes, lane, window, 500, marked);
    const scale = 500 / (window.to - window.from);
    for (let d = 0; d + 1 < lane.rowStart.length; d++) {
      let counted = 0;
      for (let k = layout.rowStart[d]!; k < layout.rowStart[d + 1]!; k++) counted += layout.shared.get(k) ?? 1;
      const seen: number[] = [];
      for (let i = lane.rowStart[d]!; i < lane.rowStart[d + 1]!; i++)
        if (lanes.end[i]! > window.from && lanes.start[i]! < window.to) seen.push(i);
      // The last cell may reach over the end of the window.
      assert.ok(counted >= seen.length && counted <= seen.length + 1000, `${counted} of ${seen.length}`);
      for (const i of seen) {
        const x = Math.max(0, (lanes.start[i]! - window.from) * scale);
        if (x > 499) continue;
        const wide = (lanes.end[i]! - lanes.start[i]!) * scale >= 1;
        const hit = (at: number) => layout.hit(d, Math.min(499.9, at));
        assert.ok(hit(x) >= 0 || hit(x + 0.01) >= 0, `row ${d}, slice ${i}`);
        if (wide) assert.ok([...layout.node.subarray(layout.rowStart[d]!, layout.rowStart[d + 1]!)].includes(i));
      }
    }
  }
});

test('a cell that is shared shows what is searched for', () => {
  const lanes = load(manyCalls({ slices: 20_000, threads: 1 })).events[0]!.calls!.lanes!;
  const lane = lanes.lanes[0]!;
  const wanted = mark(lanes, (i) => i % 101 === 0);
  const window = { from: 0, to: lanes.end.reduce((a, b) => Math.max(a, b), 0) };
  const layout = layOutLane(lanes, lane, window, 300, wanted);
  let shown = 0;
  for (let k = 0; k < layout.count; k++) if (layout.shared.has(k) && isMarked(wanted, layout.node[k]!)) shown++;
  assert.ok(shown > 20);
});

test('the next and the last call that is searched for', () => {
  const made = make(17);
  const lanes = recordingOf(made).events[0]!.calls!.lanes!;
  const lane = lanes.lanes[0]!;
  const marked = mark(lanes, (i) => i % 5 === 0);
  const starts: number[] = [];
  for (let i = lane.rowStart[0]!; i < lane.rowStart[lane.rowStart.length - 1]!; i++) if (isMarked(marked, i)) starts.push(lanes.start[i]!);
  starts.sort((a, b) => a - b);
  let at = -1;
  for (const start of starts) {
    at = markedBeside(lanes, lane, marked, at, 1);
    assert.equal(lanes.start[at], start);
  }
  assert.equal(markedBeside(lanes, lane, marked, at, 1), -1);
  assert.equal(lanes.start[markedBeside(lanes, lane, marked, -1, -1)], starts[starts.length - 1]);
  const slice = lane.rowStart[0]!;
  assert.equal(sliceAt(lanes, lane, 0, lanes.start[slice]!), slice);
});

test('of calls that began at the same time none is passed over', () => {
  const builder = new Builder() as Made['builder'];
  const frame = builder.frame('A.m()', 'A.dll', CODE.user);
  const [outer, inner] = [builder.child(0, frame), builder.child(builder.child(0, frame), frame)];
  const calls = [{ node: outer, start: 100, end: 900 }, { node: inner, start: 100, end: 100 }, { node: inner, start: 100, end: 300 }, { node: inner, start: 400, end: 500 }, { node: outer, start: 950, end: 960 }];
  const lanes = recordingOf({ builder, calls: calls.map((c) => ({ thread: 0, ...c })) }).events[0]!.calls!.lanes!;
  const lane = lanes.lanes[0]!;
  const all = mark(lanes, () => true);
  const way = (step: number) => {
    const seen: number[] = [];
    for (let at = -1; (at = markedBeside(lanes, lane, all, at, step)) >= 0 && seen.length < 9; ) seen.push(at);
    return seen;
  };
  assert.deepEqual(way(1).map((i) => lanes.start[i]), [100, 100, 100, 400, 950]);
  assert.equal(new Set(way(1)).size, 5);
  assert.deepEqual(way(-1), way(1).reverse());
});

test('the address keeps what a chart shows', () => {
  const recording = load(trace({ requests: 6 }));
  const shown = state({ view: 'chart', lane: 2, window: { from: 12.5, to: 4000 }, lengths: { from: 96, to: 3072 }, time: { from: 0.125, to: 9 } });
  assert.deepEqual(fromHash(toHash(shown, recording), recording), shown);
  const wrong = fromHash('lane=9&window=5-1&lengths=x', recording);
  assert.deepEqual([wrong.lane, wrong.window, wrong.lengths], [null, null, null]);
});
