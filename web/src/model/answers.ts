// SPDX-License-Identifier: MIT
// From a selection to numbers, by linear passes over the samples and the trie. Each answer is kept
// until something it depends on changes.

import { ROOT, type EventRows, type Recording } from '../data/recording.ts';
import { KINDS } from './kinds.ts';
import { findFrames, type Matches } from './search.ts';
import type { Order, Selection, TimeRange } from './selection.ts';
import { calleesOf, callersOf, forward, reversed, type StackTree } from './tree.ts';

export interface Weights {
  /** Samples whose leaf is this node, and those that went through it. */
  readonly self: Float64Array;
  readonly total: Float64Array;
  readonly sum: number;
  /** In the time range, of every thread, also those not chosen. */
  readonly byThread: Float64Array;
}

export interface Methods {
  readonly self: Float64Array;
  /** A sample counts once for a method, however often that is on its stack. */
  readonly total: Float64Array;
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
const weightsKey = (s: Selection) => `${s.event}|${timeKey(s.time)}|${threadsKey(s.threads)}|${onlyKey(s)}`;

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

  matches(s: Selection): Matches | null {
    return this.keptMatches.get(searchKey(s), () => findFrames(this.recording, s.search, s.regex));
  }

  private under(s: Selection): Under | null {
    const matches = this.matches(s);
    return this.keptUnder.get(searchKey(s), () => matches && this.markUnder(matches.frames));
  }

  private markUnder(matching: Uint8Array): Under {
    const { parent, frame } = this.recording;
    const nodes = new Uint8Array(this.recording.nodes);
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

  private threadMask(s: Selection): Uint8Array | null {
    if (!s.threads) return null;
    const mask = new Uint8Array(this.recording.meta.threads.length);
    for (const t of s.threads) mask[t] = 1;
    return mask;
  }

  weights(s: Selection): Weights {
    return this.keptWeights.get(weightsKey(s), () => this.countWeights(s));
  }

  private countWeights(s: Selection): Weights {
    const { nodes, parent, meta } = this.recording;
    const { time, thread, node, weight } = this.rows(s);
    const self = new Float64Array(nodes);
    const byThread = new Float64Array(meta.threads.length);
    const mask = this.threadMask(s);
    const keep = s.only ? (this.under(s)?.nodes ?? null) : null;
    const first = s.time ? lowerBound(time, s.time.from) : 0;
    const end = s.time ? lowerBound(time, s.time.to) : time.length;
    for (let i = first; i < end; i++) {
      const n = node[i]!;
      if (keep && keep[n] === 0) continue;
      const t = thread[i]!;
      byThread[t]! += weight[i]!;
      if (mask && mask[t] === 0) continue;
      self[n]! += weight[i]!;
    }
    const total = self.slice();
    for (let n = nodes - 1; n > ROOT; n--) total[parent[n]!]! += total[n]!;
    return { self, total, sum: total[ROOT]!, byThread };
  }

  methods(s: Selection): Methods {
    return this.keptMethods.get(weightsKey(s), () => this.countMethods(s));
  }

  private countMethods(s: Selection): Methods {
    const { nodes, frames, frame, outermost } = this.recording;
    const { self, total } = this.weights(s);
    const methods = { self: new Float64Array(frames), total: new Float64Array(frames) };
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
      const { nodes, frame, frameKind } = this.recording;
      const { self } = this.weights(s);
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
    const { nodes, frame } = this.recording;
    const { total } = this.weights(s);
    let best = ROOT;
    let most = 0;
    for (let n = 1; n < nodes; n++)
      if (frame[n] === method && total[n]! > most) {
        best = n;
        most = total[n]!;
      }
    const stack = this.recording.stack(best);
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
    const key = `${s.event}|${threadsKey(s.threads)}|${onlyKey(s)}|${bins}`;
    return this.keptHistogram.get(key, () => this.countHistogram(s, bins));
  }

  private countHistogram(s: Selection, bins: number): Histogram {
    const { frame, frameKind } = this.recording;
    const { time, thread, node, weight } = this.rows(s);
    const values = new Float64Array(bins * KINDS.length);
    const sums = new Float64Array(bins);
    const mask = this.threadMask(s);
    const keep = s.only ? (this.under(s)?.nodes ?? null) : null;
    const scale = bins / this.duration(s);
    let highest = 0;
    for (let i = 0; i < time.length; i++) {
      const n = node[i]!;
      if ((mask && mask[thread[i]!] === 0) || (keep && keep[n] === 0)) continue;
      const bin = Math.floor(time[i]! * scale);
      values[bin * KINDS.length + frameKind[frame[n]!]!]! += weight[i]!;
      sums[bin]! += weight[i]!;
      if (sums[bin]! > highest) highest = sums[bin]!;
    }
    return { bins, values, highest };
  }

  /** Of the samples in each bin of the histogram those whose stack has a match; null without a search. */
  matchedHistogram(s: Selection, bins: number): Float64Array | null {
    const key = `${s.event}|${threadsKey(s.threads)}|${searchKey(s)}|${bins}`;
    return this.keptMatchedHistogram.get(key, () => {
      const under = this.under(s);
      return under && this.countMatched(s, bins, under.nodes);
    });
  }

  private countMatched(s: Selection, bins: number, under: Uint8Array): Float64Array {
    const { time, thread, node, weight } = this.rows(s);
    const sums = new Float64Array(bins);
    const mask = this.threadMask(s);
    const scale = bins / this.duration(s);
    for (let i = 0; i < time.length; i++)
      if (under[node[i]!] === 1 && (!mask || mask[thread[i]!] === 1)) sums[Math.floor(time[i]! * scale)]! += weight[i]!;
    return sums;
  }
}
