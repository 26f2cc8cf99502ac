// SPDX-License-Identifier: MIT
// Recordings of calls for tests and for work on the page, from calls made up one by one.

import { varints, zigzag } from './encode.mjs';
import { Builder, CODE, random } from './sample.mjs';

const BUCKETS = 128;
const UNIT_NS = 1000;

/** Two buckets for each power of two, as the exporter has them. */
export function bucketOf(ns) {
  if (ns < 2) return ns < 1 ? 0 : 1;
  const power = Math.floor(Math.log2(ns));
  return 2 * power + (ns >= 1.5 * 2 ** power ? 1 : 0);
}

/** Adds up amounts by keys, and lists them in order of time. */
class Rows {
  sums = new Map();

  add(time, thread, node, weight) {
    if (weight === 0) return;
    const key = `${time} ${thread} ${node}`;
    const row = this.sums.get(key);
    if (row) row[3] += weight;
    else this.sums.set(key, [time, thread, node, weight]);
  }

  columns() {
    const rows = [...this.sums.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    const column = (i) => Uint32Array.from(rows, (r) => r[i]);
    return { time: column(0), thread: column(1), node: column(2), weight: column(3) };
  }
}

/** Of calls in the order in which they ended. */
function slicesOf(calls, threads) {
  const list = [];
  const columns = { end: [], length: [], node: [], calls: [] };
  for (let t = 0; t < threads; t++) {
    const own = calls.filter((c) => c.thread === t).sort((a, b) => a.end - b.end);
    if (own.length === 0) continue;
    list.push(t, own.length);
    let [end, node] = [0, 0];
    for (const c of own) {
      columns.end.push(c.end - end);
      columns.length.push(c.end - c.start);
      columns.node.push(zigzag(c.node - node));
      columns.calls.push(2 * (c.calls ?? 1) + (c.mixed ? 1 : 0));
      [end, node] = [c.end, c.node];
    }
  }
  return [
    ['slices.threads', 'u32', Uint32Array.from(list)],
    ...Object.entries(columns).map(([name, numbers]) => [`slices.${name}`, 'varint', varints(numbers)]),
  ];
}

function spansOf(calls) {
  const spans = new Map();
  for (const { node, start, end, mixed } of calls) {
    if (mixed) continue;
    const span = spans.get(node) ?? [Infinity, 0];
    spans.set(node, [Math.min(span[0], end - start), Math.max(span[1], end - start)]);
  }
  const nodes = [...spans.keys()].sort((a, b) => a - b);
  return [
    ['spans.node', 'u32', Uint32Array.from(nodes)],
    ['spans.shortest', 'f32', Float32Array.from(nodes, (n) => spans.get(n)[0])],
    ['spans.longest', 'f32', Float32Array.from(nodes, (n) => spans.get(n)[1])],
  ];
}

/** A recording of an event "trace" of these calls, which nest as their nodes do; of single calls those that `slices` says, and those in place of others. */
export function traceOf(builder, calls, meta, { depth = 'events', merged_below_ns = 0, bins = 500, slices = () => true, instead = [] } = {}) {
  const { duration_ns } = meta;
  const bin_ns = Math.max(UNIT_NS, Math.ceil(duration_ns / bins / UNIT_NS) * UNIT_NS);
  const middle = (bin) => Math.floor(((bin + 0.5) * bin_ns) / UNIT_NS);
  const [time, counts, durations] = [new Rows(), new Rows(), new Rows()];
  const spread = (thread, node, start, end, sign) => {
    for (let bin = Math.floor(start / bin_ns); bin * bin_ns < end; bin++)
      time.add(middle(bin), thread, node, sign * (Math.min(end, (bin + 1) * bin_ns) - Math.max(start, bin * bin_ns)));
  };
  for (const { thread, node, start, end, calls: n = 1, mixed } of calls) {
    if (mixed) continue;
    const parent = builder.parents[node];
    spread(thread, node, start, end, 1);
    if (parent !== 0) spread(thread, parent, start, end, -1);
    counts.add(middle(Math.floor(start / bin_ns)), thread, node, n);
    const took = n > 1 ? Math.max(1, Math.floor((end - start) / n / 2)) : end - start;
    durations.add(middle(Math.floor(end / bin_ns)), thread, builder.nodeFrames[node] * BUCKETS + bucketOf(took), n);
  }
  const recording = builder.finish(meta);
  const columns = (prefix, rows) => Object.entries(rows.columns()).map(([name, data]) => [`${prefix}.${name}`, 'u32', data]);
  const rows = time.columns();
  const info = {
    name: 'trace', unit: 'ns', source: depth === 'tree' ? 'calls, CPU time sampled' : 'calls, clock', interval_ns: depth === 'tree' ? 1e6 : 0,
    samples: rows.weight.reduce((a, b) => a + b, 0), lost: 0, lost_by: {}, truncated: 0, unresolved: 0, failed: 0, failures: {}, rows: rows.time.length,
    note: '', weight_ns: 1,
    depth, calls: calls.reduce((n, c) => n + (c.calls ?? 1), 0), methods: new Set(calls.map((c) => builder.nodeFrames[c.node])).size,
    left_out: 3, unwinds: 0, open: 0, bin_ns: depth === 'events' ? bin_ns : 0, step_ns: bin_ns, merged_below_ns,
  };
  const more = [
    ...columns('calls', counts),
    ...(depth === 'tree' ? [] : spansOf(calls)),
    ...(depth === 'events' ? [...columns('durations', durations), ...slicesOf([...calls.filter(slices), ...instead], meta.threads.length)] : []),
  ];
  const event = { info, ...rows, more };
  const [first] = recording.events;
  const both = first.time.length > 0;
  recording.events = both ? [event, first] : [event];
  recording.meta.events = recording.events.map((e) => e.info);
  for (const t of recording.meta.threads) t.samples = 0;
  rows.thread.forEach((t, i) => (recording.meta.threads[t].samples += rows.weight[i]));
  return recording;
}

/** [method, nanoseconds of its own, what it calls: [method, how often]] */
const PROGRAM = {
  'Shop.Program.Main(string[])': [40_000, [['Shop.Config.Load()', 1], ['Shop.Server.Run()', 1]]],
  'Shop.Config.Load()': [2_600_000, [['Shop.Config.ParseLine(string)', 40]]],
  'Shop.Config.ParseLine(string)': [9_000, [['Shop.Text.Trim(string)', 2]]],
  'Shop.Server.Run()': [300_000, [['Shop.Server.Handle(Request)', 0]]],
  'Shop.Server.Handle(Request)': [18_000, [['Shop.Auth.Check(User)', 1], ['Shop.Orders.Find(int)', 3], ['Shop.Pages.Render(Model)', 1]]],
  'Shop.Auth.Check(User)': [7_000, [['Shop.Text.Hash(string)', 2]]],
  'Shop.Orders.Find(int)': [22_000, [['Shop.Sql.Query(string)', 1], ['Shop.Orders.Order..ctor(int, string)', 9]]],
  'Shop.Sql.Query(string)': [160_000, [['Shop.Sql.Parse(string)', 1], ['Shop.Sql.Row.Read(byte[])', 9]]],
  'Shop.Sql.Parse(string)': [11_000, [['Shop.Text.Trim(string)', 6], ['Shop.Text.Hash(string)', 1]]],
  'Shop.Sql.Row.Read(byte[])': [900, []],
  'Shop.Orders.Order..ctor(int, string)': [140, []],
  'Shop.Pages.Render(Model)': [60_000, [['Shop.Pages.Node.Write(Writer)', 4]]],
  'Shop.Pages.Node.Write(Writer)': [4_000, [['Shop.Text.Escape(string)', 3]]],
  'Shop.Text.Escape(string)': [600, []],
  'Shop.Text.Hash(string)': [1_200, []],
  'Shop.Text.Trim(string)': [90, []],
};

const DEEPEST = 9;

class Runner {
  calls = [];

