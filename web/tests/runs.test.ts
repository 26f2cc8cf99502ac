// SPDX-License-Identifier: MIT
// Threads over time: what is read, added up and put into rows, against the slow and obvious way.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOW } from '../src/data/numbers.ts';
import { waitAt } from '../src/data/waits.ts';
import { DataError } from '../src/data/meta.ts';
import { bins, together, type Track } from '../src/data/track.ts';
import { Answers } from '../src/model/answers.ts';
import { clocked } from '../src/model/clocks.ts';
import { fromHash, toHash } from '../src/model/hash.ts';
import { RowList } from '../src/model/rows.ts';
import { random } from '../tools/sample.mjs';
import { manyRuns, runsOf, threads as sampleThreads, type SampleRow } from '../tools/sample-runs.mjs';
import { load, state } from './helpers.ts';

const DURATION_NS = 10_000_000;

/** Slices of any length, with gaps or without, that ended in any way. */
function randomRow(seed: number, count: number): SampleRow & { from: number; to: number; before: number } {
  const next = random(seed);
  const pick = (n: number) => Math.floor(next() * n);
  const slices: [number, number, number, number][] = [];
  const from = pick(2000);
  let now = from;
  for (let i = 0; i < count; i++) {
    now += pick(4) === 0 ? 0 : pick((2 * DURATION_NS) / count / 3);
    const length = pick(5) === 0 ? 0 : pick(DURATION_NS / count / 3);
    slices.push([now, length, pick(3), [HOW.waits, HOW.preempted, HOW.unknown, HOW.waits][pick(4)]!]);
    now += length;
  }
  return { from, to: now + pick(5000), before: pick(2), slices };
}

const meta = (n: number, name = (t: number) => `t${t}`) => ({
  duration_ns: DURATION_NS, processes: [{ pid: 1, name: 'app', command: ['app'], runtime: '', start_ns: 0, duration_ns: DURATION_NS }],
  threads: Array.from({ length: n }, (_, t) => ({ process: 0, tid: 100 + t, name: name(t) })),
});

const recordingOf = (rows: SampleRow[], options = {}) => load(runsOf(rows, meta(rows.length), options));
const overlap = (a: number, b: number, from: number, to: number) => Math.max(0, Math.min(b, to) - Math.max(a, from));

/** What a row does in a part of the time, slice by slice. */
function expected(row: ReturnType<typeof randomRow>, from: number, to: number) {
  const times = { ran: 0, preempted: 0, blocked: 0, unknown: 0, voluntary: 0, involuntary: 0 };
  let [end, how] = [row.from, row.before];
  const gap = (until: number) => {
    const took = overlap(end, until, from, to);
    if (how === HOW.preempted) times.preempted += took;
    else if (how === HOW.unknown) times.unknown += took;
    else times.blocked += took;
  };
  for (const [start, length, , ended] of row.slices) {
    gap(start);
    times.ran += overlap(start, start + length, from, to);
    end = start + length;
    how = ended;
    if (end > from && end <= to && how === HOW.preempted) times.involuntary++;
    if (end > from && end <= to && how === HOW.waits) times.voluntary++;
  }
  gap(row.to);
  return times;
}

test('times of any part of the time are those of its slices, to the nanosecond', () => {
  for (let seed = 1; seed <= 12; seed++) {
    const row = randomRow(seed, seed * 13);
    const track = recordingOf([row]).runs!.tracks[0]!;
    assert.equal(track.count, row.slices.length);
    const next = random(seed + 100);
    for (let i = 0; i < 200; i++) {
      const [a, b] = [Math.floor(next() * row.to * 1.1), Math.floor(next() * row.to * 1.1)];
      const [from, to] = [Math.min(a, b), Math.max(a, b) + 1];
      const { ran, preempted, blocked, unknown } = expected(row, from, to);
      const times = track.times({ from, to });
      assert.deepEqual({ ran: times.ran, preempted: times.preempted, blocked: times.blocked, unknown: times.unknown }, { ran, preempted, blocked, unknown });
      assert.equal(track.ranIn({ from, to }), ran);
    }
  }
});

