// SPDX-License-Identifier: MIT
// From a selection to numbers, by linear passes over the samples and the trie. Each answer is kept
// until something it depends on changes.

import type { EventRows, Recording } from '../data/recording.ts';
import { ROOT, type Shown, type Trie } from '../data/trie.ts';
import { KINDS } from './kinds.ts';
import { findFrames, type Matches } from './search.ts';
import type { Order, Selection, TimeRange } from './selection.ts';
import { calleesOf, callersOf, forward, reversed, type StackTree } from './tree.ts';

/** By node: samples whose leaf it is, and those that went through it. */
export interface Sums {
  readonly self: Float64Array;
  readonly total: Float64Array;
}

export interface Weights extends Sums {
  /** Whose nodes they are. */
  readonly trie: Trie;
  readonly sum: number;
  /** Of all these the samples whose thread did not run; null where that is not known. */
  readonly waiting: Sums | null;
  /** In the time range, of every thread and state, also those not chosen. */
  readonly byThread: Float64Array;
  readonly waitingByThread: Float64Array | null;
}

/** By frame. A sample counts once for a method's total, however often that is on its stack. */
export interface Methods extends Sums {
  readonly waiting: Sums | null;
}

export interface Histogram {
  readonly bins: number;
  /** Samples by bin and kind of leaf: values[bin * KINDS.length + kind]. */
  readonly values: Float64Array;
  readonly highest: number;
}

