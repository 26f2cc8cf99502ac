// SPDX-License-Identifier: MIT
// From a selection to numbers, by linear passes over the samples or their cells, and the trie. Each answer
// is kept until something it depends on changes.

import type { Calls } from '../data/calls.ts';
import type { EventRows, Recording } from '../data/recording.ts';
import type { Nanoseconds, TimeRange } from '../data/time.ts';
import { bins } from '../data/track.ts';
import { ROOT, type Placed, type Trie } from '../data/trie.ts';
import { KINDS } from './kinds.ts';
import { weighCalls } from './callweights.ts';
import { Counted } from './cells.ts';
import { mark, markFrames, type Marked } from './chart.ts';
import { countDurations, type Durations } from './durations.ts';
import { findFrames, type Matches } from './search.ts';
import type { Order, Selection } from './selection.ts';
import { sums, sumUp, Wanted, type CallSums, type Columns, type Sums, type Weights } from './wanted.ts';
import { calleesOf, callersOf, forward, reversed, type StackTree } from './tree.ts';

/** By frame. A sample counts once for a method's total, however often that is on its stack. */
export interface Methods extends Sums {
  readonly waiting: Sums | null;
  readonly calls: MethodCalls | null;
}

export interface MethodCalls {
  readonly calls: Float64Array;
  /** Time of all its calls, those inside of others included: what `calls` took together. */
  readonly sum: Float64Array;
  /** In the whole recording, in nanoseconds; 0: not known. */
  readonly shortest: Float64Array;
  readonly longest: Float64Array;
}

export interface Histogram {
  readonly bins: number;
  /** Samples by bin and kind of leaf: values[bin * KINDS.length + kind]. */
  readonly values: Float64Array;
  readonly highest: number;
}

/** In place of the kind of a leaf: its samples are not counted. */
const UNWANTED = 255;

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

/** What of the calls of an event is brought out in the drawing of single calls. */
const markKey = (s: Selection, method: number | null, lengths: Nanoseconds | null) =>
  `${searchKey(s)}|${lengths ? `${method}|${lengths.from}-${lengths.to}` : ''}`;