test('switches are counted in the time in which they were', () => {
  for (let seed = 1; seed <= 6; seed++) {
    const row = randomRow(seed, 200);
    const track = recordingOf([row]).runs!.tracks[0]!;
    const cuts = [row.from, row.from + 1_111_111, row.from + 3_333_333, row.to];
    const sums = cuts.slice(1).map((to, i) => track.times({ from: cuts[i]!, to }));
    const all = expected(row, row.from - 1, row.to + 1);
    // Those of a slice of no length at the very beginning are before it.
    const early = row.slices.filter(([start, length]) => start + length <= row.from);
    const count = (kind: 'voluntary' | 'involuntary', how: number) =>
      assert.equal(sums.reduce((n, t) => n + t[kind], 0), all[kind] - early.filter((s) => s[3] === how).length);
    count('voluntary', HOW.waits);
    count('involuntary', HOW.preempted);
  }
});

function expectBins(track: Track, row: ReturnType<typeof randomRow>, from: number, to: number, count: number, tolerance: number) {
  const into = bins(count);
  track.addTo(into, { from, to });
  const width = (to - from) / count;
  for (let i = 0; i < count; i++) {
    const times = expected(row, from + i * width, from + (i + 1) * width);
    for (const part of ['ran', 'preempted', 'unknown'] as const) {
      const off = Math.abs(into[part][i]! - times[part]);
      assert.ok(off <= tolerance * width + 1, `${part} of bin ${i}: ${into[part][i]} for ${times[part]} of ${width}`);
    }
  }
}

test('pixels get what is in them, exactly where slices can be told apart', () => {
  const row = randomRow(3, 300);
  const track = recordingOf([row]).runs!.tracks[0]!;
  expectBins(track, row, 0, DURATION_NS, 700, 1e-6);
  expectBins(track, row, 1_234_567, 1_300_000, 300, 1e-6);
  expectBins(track, row, row.to - 5000, row.to + 100_000, 64, 1e-6);
});

test('pixels of wide views are told by blocks, none of which is lost', () => {
  const row = randomRow(5, 20_000);
  const track = recordingOf([row]).runs!.tracks[0]!;
  for (const [from, to] of [[0, row.to], [2_000_000, 9_000_000], [4_000_001, 4_700_000]] as const) {
    const into = bins(40);
    track.addTo(into, { from, to });
    const times = expected(row, from, to);
    for (const part of ['ran', 'preempted', 'unknown'] as const) {
      const sum = into[part].reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - times[part]) < 0.01 * (to - from), `${part}: ${sum} for ${times[part]}`);
    }
  }
  // At each edge of a pixel a part of a block of 16 may be counted to its neighbour.
  expectBins(track, row, 0, row.to + 1, 40, (2 * 16 * 40) / 20_000);
  expectBins(track, row, -row.to, 2 * row.to, 90, (2 * 16 * 90) / 20_000);
});

test('slices of a processor are in order, do not overlap, and keep their threads', () => {
  const recording = load(sampleThreads({ loss: false }));
  const { tracks, cpus } = recording.runs!;
  assert.equal(cpus, 2);
  const whole = { from: 0, to: recording.meta.duration_ns };
  let ran = 0;
  for (let cpu = 0; cpu < cpus; cpu++) {
    const track = together(cpu, tracks, whole, cpu);
    ran += track.total;
    for (let i = 0; i < track.count; i++) {
      if (i > 0) assert.ok(track.start(i) >= track.end(i - 1));
      const own = tracks.find((t) => t.id === track.owner(i))!;
      const at = own.begun(track.start(i)) - 1;
      assert.equal(own.cpu(at), cpu);
      assert.equal(own.end(at), track.end(i));
    }
  }
  assert.equal(ran, tracks.reduce((sum, t) => sum + t.total, 0));
});

test('what stands for missing records is no run of a processor', () => {
  const { tracks } = recordingOf([{ from: 0, to: 9000, slices: [[100, 50, 1, HOW.waits], [500, 0, 0, HOW.unknown], [900, 0, 1, HOW.waits]] }]).runs!;
  const whole = { from: 0, to: DURATION_NS };
  assert.deepEqual([0, 1, null].map((cpu) => together(0, tracks, whole, cpu).count), [0, 1, 1]);
  assert.deepEqual([0, 1, 2].map((i) => tracks[0]!.isMissing(i)), [false, true, false]);
});

test('a row of several has a processor while any of them has one', () => {
  const rows = [1, 2, 3].map((seed) => randomRow(seed, 40));
  const { tracks } = recordingOf(rows).runs!;
  const one = together(0, tracks, { from: 0, to: DURATION_NS });
  for (let t = 0; t < DURATION_NS; t += 4999) {
    const at = { from: t, to: t + 1 };
    const any = rows.some((r) => expected(r, at.from, at.to).ran > 0);
    assert.equal(one.ranIn(at) > 0, any, `at ${t}`);
  }
});

