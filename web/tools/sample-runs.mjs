// SPDX-License-Identifier: MIT
// Recordings of switches for tests and for work on the page: of a program that is made up, whose threads
// take turns on some processors, and large ones of any size.

import { varints, zigzag } from './encode.mjs';
import { Builder, random } from './sample.mjs';

export const HOW = { waits: 0, preempted: 1, ended: 2, runs: 3, unknown: 4, sampled: 5 };

const MS = 1_000_000;
const QUANTUM = 3 * MS;

/** Numbers as LEB128, of which there may be very many. */
class Bytes {
  bytes = new Uint8Array(1 << 16);
  n = 0;

  put(value) {
    if (this.n + 10 > this.bytes.length) {
      const longer = new Uint8Array(this.bytes.length * 2);
      longer.set(this.bytes);
      this.bytes = longer;
    }
    for (; value > 127; value = Math.floor(value / 128)) this.bytes[this.n++] = (value % 128) | 128;
    this.bytes[this.n++] = value;
  }

  get all() {
    return this.bytes.subarray(0, this.n);
  }
}

const sampleOf = (builder, meta, samples) => {
  for (const [time, thread, stack] of samples) builder.sample(time, thread, builder.stack(stack));
  return builder.finish(meta);
};

/**
 * A recording of an event "switch", and of "cpu" where there are samples: [µs, thread, stack].
 * `rows`: for each thread { from, to, before, slices: [[start, length, cpu, how]], clocks: [[time, cpu, ready]] }.
 */
/**
 * `waits`: [thread, since, until, kind, stack, call]. `marks`: [thread, time, text, length of a span, whether it is open]. `wakers`: { thread, pid, tid, name }, thread -1
 * for others'; `wakes`: [thread, time, place in wakers]. `told`: how many of these there were, where the page has the first of them.
 */
export function runsOf(rows, meta, { losses = [], waits = [], marks = [], wakers = [], wakes = [], told = {}, sampled = false, samples = [], note = 'the kernel tells of every switch of the process\'s threads' } = {}) {
  const [threads, clockThreads] = [[], []];
  const [slices, clocks, lost] = [new Bytes(), new Bytes(), []];
  let [voluntary, involuntary] = [0, 0];
  rows.forEach(({ from = 0, to = meta.duration_ns, before = HOW.waits, slices: own, clocks: readings = [] }, t) => {
    threads.push(t, own.length, before);
    slices.put(from);
    let now = from;
    for (const [start, length, cpu, how] of own) {
      slices.put(start - now);
      slices.put(length);
      slices.put(cpu * 8 + how);
      now = start + length;
      if (how === HOW.waits) voluntary++;
      if (how === HOW.preempted) involuntary++;
    }
    slices.put(to - now);
    if (readings.length > 0) clockThreads.push(t, readings.length);
    readings.forEach((r, i) => r.forEach((v, c) => clocks.put(v - (readings[i - 1]?.[c] ?? 0))));
  });
  for (const { cpu, from, to, count } of losses) lost.push(cpu, from, to - from, count);
  const builder = new Builder();
  const nodes = waits.map((w) => builder.stack(w[4]));
  const calls = waits.map((w) => builder.string(w[5]));
  const texts = ['', ...new Set([...marks.map((m) => m[2]), ...wakers.map((w) => w.name ?? '')].filter(Boolean))];
  const places = new Map(texts.map((t, i) => [t, i]));
  const since = (times) => varints(times.map((t, i) => zigzag(t - (times[i - 1] ?? 0))));
  return finish(sampleOf(builder, meta, samples), {
    marks: marks.length, wakes: wakes.length, ...told,
    samples: samples.length > 0, voluntary, involuntary, sampled, note, lost: losses.reduce((n, l) => n + l.count, 0),
    more: [
      ['runs.threads', 'u32', Uint32Array.from(threads)], ['runs.slices', 'varint', slices.all],
      ['clocks.threads', 'u32', Uint32Array.from(clockThreads)], ['clocks.readings', 'varint', clocks.all],
      ['losses', 'varint', varints(lost)],
      ['waits.thread', 'u32', Uint32Array.from(waits, (w) => w[0])], ['waits.node', 'u32', Uint32Array.from(nodes)],
      ['waits.call', 'u32', Uint32Array.from(calls)], ['waits.kind', 'u8', Uint8Array.from(waits, (w) => w[3])],
      ['waits.times', 'varint', varints(waits.flatMap(([, from, to], i) => [zigzag(from - (waits[i - 1]?.[1] ?? 0)), to > 0 ? to - from : 0]))],
      ['strings', 'utf8', Buffer.from(texts.map((t) => `${t}\0`).join(''))],
      ['marks.thread', 'u32', Uint32Array.from(marks, (m) => m[0])], ['marks.text', 'u32', Uint32Array.from(marks, (m) => places.get(m[2]))],
      ['marks.times', 'varint', since(marks.map((m) => m[1]))],
      ['marks.lengths', 'varint', varints(marks.map((m) => 2 * (m[3] ?? 0) + (m[4] ? 1 : 0)))],
      ['wakers.thread', 'u32', Uint32Array.from(wakers, (w) => w.thread + 1)], ['wakers.pid', 'u32', Uint32Array.from(wakers, (w) => w.pid ?? 0)],
      ['wakers.tid', 'u32', Uint32Array.from(wakers, (w) => w.tid ?? 0)], ['wakers.name', 'u32', Uint32Array.from(wakers, (w) => places.get(w.name ?? ''))],
      ['wakes.thread', 'u32', Uint32Array.from(wakes, (w) => w[0])], ['wakes.by', 'u32', Uint32Array.from(wakes, (w) => w[2])],
      ['wakes.times', 'varint', since(wakes.map((w) => w[1]))],
    ],
  });
}