const timeKey = (time: TimeRange | null) => (time ? `${time.from}-${time.to}` : '');
const threadsKey = (threads: readonly number[] | null) => (threads ? threads.join() : '*');
const searchKey = (s: Selection) => `${s.regex ? 'r' : 't'}${s.search}`;
const onlyKey = (s: Selection) => (s.only ? searchKey(s) : '');
/** What is counted, but for the time. */
const samplesKey = (s: Selection) => `${s.event}|${threadsKey(s.threads)}|${s.activity}|${s.native}`;
const weightsKey = (s: Selection) => `${samplesKey(s)}|${timeKey(s.time)}|${onlyKey(s)}`;

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
  /** How wide the bins are that samples stand in the middle of; 0: they are of a moment. */
  private readonly bin: number;
  private readonly moments: boolean;

  constructor(private readonly rows: EventRows, private readonly scale: number, private readonly longest: number, unit_ns: number) {
    this.span = rows.waiting ? rows.info.interval_ns / unit_ns : 0;
    this.bin = (rows.info.calls?.bin_ns ?? 0) / unit_ns;
    this.moments = !rows.calls && this.span === 0;
  }

  look(i: number): void {
    this.to = this.rows.time[i]!;
    this.all = this.rows.weight[i]!;
    if (this.moments) {
      this.first = this.last = Math.floor(this.to * this.scale);
      return;
    }
    const begin = this.bin > 0 ? Math.floor(this.to / this.bin) * this.bin : Math.max(0, this.to - this.all * this.span);
    if (this.bin > 0) this.to = Math.min(this.longest, begin + this.bin);
    this.from = this.rows.calls?.since ? this.rows.calls.since[i]! : begin;
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
  private readonly keptBusy = new Kept<Float32Array>();
  private readonly keptMarked = new Kept<Marked | null>();
  private readonly keptDurations = new Kept<Durations>();
  private readonly keptHistogram = new Kept<Histogram>();
  private readonly keptMatchedHistogram = new Kept<Float64Array | null>();
  /** By event. */
  private readonly countedBy: Counted[] = [];
  private readonly countedCallsBy: Counted[] = [];

  constructor(readonly recording: Recording, /** From how many samples on they are counted by cell. */ private readonly many?: number) {}

  rows(s: Selection): EventRows {
    return this.recording.events[s.event]!;
  }

  placed(s: Selection): Placed {
    return this.recording.placed(s.native);
  }

  matches(s: Selection): Matches | null {
    const bare = s.native === 'none';
    return this.keptMatches.get(`${bare}|${searchKey(s)}`, () => findFrames(this.recording, s.search, s.regex, bare));
  }

  private under(s: Selection): Under | null {
    const matches = this.matches(s);
    const { trie } = this.placed(s);
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

  private wanted(s: Selection, columns: Columns, keep = this.only(s)): Wanted {
    return new Wanted(columns, s, this.recording.meta.threads.length, keep);
  }

  /** The nodes whose samples alone are counted; null: all. */
  private only(s: Selection): Uint8Array | null {
    return s.only ? (this.under(s)?.nodes ?? null) : null;
  }

  private counted(s: Selection): Counted {
    return (this.countedBy[s.event] ??= new Counted(this.rows(s), this.many));
  }

  private countedCalls(s: Selection, { counts }: Calls): Counted {
    return (this.countedCallsBy[s.event] ??= new Counted({ ...counts, waiting: null }, this.many));
  }

  weights(s: Selection): Weights {
    return this.keptWeights.get(weightsKey(s), () => this.countWeights(s));
  }

  private countWeights(s: Selection): Weights {
    const { trie, place } = this.placed(s);
    const rows = this.rows(s);
    if (rows.calls) {
      const counted = { time: this.counted(s), calls: this.countedCalls(s, rows.calls) };
      return weighCalls(this.recording, s, this.placed(s), this.wanted(s, rows), counted);
    }
    const { columns, weight, first, end } = this.counted(s).in(s.time);
    const { thread, node, waiting: didNotRun } = columns;
    const wanted = this.wanted(s, columns);
    const all = sums(trie.nodes);
    const waiting = didNotRun && sums(trie.nodes);
    const byThread = new Float64Array(this.recording.meta.threads.length);
    const waitingByThread = didNotRun && new Float64Array(byThread.length);
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
    for (const part of waiting ? [all, waiting] : [all]) sumUp(trie, part);
    return { ...all, trie, sum: all.total[ROOT]!, waiting, byThread, waitingByThread, calls: null };
  }

  methods(s: Selection): Methods {
    return this.keptMethods.get(weightsKey(s), () => {
      const weights = this.weights(s);
      const { trie, waiting } = weights;
      const calls = weights.calls && this.callsByFrame(s, weights, weights.calls);
      return { ...this.byFrame(trie, weights), waiting: waiting && this.byFrame(trie, waiting), calls };
    });
  }

  private callsByFrame(s: Selection, { trie, total }: Weights, { self }: CallSums): MethodCalls {
    const { frames } = this.recording;
    const methods = { calls: new Float64Array(frames), sum: new Float64Array(frames) };
    for (let n = 0; n < trie.nodes; n++) {
      methods.calls[trie.frame[n]!]! += self[n]!;
      methods.sum[trie.frame[n]!]! += total[n]!;
    }
    return { ...methods, ...this.spansByFrame(this.rows(s).calls!) };
  }

  private spansByFrame({ shortest, longest }: Calls) {
    const { frames, trie } = this.recording;
    const spans = { shortest: new Float64Array(frames), longest: new Float64Array(frames) };
    for (let n = 0; longest && n < trie.nodes; n++) {
      if (longest[n] === 0) continue;
      const f = trie.frame[n]!;
      spans.shortest[f] = spans.longest[f] === 0 ? shortest![n]! : Math.min(spans.shortest[f]!, shortest![n]!);
      spans.longest[f] = Math.max(spans.longest[f]!, longest[n]!);
    }
    return spans;
  }

  /** Single calls, whatever event is shown; null: the recording has none. */
  get single(): EventRows | null {
    return this.recording.events.find((e) => e.calls?.lanes) ?? null;
  }

  /** Of single calls those that match the search, and of `method` those that took so long. */
  marked(s: Selection, lengths: Nanoseconds | null): Marked | null {
    const lanes = this.single!.calls!.lanes!;
    return this.keptMarked.get(markKey(s, s.method, lengths), () => {
      const frames = this.matches(s)?.frames;
      const long = ({ from, to }: Nanoseconds, i: number) => {
        const took = lanes.end[i]! - lanes.start[i]!;
        return lanes.single(i) && lanes.frame(i) === s.method && took >= from && took < to;
      };
      if (lengths) return mark(lanes, (i) => long(lengths, i) && (!frames || frames[lanes.frame(i)] === 1));
      return frames ? markFrames(lanes, frames) : null;
    });
  }

  /** How long the calls of a method took; null where single calls were not timed. */
  durations(s: Selection, method: number): Durations | null {
    const rows = this.rows(s);
    const key = `${s.event}|${threadsKey(s.threads)}|${timeKey(s.time)}|${method}`;
    return rows.calls?.durations ? this.keptDurations.get(key, () => countDurations(this.recording, rows, s, method)) : null;
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
    return trie.stack(best);
  }

  /** Length of the recording in its units of time; never 0, and no sample lies outside. */
  duration(s: Selection): number {
    const { meta } = this.recording;
    const { time } = this.rows(s);
    const last = Math.max(time.length > 0 ? time[time.length - 1]! + 1 : 1, Math.ceil((this.recording.runs?.end ?? 0) / meta.time_unit_ns));
    return Math.max(last, Math.ceil(meta.duration_ns / meta.time_unit_ns));
  }

  /** Samples over all of the time, of the chosen threads. */
  histogram(s: Selection, bins: number): Histogram {
    const key = `${samplesKey(s)}|${onlyKey(s)}|${bins}`;
    return this.keptHistogram.get(key, () => this.countHistogram(s, bins));
  }

  private countHistogram(s: Selection, bins: number): Histogram {
    const { of, kind } = this.leafKinds(s, this.only(s));
    const values = new Float64Array(bins * KINDS.length);
    const heights = new Float64Array(bins);
    const when = this.when(s, bins);
    const { length } = this.rows(s).node;
    for (let i = 0; i < length; i++) {
      const k = kind[of === null ? i : of[i]!]!;
      if (k === UNWANTED) continue;
      when.look(i);
      for (let bin = when.first; bin <= when.last; bin++) {
        const weight = when.weight(bin);
        values[bin * KINDS.length + k]! += weight;
        heights[bin]! += weight;
      }
    }
    return { bins, values, highest: heights.reduce((a, b) => Math.max(a, b), 0) };
  }

  /** Nanoseconds that the chosen threads had a processor, in bins over all of the time. */
  busy(s: Selection, count: number): Float32Array {
    return this.keptBusy.get(`${threadsKey(s.threads)}|${count}`, () => {
      const window = { from: 0, to: this.duration(s) * this.recording.meta.time_unit_ns };
      const into = bins(count);
      for (const track of this.recording.runs!.tracks) if (s.threads === null || s.threads.includes(track.id)) track.addTo(into, window);
      return into.ran;
    });
  }

  private when(s: Selection, bins: number): When {
    const length = this.duration(s);
    return new When(this.rows(s), bins / length, length - 1 / 2, this.recording.meta.time_unit_ns);
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
    const { of, kind } = this.leafKinds(s, under);
    const heights = new Float64Array(bins);
    const when = this.when(s, bins);
    const { length } = this.rows(s).node;
    for (let i = 0; i < length; i++) {
      if (kind[of === null ? i : of[i]!] === UNWANTED) continue;
      when.look(i);
      for (let bin = when.first; bin <= when.last; bin++) heights[bin]! += when.weight(bin);
    }
    return heights;
  }

  /** The kind of each cell's leaf, or of each sample's where those are not counted by cell. */
  private leafKinds(s: Selection, keep: Uint8Array | null): { of: Uint32Array | null; kind: Uint8Array } {
    const { frameKind } = this.recording;
    const { trie, place } = this.placed(s);
    const { cells } = this.counted(s);
    const columns = cells ?? this.rows(s);
    const wanted = this.wanted(s, columns, keep);
    const { node } = columns;
    const kind = new Uint8Array(node.length).fill(UNWANTED);
    for (let i = 0; i < kind.length; i++) {
      const n = place === null ? node[i]! : place[node[i]!]!;
      if (wanted.thread(i) && wanted.stack(n)) kind[i] = frameKind[trie.frame[n]!]!;
    }
    return { of: cells && cells.of, kind };
  }
}