/** First index whose value is not below `wanted`, in ascending values. */
export function lowerBound(values: ArrayLike<number>, wanted: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The part of the trie that a search is about. */
interface Under {
  /** 1 for each node with a match among itself and its callers. */
  readonly nodes: Uint8Array;
  /** Those of them without a match among their callers: each sample with a match goes through one. */
  readonly tops: readonly number[];
}

class Kept<T> {
  private key: string | null = null;
  private value!: T;

  get(key: string, make: () => T): T {
    if (key !== this.key) {
      this.value = make();
      this.key = key;
    }
    return this.value;
  }
}

const timeKey = (time: TimeRange | null) => (time ? `${time.from}-${time.to}` : '');
const threadsKey = (threads: readonly number[] | null) => (threads ? threads.join() : '*');
const searchKey = (s: Selection) => `${s.regex ? 'r' : 't'}${s.search}`;
const onlyKey = (s: Selection) => (s.only ? searchKey(s) : '');
/** What is counted, but for the time. */
const samplesKey = (s: Selection) => `${s.event}|${threadsKey(s.threads)}|${s.activity}|${s.native}`;
const weightsKey = (s: Selection) => `${samplesKey(s)}|${timeKey(s.time)}|${onlyKey(s)}`;
const sums = (n: number): Sums => ({ self: new Float64Array(n), total: new Float64Array(n) });

/** Which samples of an event are wanted, by their place in its columns. */
class Wanted {
  private readonly threads: Uint8Array | null;
  private readonly waiting: Uint8Array | null;
  private readonly state: number;

  constructor(
    private readonly rows: EventRows,
    s: Selection,
    threads: number,
    /** 1 for each node of the trie whose samples are wanted; null: all. */
    private readonly keep: Uint8Array | null,
  ) {
    this.threads = s.threads && new Uint8Array(threads);
    for (const t of s.threads ?? []) this.threads![t] = 1;
    this.waiting = s.activity === 'any' ? null : rows.waiting;
    this.state = s.activity === 'waiting' ? 1 : 0;
  }

  /** Apart from its thread and state. */
  stack(node: number): boolean {
    return this.keep === null || this.keep[node] === 1;
  }

  thread(i: number): boolean {
    if (this.waiting !== null && this.waiting[i] !== this.state) return false;
    return this.threads === null || this.threads[this.rows.thread[i]!] === 1;
  }
}

/**
 * In which bins of time a sample is. Where samples of all threads are taken in turns, one stands for the
 * time of its thread since its last turn.
 */
class When {
  first = 0;
  last = 0;
  private from = 0;
  private to = 0;
  private all = 0;
  /** Time that a weight of 1 stands for; 0: samples are of a moment. */
  private readonly span: number;

  constructor(private readonly rows: EventRows, private readonly scale: number, unit_ns: number) {
    this.span = rows.waiting ? rows.info.interval_ns / unit_ns : 0;
  }

  look(i: number): void {
    this.to = this.rows.time[i]!;
    this.all = this.rows.weight[i]!;
    this.from = Math.max(0, this.to - this.all * this.span);
    this.first = Math.floor(this.from * this.scale);
    this.last = Math.floor(this.to * this.scale);
  }

  /** What of the sample's weight is in one of these bins. */
  weight(bin: number): number {
    if (this.first === this.last) return this.all;
    const part = Math.min(this.to, (bin + 1) / this.scale) - Math.max(this.from, bin / this.scale);
    return (this.all * part) / (this.to - this.from);
  }
}

export class Answers {
  private readonly keptMatches = new Kept<Matches | null>();
  private readonly keptUnder = new Kept<Under | null>();
  private readonly keptWeights = new Kept<Weights>();
  private readonly keptMethods = new Kept<Methods>();
  private readonly keptKinds = new Kept<Float64Array>();
  private readonly keptTree = new Kept<StackTree>();
  private readonly keptCallers = new Kept<StackTree>();
  private readonly keptCallees = new Kept<StackTree>();
  private readonly keptHistogram = new Kept<Histogram>();
  private readonly keptMatchedHistogram = new Kept<Float64Array | null>();

  constructor(readonly recording: Recording) {}

  rows(s: Selection): EventRows {
    return this.recording.events[s.event]!;
  }

  shown(s: Selection): Shown {
    return this.recording.shown(s.native);
  }

  matches(s: Selection): Matches | null {
    const bare = s.native === 'none';
    return this.keptMatches.get(`${bare}|${searchKey(s)}`, () => findFrames(this.recording, s.search, s.regex, bare));
  }

  private under(s: Selection): Under | null {
    const matches = this.matches(s);
    const { trie } = this.shown(s);
    return this.keptUnder.get(`${s.native}|${searchKey(s)}`, () => matches && this.markUnder(trie, matches.frames));
  }

  private markUnder({ parent, frame, nodes: count }: Trie, matching: Uint8Array): Under {
    const nodes = new Uint8Array(count);
    const tops: number[] = [];
    for (let n = 1; n < nodes.length; n++) {
      if (nodes[parent[n]!] === 1) nodes[n] = 1;
      else if (matching[frame[n]!] === 1) {
        nodes[n] = 1;
        tops.push(n);
      }
    }
    return { nodes, tops };
  }

  private wanted(s: Selection, keep: Uint8Array | null): Wanted {
    return new Wanted(this.rows(s), s, this.recording.meta.threads.length, keep);
  }

  private wantedNow(s: Selection): Wanted {
    return this.wanted(s, s.only ? (this.under(s)?.nodes ?? null) : null);
  }

  weights(s: Selection): Weights {
    return this.keptWeights.get(weightsKey(s), () => this.countWeights(s));
  }

  private countWeights(s: Selection): Weights {
    const { trie, place } = this.shown(s);
    const { time, thread, node, weight, waiting: didNotRun } = this.rows(s);
    const all = sums(trie.nodes);
    const waiting = didNotRun && sums(trie.nodes);
    const byThread = new Float64Array(this.recording.meta.threads.length);
    const waitingByThread = didNotRun && new Float64Array(byThread.length);
    const wanted = this.wantedNow(s);
    const first = s.time ? lowerBound(time, s.time.from) : 0;
    const end = s.time ? lowerBound(time, s.time.to) : time.length;
    for (let i = first; i < end; i++) {
      const n = place === null ? node[i]! : place[node[i]!]!;
      if (!wanted.stack(n)) continue;
      const waits = didNotRun !== null && didNotRun[i] === 1;
      byThread[thread[i]!]! += weight[i]!;
      if (waits) waitingByThread![thread[i]!]! += weight[i]!;
      if (!wanted.thread(i)) continue;
      all.self[n]! += weight[i]!;
      if (waits) waiting!.self[n]! += weight[i]!;
    }
    for (const { self, total } of waiting ? [all, waiting] : [all]) {
      total.set(self);
      for (let n = trie.nodes - 1; n > ROOT; n--) total[trie.parent[n]!]! += total[n]!;
    }
    return { ...all, trie, sum: all.total[ROOT]!, waiting, byThread, waitingByThread };
  }

  methods(s: Selection): Methods {
    return this.keptMethods.get(weightsKey(s), () => {
      const weights = this.weights(s);
      const { trie, waiting } = weights;
      return { ...this.byFrame(trie, weights), waiting: waiting && this.byFrame(trie, waiting) };
    });
  }

  private byFrame({ nodes, frame, outermost }: Trie, { self, total }: Sums): Sums {
    const methods = sums(this.recording.frames);
    for (let n = 0; n < nodes; n++) {
      if (total[n] === 0) continue;
      const f = frame[n]!;
      methods.self[f]! += self[n]!;
      if (outermost[n] === 1) methods.total[f]! += total[n]!;
    }
    return methods;
  }

  /** Samples whose stack has a match, each once. */
  matched(s: Selection): number {
    const { total } = this.weights(s);
    return (this.under(s)?.tops ?? []).reduce((sum, n) => sum + total[n]!, 0);
  }

  /** Samples by kind of their leaf. */
  kinds(s: Selection): Float64Array {
    return this.keptKinds.get(weightsKey(s), () => {
      const { frameKind } = this.recording;
      const { self, trie } = this.weights(s);
      const { nodes, frame } = trie;
      const kinds = new Float64Array(KINDS.length);
      for (let n = 0; n < nodes; n++) if (self[n] !== 0) kinds[frameKind[frame[n]!]!]! += self[n]!;
      return kinds;
    });
  }

  /** The tree of the selection, from its threads' starts or, reversed, from its leaves. */
  tree(s: Selection, order: Order): StackTree {
    const key = `${weightsKey(s)}|${s.reverse}|${s.collapse}|${order}`;
    return this.keptTree.get(key, () =>
      (s.reverse ? reversed : forward)(this.recording, this.weights(s), s.collapse, order),
    );
  }

  callersOf(s: Selection, method: number, order: Order): StackTree {
    const key = `${weightsKey(s)}|${method}|${s.collapse}|${order}`;
    return this.keptCallers.get(key, () =>
      callersOf(this.recording, this.weights(s), method, s.collapse, order),
    );
  }

  calleesOf(s: Selection, method: number, order: Order): StackTree {
    const key = `${weightsKey(s)}|${method}|${s.collapse}|${order}`;
    return this.keptCallees.get(key, () =>
      calleesOf(this.recording, this.weights(s), method, s.collapse, order),
    );
  }

  /** The place of a method where most samples are: the frames from the root to it. */
  heaviestStack(s: Selection, method: number): number[] {
    const { total, trie } = this.weights(s);
    const { nodes, frame } = trie;
    let best = ROOT;
    let most = 0;
    for (let n = 1; n < nodes; n++)
      if (frame[n] === method && total[n]! > most) {
        best = n;
        most = total[n]!;
      }
    const stack = trie.stack(best);
    return s.collapse ? stack.filter((f, i) => f !== stack[i - 1]) : stack;
  }

  /** Length of the recording in its units of time; never 0, and no sample lies outside. */
  duration(s: Selection): number {
    const { meta } = this.recording;
    const { time } = this.rows(s);
    const last = time.length > 0 ? time[time.length - 1]! + 1 : 1;
    return Math.max(last, Math.ceil(meta.duration_ns / meta.time_unit_ns));
  }

  /** Samples over all of the time, of the chosen threads. */
  histogram(s: Selection, bins: number): Histogram {
    const key = `${samplesKey(s)}|${onlyKey(s)}|${bins}`;
    return this.keptHistogram.get(key, () => this.countHistogram(s, bins));
  }

  private countHistogram(s: Selection, bins: number): Histogram {
    const { frameKind } = this.recording;
    const { trie, place } = this.shown(s);
    const { node } = this.rows(s);
    const values = new Float64Array(bins * KINDS.length);
    const heights = new Float64Array(bins);
    const wanted = this.wantedNow(s);
    const when = this.when(s, bins);
    for (let i = 0; i < node.length; i++) {
      const n = place === null ? node[i]! : place[node[i]!]!;
      if (!wanted.thread(i) || !wanted.stack(n)) continue;
      const kind = frameKind[trie.frame[n]!]!;
      when.look(i);
      for (let bin = when.first; bin <= when.last; bin++) {
        const weight = when.weight(bin);
        values[bin * KINDS.length + kind]! += weight;
        heights[bin]! += weight;
      }
    }
    return { bins, values, highest: heights.reduce((a, b) => Math.max(a, b), 0) };
  }

  private when(s: Selection, bins: number): When {
    return new When(this.rows(s), bins / this.duration(s), this.recording.meta.time_unit_ns);
  }

  /** Of the samples in each bin of the histogram those whose stack has a match; null without a search. */
  matchedHistogram(s: Selection, bins: number): Float64Array | null {
    const key = `${samplesKey(s)}|${searchKey(s)}|${bins}`;
    return this.keptMatchedHistogram.get(key, () => {
      const under = this.under(s);
      return under && this.countMatched(s, bins, under.nodes);
    });
  }

  private countMatched(s: Selection, bins: number, under: Uint8Array): Float64Array {
    const { place } = this.shown(s);
    const { node } = this.rows(s);
    const heights = new Float64Array(bins);
    const wanted = this.wanted(s, under);
    const when = this.when(s, bins);
    for (let i = 0; i < node.length; i++) {
      if (!wanted.thread(i) || !wanted.stack(place === null ? node[i]! : place[node[i]!]!)) continue;
      when.look(i);
      for (let bin = when.first; bin <= when.last; bin++) heights[bin]! += when.weight(bin);
    }
    return heights;
  }
}