  constructor(builder, seed) {
    this.builder = builder;
    this.next = random(seed);
  }

  /** Calls a method at a time; returns when it ended. */
  run(thread, name, caller, start, depth = 0) {
    const node = this.builder.child(caller, this.builder.frame(name, 'Shop.dll', CODE.user));
    const [own, callees] = PROGRAM[name];
    const slow = this.next() < 0.02 ? 12 : 1;
    const part = () => Math.max(1, Math.round((own * slow * (0.3 + 1.4 * this.next())) / 2));
    let now = start + part();
    for (const [callee, times] of callees)
      for (let i = 0; i < times; i++) now = this.run(thread, callee, node, now, depth + 1) + Math.round(20 + this.next() * 40);
    // Parts of a page have parts.
    if (name.startsWith('Shop.Pages.Node') && depth < DEEPEST && this.next() < 0.55) now = this.run(thread, name, node, now, depth + 1);
    now += part();
    this.calls.push({ thread, node, start, end: now });
    return now;
  }
}

/** A server that answers requests: on the main thread and two more. */
export function trace({ depth = 'events', requests = 90, seed = 3, cpu = false } = {}) {
  const builder = new Builder();
  const runner = new Runner(builder, seed);
  const main = builder.child(0, builder.frame('Shop.Program.Main(string[])', 'Shop.dll', CODE.user));
  const loop = builder.child(main, builder.frame('Shop.Server.Run()', 'Shop.dll', CODE.user));
  let now = runner.run(0, 'Shop.Config.Load()', main, 60_000) + 5_000;
  const begun = now;
  now += 40_000;
  for (let r = 0; r < requests / 3; r++) now = runner.run(0, 'Shop.Server.Handle(Request)', loop, now) + Math.round(runner.next() * 700_000);
  runner.calls.push({ thread: 0, node: loop, start: begun, end: now });
  runner.calls.push({ thread: 0, node: main, start: 20_000, end: now + 30_000 });
  const worker = builder.child(0, builder.frame('Shop.Server.Work()', 'Shop.dll', CODE.user));
  for (const thread of [1, 2]) {
    let at = begun + 900_000 * thread;
    const start = at;
    for (let r = 0; r < requests / 3 && at < now; r++) at = runner.run(thread, 'Shop.Server.Handle(Request)', worker, at + 20_000) + Math.round(runner.next() * 1_600_000);
    runner.calls.push({ thread, node: worker, start, end: at + 1000 });
  }
  const duration_ns = Math.ceil(Math.max(...runner.calls.map((c) => c.end)) / 1e6) * 1e6;
  if (cpu)
    for (let ms = 1; ms * 1e6 < duration_ns; ms++) {
      const at = runner.calls.filter((c) => c.thread === 0 && c.start <= ms * 1e6 && c.end > ms * 1e6);
      const deepest = at.reduce((a, b) => (b.start > a.start ? b : a), at[0]);
      if (deepest) builder.sample(ms * 1000, 0, deepest.node);
    }
  return traceOf(builder, runner.calls, {
    title: 'Shop.dll', duration_ns,
    processes: [{ pid: 700, name: 'dotnet Shop.dll', command: ['dotnet', 'Shop.dll', '--serve'], runtime: '10.0.12', start_ns: 0, duration_ns }],
    threads: [{ process: 0, tid: 700, name: 'Main' }, { process: 0, tid: 712, name: 'Server 1' }, { process: 0, tid: 713, name: 'Server 2' }],
  }, { depth });
}

/** As many slices as asked for: loops in loops of short calls, some of them runs of several. */
export function manyCalls({ slices = 2_000_000, threads = 4, seed = 9 } = {}) {
  const next = random(seed);
  const builder = new Builder();
  const frames = Array.from({ length: 400 }, (_, i) => builder.frame(`Many.Type${i % 37}.Method${i}(int)`, 'Many.dll', i % 9 === 0 ? 1 : 0));
  const calls = [];
  const per = Math.floor(slices / threads);
  const fill = (thread, node, start, end, depth) => {
    let now = start + 50;
    while (now < end - 300 && calls.length < per * (thread + 1)) {
      const length = Math.max(60, Math.floor((end - start) * (0.02 + 0.2 * next())));
      const stop = Math.min(end - 50, now + length);
      const child = builder.child(node, frames[Math.floor(next() ** 3 * 3) + depth * 3 + thread * 40]);
      if (depth < 11 && stop - now > 2000) fill(thread, child, now, stop, depth + 1);
      const run = stop - now < 2000 && next() < 0.2;
      calls.push({ thread, node: child, start: now, end: stop, calls: run ? 2 + Math.floor(next() * 50) : 1 });
      now = stop + 20 + Math.floor(next() * 60);
    }
  };
  let last = 0;
  for (let t = 0; t < threads; t++) {
    const main = builder.child(0, frames[t * 40]);
    let now = 1000 * t;
    while (calls.length < per * (t + 1) - 1) {
      const end = now + 3_000_000;
      fill(t, main, now + 10, end, 1);
      now = end + 40;
    }
    calls.push({ thread: t, node: main, start: 1000 * t, end: now });
    last = Math.max(last, now);
  }
  return traceOf(builder, calls, {
    title: 'many', duration_ns: last,
    processes: [{ pid: 1, name: 'dotnet many.dll', command: ['dotnet', 'many.dll'], runtime: '10.0.12', start_ns: 0, duration_ns: last }],
    threads: Array.from({ length: threads }, (_, t) => ({ process: 0, tid: 10 + t, name: `Worker ${t}` })),
  }, { merged_below_ns: 256, bins: 200 });
}