function finish(recording, { samples, voluntary, involuntary, sampled, note, lost, marks = 0, wakes = 0, more }) {
  const info = {
    name: 'switch', unit: 'ns', source: sampled ? 'looks at clocks' : 'perf switch records', note, interval_ns: sampled ? MS : 0,
    voluntary, involuntary, sampled, marks, wakes, samples: 0, lost, lost_by: {}, truncated: 0, unresolved: 0, failed: 0, failures: {}, rows: 0,
  };
  const none = () => new Uint32Array(0);
  const event = { info, time: none(), thread: none(), node: none(), weight: none(), more };
  recording.events = samples ? [recording.events[0], event] : [event];
  recording.meta.events = recording.events.map((e) => e.info);
  return recording;
}

/** Threads that want to run for a while, then wait for a while, on so many processors. */
class Scheduler {
  ready = [];
  slices;
  busy;
  samples = [];

  constructor(specs, cpus, duration, seed) {
    this.specs = specs;
    this.duration = duration;
    this.next = random(seed);
    this.slices = specs.map(() => []);
    this.busy = Array.from({ length: cpus }, () => null);
    this.wakes = specs.map((s, t) => ({ at: s.first ?? 0, thread: t }));
  }

  about(ns) {
    return Math.max(1000, Math.round(ns * (0.5 + this.next())));
  }

  stop(cpu, now, how) {
    const { thread, start } = this.busy[cpu];
    if (now > start) this.slices[thread].push([start, now - start, cpu, how]);
    this.busy[cpu] = null;
  }

  start(now) {
    for (let cpu = 0; cpu < this.busy.length; cpu++) {
      if (this.busy[cpu] || this.ready.length === 0) continue;
      const { thread, left } = this.ready.shift();
      this.busy[cpu] = { thread, start: now, end: now + Math.min(left, QUANTUM), left };
    }
  }

  run() {
    for (let now = 0; now < this.duration; ) {
      for (const wake of this.wakes.filter((w) => w.at <= now)) this.ready.push({ thread: wake.thread, left: this.about(this.specs[wake.thread].burst) });
      this.wakes = this.wakes.filter((w) => w.at > now);
      this.start(now);
      const ends = this.busy.filter(Boolean).map((b) => b.end);
      now = Math.min(this.duration, ...ends, ...this.wakes.map((w) => w.at));
      this.busy.forEach((b, cpu) => b && b.end <= now && this.end(b, cpu, now));
    }
    this.busy.forEach((b, cpu) => b && this.stop(cpu, this.duration, HOW.runs));
    return this.slices;
  }

  end({ thread, start, left }, cpu, now) {
    const rest = left - (now - start);
    const goes = rest > 0 && this.ready.length > 0;
    if (rest > 0 && !goes) {
      // Nobody else wants the processor: it goes on.
      Object.assign(this.busy[cpu], { end: now + Math.min(rest, QUANTUM) });
      return;
    }
    this.stop(cpu, now, goes ? HOW.preempted : HOW.waits);
    if (goes) this.ready.push({ thread, left: rest });
    else this.wakes.push({ at: now + this.about(this.specs[thread].wait), thread });
  }
}

const READ_EVERY = 250 * MS;

/** What the kernel's clock of a thread says: some microseconds a switch more than its slices. */
function clocksOf(slices, duration) {
  const readings = [];
  for (let at = 0; at <= duration; at += READ_EVERY) {
    const before = slices.filter(([start]) => start < at);
    const ran = before.reduce((sum, [start, length]) => sum + Math.min(length, at - start), 0);
    readings.push([at, ran + 900 * before.length, 4000 * before.length]);
  }
  return readings;
}