test('of a part of the time, several together are what they are in all of it', () => {
  const rows = [4, 5, 6].map((seed) => randomRow(seed, 60));
  const { tracks } = recordingOf(rows).runs!;
  const all = together(0, tracks, { from: 0, to: 2 * DURATION_NS });
  const next = random(31);
  for (let i = 0; i < 50; i++) {
    const from = Math.floor(next() * DURATION_NS);
    const time = { from, to: from + Math.floor(next() * 900_000) };
    const some = together(0, tracks, time);
    const seen = (t: Track) => Array.from({ length: t.count }, (_, k) => k).filter((k) => t.end(k) > time.from && t.start(k) < time.to).map((k) => [Math.max(time.from, t.start(k)), t.end(k), t.owner(k)]);
    assert.deepEqual(seen(some), seen(all));
  }
});

const MS = 1_000_000;
const busy = (length: number, at = 0): SampleRow => ({ from: at, slices: [[at, length, 0, HOW.waits]] });

function rowsOf(rows: SampleRow[], name: (t: number) => string, patch = {}) {
  const recording = load(runsOf(rows, { ...meta(rows.length, name), duration_ns: 1000 * MS }));
  const list = new RowList(recording, recording.runs!, () => ({ from: 0, to: 1000 * MS }));
  return { list, rows: list.of(state(patch)), names: (s = {}) => list.of(state({ ...patch, ...s })).list.map((r) => r.name) };
}

test('rows are in the order that is asked for', () => {
  const { names } = rowsOf([busy(5 * MS, 30), busy(9 * MS, 20), busy(7 * MS, 10)], (t) => ['b', 'c', 'a'][t]!);
  assert.deepEqual(names(), ['c', 'a', 'b']);
  assert.deepEqual(names({ rowOrder: 'name' }), ['a', 'b', 'c']);
  assert.deepEqual(names({ rowOrder: 'tid' }), ['b', 'c', 'a']);
  assert.deepEqual(names({ rowOrder: 'first' }), ['a', 'c', 'b']);
  assert.deepEqual(names({ threads: [0, 2] }), ['a', 'b']);
  assert.deepEqual(names({ by: 'cpu' }), ['CPU 0']);
});

test('many that are alike are one row, which opens', () => {
  const { list, rows, names } = rowsOf(Array.from({ length: 7 }, (_, t) => busy(MS * (t + 1))), (t) => (t === 6 ? 'main' : `Worker ${t}`), { grouped: true });
  assert.deepEqual(names(), ['Worker *', 'main']);
  assert.equal(rows.list[0]!.aside, '×6');
  list.turn(rows.list[0]!);
  assert.deepEqual(names(), ['Worker *', 'Worker 5', 'Worker 4', 'Worker 3', 'Worker 2', 'Worker 1', 'Worker 0', 'main']);
  assert.equal(names({ grouped: false }).length, 7);
  assert.equal(names({ grouped: null }).length, 7);
});

test('the idle are hidden when that is wanted, and counted', () => {
  const { rows, names, list } = rowsOf([busy(5 * MS), busy(10), busy(20), { slices: [] }], (t) => `t${'abcd'[t]}`);
  assert.equal(rows.hidden, 0);
  assert.deepEqual(names({ idle: false }), ['ta']);
  assert.equal(list.of(state({ idle: false })).hidden, 3);
});

test('clocks are told between the readings that lie in the time', () => {
  const row: SampleRow = { slices: [], clocks: [[0, 10, 1], [1000, 60, 3], [2000, 100, 4], [3000, 100, 9]] };
  const readings = recordingOf([row]).runs!.clocks.get(0);
  assert.deepEqual(clocked(readings, { from: 0, to: 5000 }), { cpu: 90, ready: 8, length: 3000 });
  assert.deepEqual(clocked(readings, { from: 500, to: 2000 }), { cpu: 40, ready: 1, length: 1000 });
  assert.equal(clocked(readings, { from: 1500, to: 2500 }), null);
  assert.equal(clocked(undefined, { from: 0, to: 1 }), null);
});

