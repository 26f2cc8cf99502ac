// SPDX-License-Identifier: MIT
// Recordings for tests, and the same answers found the slow and obvious way.

import { parseMeta } from '../src/data/meta.ts';
import { Recording } from '../src/data/recording.ts';
import { Sections, padded } from '../src/data/decode.ts';
import type { Native } from '../src/data/trie.ts';
import { INITIAL, type State } from '../src/model/selection.ts';
import type { StackTree } from '../src/model/tree.ts';
import { sectionsOf } from '../tools/encode.mjs';
import { Builder, random, type SampleRecording } from '../tools/sample.mjs';

export interface Sample {
  readonly time: number;
  readonly thread: number;
  readonly weight: number;
  /** Names, root first. */
  readonly stack: readonly string[];
  readonly waiting?: boolean;
}

export const THREADS = 4;
export const DURATION = 1000;

/** A recording as the page has it, without the packing. */
export function load(sample: SampleRecording, change: (name: string, data: Uint8Array | Uint32Array | Float32Array) => void = () => {}): Recording {
  const list = sectionsOf(sample);
  const infos = list.map(({ name, type, data }) => ({ name, type, bytes: data.byteLength }));
  const buffer = new Uint8Array(infos.reduce((sum, i) => sum + padded(i.bytes), 0));
  let at = 0;
  for (const { name, data } of list) {
    const copy = data.slice();
    change(name, copy);
    buffer.set(new Uint8Array(copy.buffer, copy.byteOffset, copy.byteLength), at);
    at += padded(data.byteLength);
  }
  const meta = parseMeta(JSON.stringify({ ...sample.meta, sections: infos }));
  return Recording.from(meta, Sections.of(buffer.buffer, infos));
}

export function record(samples: readonly Sample[], info: Record<string, unknown> = {}): Recording {
  const builder = new Builder();
  for (const s of samples) builder.sample(s.time, s.thread, builder.stack(s.stack), s.weight, s.waiting ? 1 : 0);
  const threads = Array.from({ length: THREADS }, (_, t) => ({ process: 0, tid: 100 + t, name: `t${t}` }));
  return load(builder.finish({ threads, duration_ns: DURATION * 1000 }, info));
}

/** Stacks over few names, so that recursion, direct and not, is everywhere. */
export function randomSamples(seed: number, count = 300): Sample[] {
  const next = random(seed);
  const names = ['A.a()', 'A.b()', 'B.c()', 'System.D.d()', 'lib.so!e', '[k] f'];
  const pick = (n: number) => Math.floor(next() * n);
  const samples = Array.from({ length: count }, () => ({
    time: pick(DURATION),
    thread: pick(THREADS),
    weight: 1 + pick(3),
    stack: Array.from({ length: pick(8) }, () => names[pick(names.length)]!),
  }));
  return samples.sort((a, b) => a.time - b.time);
}

export const state = (patch: Partial<State> = {}): State => ({ ...INITIAL, ...patch });

export const sum = (samples: readonly Sample[]) => samples.reduce((n, s) => n + s.weight, 0);

/** The samples that a selection counts, whether their threads run or wait. */
export function chosen(samples: readonly Sample[], s: State): Sample[] {
  const found = (name: string) => (s.regex ? new RegExp(s.search, 'i').test(name) : name.includes(s.search));
  return samples.filter(
    (x) =>
      (!s.time || (x.time >= s.time.from && x.time < s.time.to)) &&
      (!s.threads || s.threads.includes(x.thread)) &&
      (!s.only || x.stack.some(found)),
  );
}

const managed = (name: string) => /^(A|B|System)\./.test(name);

/** A stack as it is without native frames, or with those at its leaf alone. */
export function without(stack: readonly string[], native: Native): readonly string[] {
  if (native === 'all') return stack;
  const last = stack.map(managed).lastIndexOf(true);
  const kept = stack.filter((name, i) => managed(name) || (native === 'leaf' && i > last));
  return native === 'none' && kept.length === 0 && stack.length > 0 ? ['[native]'] : kept;
}

/** A tree as text: "name total self" by path; what two trees must agree on. */
export function dump(recording: Recording, tree: StackTree): Map<string, string> {
  const lines = new Map<string, string>();
  const visit = (node: number, path: string) => {
    const here = `${path}/${recording.name(tree.frame(node))}`;
    lines.set(here, `${tree.total(node)} ${tree.self(node)}`);
    const count = tree.childCount(node);
    const first = tree.firstChild(node);
    for (let c = first; c < first + count; c++) visit(c, here);
  };
  visit(0, '');
  return lines;
}

/** The tree that a list of stacks makes, found by adding one stack after the other. */
export function expectedTree(root: string, stacks: readonly { path: readonly string[]; weight: number }[]): Map<string, string> {
  const totals = new Map<string, [number, number]>();
  const add = (key: string, total: number, self: number) => {
    const now = totals.get(key) ?? [0, 0];
    totals.set(key, [now[0] + total, now[1] + self]);
  };
  for (const { path, weight } of stacks) {
    let key = `/${root}`;
    add(key, weight, path.length === 0 ? weight : 0);
    path.forEach((name, i) => {
      key += `/${name}`;
      add(key, weight, i === path.length - 1 ? weight : 0);
    });
  }
  return new Map([...totals].map(([key, [total, self]]) => [key, `${total} ${self}`]));
}

export const folded = (stack: readonly string[]) => stack.filter((name, i) => name !== stack[i - 1]);

export const sorted = (map: Map<string, string>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

export const frameOf = (recording: Recording, name: string) => {
  for (let f = 0; f < recording.frames; f++) if (recording.name(f) === name) return f;
  throw new Error(`no frame ${name}`);
};