/** A server: a thread that takes requests, a pool, one that computes all the time, and idle ones. */
export function threads({ duration_ns = 2000 * MS, cpus = 2, workers = 8, idle = 6, seed = 4, loss = true, cpu = false, sampled = false, beside = false, told } = {}) {
  const specs = [
    { name: 'Main', burst: 0.4 * MS, wait: 3 * MS },
    { name: 'Compute', burst: 40 * MS, wait: 25 * MS, first: 300 * MS },
    { name: '.NET BGC', burst: 9 * MS, wait: 420 * MS, first: 350 * MS },
    ...Array.from({ length: workers }, (_, i) => ({ name: '.NET TP Worker', burst: (1 + i) * 0.3 * MS, wait: (8 + 6 * i) * MS, first: 40 * MS + i * 13 * MS })),
    ...Array.from({ length: idle }, (_, i) => ({ name: ['.NET SynchManag', '.NET Finalizer', '.NET SigHandler', '.NET EventPipe', '.NET Timer', '.NET Sockets'][i % 6], burst: 0.02 * MS, wait: 900 * MS, first: 10 * MS * i })),
  ];
  const slices = new Scheduler(specs, cpus, duration_ns, seed).run();
  const rows = slices.map((own, t) => ({ from: specs[t].first && t > 2 && t < 3 + workers ? specs[t].first - 2 * MS : 0, slices: own, clocks: clocksOf(own, duration_ns) }));
  const losses = loss ? [{ cpu: 1, from: Math.round(duration_ns * 0.62), to: Math.round(duration_ns * 0.64), count: 1234 }] : [];
  for (const { from, to } of losses) for (const row of rows) lose(row, from, to);
  if (sampled) for (const row of rows) row.slices = looks(row.slices);
  const samples = cpu ? rows.flatMap((row, t) => samplesOf(row.slices, t)) : [];
  const waits = rows.flatMap((row, t) => waitsOf(row.slices, t, specs[t].name));
  return runsOf(rows, {
    title: 'Server.dll', duration_ns, start_unix_ns: '1763726400000000000',
    processes: [{ pid: 800, name: 'dotnet Server.dll', command: ['dotnet', 'Server.dll'], runtime: '10.0.12', start_ns: 0, duration_ns }],
    threads: specs.map(({ name }, i) => ({ process: 0, tid: 800 + i, name })),
  }, { losses, ...(beside && besideOf(rows, specs)), told, waits: sampled ? [] : waits, sampled, samples, ...(sampled && { note: 'perf events are forbidden: threads were looked at every millisecond' }) });
}

const WAKERS = [
  { thread: 0, pid: 800, tid: 800 }, { thread: 3, pid: 800, tid: 803 }, { thread: -1 },
  { thread: -1, pid: 311, tid: 312, name: 'redis <b>server</b>' }, { thread: -1, pid: 800, tid: 899 },
];

/** What the program says, and who wakes whom: the main thread the pool, a worker and the machine's timer the main thread, another process the rest. */
function besideOf(rows, specs) {
  const [marks, wakes] = [[], []];
  rows.forEach(({ slices }, t) => slices.forEach(([start, length], i) => {
    const [before, beforeLength, , how] = slices[i - 1] ?? [0, 0, 0, HOW.preempted];
    if (how === HOW.waits) {
      const by = t === 0 ? 1 + (i % 2) : specs[t].name === '.NET TP Worker' ? 0 : t === 1 ? 2 : 4 - (i % 2);
      wakes.push([t, Math.max(before + beforeLength, start - 3000 - 1700 * (i % 9)), by]);
    }
    if (t === 0 && i % 40 === 5) marks.push([t, start + Math.floor(length / 2), i % 3 === 0 ? 'order <script>alert(1)</script>' : `order ${i}`]);
    if (t === 1 && how === HOW.waits) marks.push([t, start, `step ${i}`, i % 2 === 0 ? length : 0]);
  }));
  return { marks, wakes, wakers: WAKERS };
}

/** What of the slices of processor 1 was not told. */
function lose(row, from, to) {
  row.slices = row.slices
    .map(([start, length, cpu, how]) => (cpu === 1 && start < from && start + length > from ? [start, from - start, cpu, HOW.unknown] : [start, length, cpu, how]))
    .filter(([start, , cpu]) => cpu !== 1 || start < from || start >= to);
}