test('switches stand beside samples, and alone where there are none', () => {
  const both = load(sampleThreads({ cpu: true }));
  assert.deepEqual(both.events.map((e) => e.info.name), ['cpu']);
  assert.ok(both.stacks && both.runs);
  const alone = load(sampleThreads());
  assert.deepEqual(alone.events.map((e) => e.info.name), ['switch']);
  assert.ok(!alone.stacks);
  assert.equal(alone.runs!.losses.length, 1);
  const all = new Answers(alone).busy(state(), 50).reduce((a, b) => a + b, 0);
  const ran = alone.runs!.tracks.reduce((sum, t) => sum + t.total, 0);
  assert.ok(Math.abs(all - ran) < 1e-5 * ran);
});

test('waits are found by their thread and time', () => {
  const waits: [number, number, number, number, string[], string][] = [
    [1, 5000, 9000, 1, ['A.Main()', 'A.Lock()'], 'futex'], [0, 100, 900, 2, ['A.Main()'], ''], [1, 1000, 3000, 99, [], 'read'], [0, 2000, 0, 7, [], ''],
  ];
  const recording = recordingOf([{ slices: [] }, { slices: [] }], { waits });
  const found = (thread: number, time: number) => waitAt(recording.runs!.waits, thread, time);
  assert.deepEqual([found(1, 999), found(1, 4000), found(2, 1), found(0, 950)], [null, null, null, null]);
  assert.equal(found(1, 2000)!.kind.name, 'other');
  const lock = found(1, 5000)!;
  assert.deepEqual([lock.kind.name, lock.call, lock.to], ['lock', 'futex', 9000]);
  assert.deepEqual(recording.trie.stack(lock.node).map((f) => recording.name(f)), ['A.Main()', 'A.Lock()']);
  assert.equal(found(0, DURATION_NS - 1)!.kind.name, 'pool');
  assert.equal(found(0, 500)!.from, 100);
});

test('a wait that is not over ends with its thread, not with those of other processes', () => {
  const recording = recordingOf([{ to: 4000, slices: [] }, { slices: [] }], { waits: [[0, 2000, 0, 7, [], ''], [1, 2500, 0, 7, [], '']] });
  const ends = [0, 1].map((thread) => waitAt(recording.runs!.waits, thread, 3000)!.to);
  assert.deepEqual(ends, [4000, DURATION_NS]);
});

test('large recordings are what was asked for', () => {
  const recording = load(manyRuns({ slices: 50_000, threads: 12 }));
  assert.equal(recording.runs!.tracks.reduce((n, t) => n + t.count, 0), 50_000);
  assert.ok(recording.runs!.end <= recording.meta.duration_ns);
});

test('damaged slices are refused', () => {
  const sample = sampleThreads({ workers: 2, idle: 0 });
  const damage = (name: string, change: (data: Uint8Array | Uint32Array | Float32Array) => void) =>
    assert.throws(() => load(sample, (n, data) => n === name && change(data)), DataError, name);
  damage('switch.runs.threads', (d) => (d[0] = 1000));
  damage('switch.runs.threads', (d) => (d[1]! += 1));
  damage('switch.runs.threads', (d) => (d[1]! -= 1));
  damage('switch.runs.threads', (d) => (d[1] = 0xffffffff));
  damage('switch.runs.slices', (d) => (d[d.length - 1] = 255));
  damage('switch.runs.slices', (d) => d.fill(255, 0, 20));
  damage('switch.clocks.threads', (d) => (d[0] = 1000));
  damage('switch.clocks.threads', (d) => (d[1] = 0xffffff));
  damage('switch.waits.thread', (d) => (d[0] = 1000));
  damage('switch.waits.node', (d) => (d[0] = 1000));
  damage('switch.waits.call', (d) => (d[0] = 1000));
  damage('switch.waits.times', (d) => (d[d.length - 1] = 128));
  damage('switch.losses', (d) => (d[d.length - 1] = 128));
});

test('what is shown of the time line is in the address', () => {
  const recording = load(sampleThreads());
  const shown = state({ view: 'timeline', by: 'cpu', rowOrder: 'tid', grouped: false, idle: false, window: { from: 10, to: 90 } });
  assert.deepEqual(fromHash(toHash(shown, recording), recording), shown);
  assert.equal(toHash(state(), recording), '');
});

test('an address asks for rows of processors in vain where none is known', () => {
  for (const sampled of [false, true]) {
    const recording = load(sampleThreads({ sampled }));
    assert.equal(fromHash('by=cpu', recording).by, sampled ? 'thread' : 'cpu');
  }
});