const LONG = 5 * MS;
const [LOCK, SLEEP, POOL] = [1, 2, 7];
const START = ['libc.so.6!clone3', 'libcoreclr.so!ThreadNative::KickOffThread(void*)', 'System.Threading.Thread.StartCallback()'];
const WAITS = {
  '.NET TP Worker': [POOL, [...START, 'System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart()', 'System.Threading.LowLevelLifoSemaphore.WaitForSignal(int)', 'libc.so.6!pthread_cond_timedwait'], 'futex'],
  Compute: [LOCK, [...START, 'Server.Compute.Step(int)', 'System.Threading.Monitor.Enter(object)', 'libc.so.6!syscall'], 'futex'],
  Main: [SLEEP, ['dotnet!main', 'Server.Program.Main()', 'System.Threading.Thread.Sleep(int)', 'libc.so.6!clock_nanosleep'], 'clock_nanosleep'],
};

/** Waits that are long enough for somebody to have looked. */
function waitsOf(slices, thread, name) {
  if (!WAITS[name]) return [];
  const [kind, stack, call] = WAITS[name];
  const after = slices.flatMap(([start, length, , how], i) => (how === HOW.waits ? [[start + length, slices[i + 1]?.[0] ?? 0]] : []));
  return after.filter(([from, to]) => to === 0 || to - from >= LONG).map(([from, to]) => [thread, from, to, kind, stack, call]);
}

const LOOK = MS;

/** The intervals between looks in which it ran. */
function looks(slices) {
  const out = [];
  for (const [start, length] of slices) {
    const [from, to] = [Math.floor(start / LOOK) * LOOK, Math.ceil((start + length) / LOOK) * LOOK];
    const last = out.at(-1);
    if (last && from <= last[0] + last[1]) last[1] = Math.max(last[1], to - last[0]);
    else out.push([from, to - from, 0x1fff, HOW.sampled]);
  }
  return out;
}

function samplesOf(slices, thread) {
  const samples = [];
  const stack = thread === 1 ? ['Server.Program.Main()', 'Server.Compute.Step(int)', 'System.Math.Sin(double)'] : ['Server.Program.Main()', 'Server.Handle(Request)'];
  let due = 0;
  for (const [start, length] of slices)
    for (due = Math.max(due, start + 1000); due < start + length; due += MS) samples.push([Math.floor(due / 1000), thread, stack]);
  return samples;
}

/** As many slices as asked for, on so many threads: bursts of any length, some threads busier than others. */
export function manyRuns({ slices = 10_000_000, threads: n = 100, cpus = 8, seed = 6 } = {}) {
  const next = random(seed);
  const bytes = new Bytes();
  const list = [];
  const duration = 60_000 * MS;
  let [voluntary, involuntary, left] = [0, 0, slices];
  for (let t = 0; t < n; t++) {
    // The busiest thread has many times the slices of the last.
    const own = t === n - 1 ? left : Math.min(left, Math.max(1, Math.round(((2 * slices) / n) * (1 - t / n))));
    left -= own;
    const each = duration / own;
    bytes.put(0);
    let now = 0;
    for (let i = 0; i < own; i++) {
      const due = Math.max(now, Math.round(i * each + next() * each * 0.5));
      const room = Math.max(1, Math.round((i + 1) * each) - due);
      const length = Math.max(1, Math.round(room * (0.05 + 0.6 * next() ** 3)));
      const how = next() < 0.15 ? HOW.preempted : HOW.waits;
      bytes.put(due - now);
      bytes.put(length);
      bytes.put(Math.floor(next() * cpus) * 8 + how);
      if (how === HOW.waits) voluntary++;
      else involuntary++;
      now = due + length;
    }
    bytes.put(Math.max(0, duration - now));
    list.push(t, own, HOW.waits);
  }
  const meta = {
    title: 'many', duration_ns: duration,
    processes: [{ pid: 1, name: 'many', command: ['many'], runtime: '', start_ns: 0, duration_ns: duration }],
    threads: Array.from({ length: n }, (_, t) => ({ process: 0, tid: 10 + t, name: t % 3 === 0 ? `Worker ${t}` : `Thread${String.fromCharCode(65 + (t % 26))}` })),
  };
  return finish(sampleOf(new Builder(), meta, []), {
    samples: false, voluntary, involuntary, sampled: false, note: '', lost: 0,
    more: [
      ['runs.threads', 'u32', Uint32Array.from(list)], ['runs.slices', 'varint', bytes.all],
      ['clocks.threads', 'u32', new Uint32Array(0)], ['clocks.readings', 'varint', new Uint8Array(0)], ['losses', 'varint', new Uint8Array(0)],
    ],
  });
}
