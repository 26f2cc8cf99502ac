// SPDX-License-Identifier: MIT

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sections, unpack } from '../src/data/decode.ts';
import { DataError, parseMeta } from '../src/data/meta.ts';
import { Recording } from '../src/data/recording.ts';
import { printable } from '../src/data/printable.ts';
import { notesText } from '../src/ui/shown.ts';
import { encode, encodeData, encodeMeta, fill } from '../tools/encode.mjs';
import { hostile, HOSTILE, random, server, shop } from '../tools/sample.mjs';
import { load } from './helpers.ts';

function canUnpack(): boolean {
  try {
    return Boolean(new DecompressionStream('deflate-raw' as CompressionFormat));
  } catch {
    return false;
  }
}

const skip = canUnpack() ? false : 'this node has no DecompressionStream for deflate-raw';

const open = (block: { meta: string; data: string }) => Recording.unpack(parseMeta(block.meta), block.data);

const fails = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof DataError, String(error));
  assert.match(error.message, pattern);
  return true;
};

test('what the exporter packs is what the page reads', { skip }, async () => {
  const sample = shop();
  const recording = await open(encode(sample));
  const [event] = recording.events;
  assert.deepEqual(recording.trie.parent, sample.nodeParent);
  assert.deepEqual(recording.trie.frame, sample.nodeFrame);
  assert.deepEqual(event!.time, sample.events[0]!.time);
  assert.deepEqual(event!.weight, sample.events[0]!.weight);
  assert.equal(recording.name(0), 'all');
  assert.equal(recording.name(recording.trie.frame[recording.trie.nodes - 1]!), sample.strings[sample.frameName[sample.nodeFrame.at(-1)!]!]);
});

test('sections and events nobody knows yet are ignored', { skip }, async () => {
  const sample = shop();
  sample.extra = [{ name: 'lane.start', type: 'u32', data: new Uint32Array(5) }];
  (sample.meta['events'] as object[]).push({ name: 'gc', unit: 'bytes' });
  const recording = await open(encode(sample));
  assert.deepEqual(recording.events.map((e) => e.info.name), ['cpu']);
});

test('a section of an unknown type needs only its size', () => {
  const infos = [{ name: 'new', type: 'zigzag', bytes: 12 }, { name: 'frame.kind', type: 'u8', count: 3 }];
  const sections = Sections.of(Uint8Array.from({ length: 24 }, (_, i) => i).buffer, infos);
  assert.deepEqual([...sections.u8('frame.kind')], [16, 17, 18]);
  assert.throws(() => Sections.of(new ArrayBuffer(8), [{ name: 'new', type: 'zigzag', count: 3 }]), fails(/has no size/));
  assert.throws(() => Sections.of(new ArrayBuffer(8), [{ name: 'x', type: 'u32', count: 3 }]), fails(/do not fit/));
  assert.throws(() => sections.u32('frame.kind'), fails(/not of type u32/));
  assert.throws(() => sections.u8('gone'), fails(/"gone" is missing/));
});

test('columns of different lengths are found', { skip }, async () => {
  const sample = server();
  const [, wall] = sample.events;
  wall!.waiting = wall!.waiting!.slice(1);
  await assert.rejects(open(encode(sample)), fails(/columns of event "wall" differ in length/));
});

test('data that is cut anywhere says so', { skip }, async () => {
  const block = encode(shop());
  for (const part of [0.001, 0.3, 0.5, 0.9, 0.9999]) {
    const data = block.data.slice(0, Math.floor(block.data.length * part));
    await assert.rejects(open({ ...block, data }), fails(/damaged or cut off/));
  }
});

test('data of another size than described says so', { skip }, async () => {
  const data = encodeData([{ data: new Uint8Array(64) }]);
  await assert.rejects(unpack(data, 72), fails(/64 of 72 bytes/));
  await assert.rejects(unpack(data, 56), fails(/longer than it says/));
  await assert.rejects(unpack('§§§§', 8), fails(/not base64/));
  assert.equal((await unpack(`\n${data.slice(0, 8)}\n ${data.slice(8)}\n`, 64)).byteLength, 64);
});

test('another version is named, not guessed at', () => {
  assert.throws(() => parseMeta('{"version":2}'), fails(/version 2.*reads version 1/));
  assert.throws(() => parseMeta('{}'), fails(/version 0/));
  assert.throws(() => parseMeta('[1]'), fails(/not an object/));
  assert.throws(() => parseMeta('{"version":1,'), fails(/damaged or cut off/));
  assert.throws(() => parseMeta('{"version":1}'), fails(/no unit of time/));
});

test('missing fields are empty, not fatal', () => {
  const meta = parseMeta('{"version":1,"time_unit_ns":1000,"threads":[{"tid":5},7],"problems":["a",1]}');
  assert.deepEqual(meta.threads, [{ process: 0, tid: 5, name: '', samples: 0, cpu_ns: 0 }]);
  assert.deepEqual(meta.problems, ['a']);
  assert.deepEqual(meta.processes, []);
});

test('names of threads and processes do nothing to the page', () => {
  const meta = parseMeta(JSON.stringify({ version: 1, time_unit_ns: 1, threads: [{ name: 'rtl\u202egnp.exe' }], processes: [{ name: 'a\nb' }] }));
  assert.deepEqual([meta.threads[0]!.name, meta.processes[0]!.name], ['rtl\ufffdgnp.exe', 'a\ufffdb']);
});

test('what a filter leaves in stands beside the note', () => {
  const said = (event: object) => notesText(parseMeta(JSON.stringify({ version: 1, time_unit_ns: 1, events: [event] })).events[0]!);
  assert.equal(said({}), '');
  assert.equal(said({ not_filtered: 'all are shown' }), 'all are shown');
  assert.equal(said({ note: 'biased', not_filtered: 'all are shown' }), 'biased  ·  all are shown');
  assert.equal(said({ note: 'exact', voluntary: 1, involuntary: 0, not_filtered: 'all are shown' }), 'all are shown');
});

test('a number of a table may be unknown', () => {
  const columns = [{ title: 'Name', kind: 'name' }, { title: 'Time', kind: 'ns' }];
  const tables = [{ title: 'Sums', columns, rows: [['a', ''], ['b', 5], ['c', null]] }];
  const meta = parseMeta(JSON.stringify({ version: 1, time_unit_ns: 1, events: [{ tables }] }));
  assert.deepEqual(meta.events[0]!.tables[0]!.rows, [['a', ''], ['b', 5], ['c', 0]]);
});

test('processes that are called the same are told apart', () => {
  const processes = [['app', 1], ['app', 2], ['other', 3]].map(([name, pid]) => ({ name, pid }));
  const meta = parseMeta(JSON.stringify({ version: 1, time_unit_ns: 1000, processes }));
  assert.deepEqual(meta.processes.map((p) => p.name), ['app (1)', 'app (2)', 'other']);
});

test('every index that leads outside is found', () => {
  const broken: [string, number, number, RegExp][] = [
    ['frame.name', 1, 9999, /a name is out of range/],
    ['frame.module', 2, 9999, /a module is out of range/],
    ['node.parent', 5, 5, /before its caller/],
    ['node.frame', 5, 9999, /a frame is out of range/],
    ['cpu.thread', 3, 7, /a thread is out of range/],
    ['cpu.node', 3, 4_000_000_000, /a call is out of range/],
    ['cpu.time', 0, 4_000_000_000, /not in order of time/],
  ];
  for (const [section, at, value, message] of broken)
    assert.throws(() => load(shop(), (name, data) => name === section && (data[at] = value)), fails(message));
  assert.throws(() => load(shop(), (name, data) => name === 'strings' && (data[data.length - 1] = 65)), fails(/strings do not end/));
  assert.equal(load(shop(), (name, data) => name === 'frame.kind' && (data[1] = 200)).frameKind[1], 6);
});

test('random damage is refused or read, but never anything else', () => {
  const next = random(99);
  for (let round = 0; round < 60; round++) {
    const hit = Math.floor(next() * 10);
    let section = 0;
    try {
      const recording = load(shop(), (_, data) => {
        if (section++ !== hit) return;
        for (let i = 0; i < 3; i++) data[Math.floor(next() * data.length)] = next() * 2 ** (next() < 0.5 ? 5 : 32);
      });
      assert.ok(recording.trie.outermost.length === recording.trie.nodes && recording.rank.length === recording.frames);
    } catch (error) {
      assert.ok(error instanceof DataError, String(error));
    }
  }
});

test('outermost marks the first frame of each name on a stack', () => {
  const recording = load(shop());
  for (let n = 0; n < recording.trie.nodes; n++) {
    const above = n === 0 ? [] : recording.trie.stack(n).slice(0, -1);
    const first = n === 0 || !above.includes(recording.trie.frame[n]!);
    assert.equal(recording.trie.outermost[n] === 1, first, `node ${n}`);
  }
});

test('a description cannot end the element it stands in, and reads back the same', () => {
  const text = encodeMeta({ names: HOSTILE });
  assert.doesNotMatch(text, /[<>&\u2028\u2029]/);
  assert.deepEqual(JSON.parse(text), { names: HOSTILE });
  const page = fill('<a>@DNPROF_META@</a><b>@DNPROF_DATA@</b>', encode(hostile()));
  assert.equal(page.split('</script').length, 1);
});

test('what would turn round or hide a name is made visible', () => {
  assert.equal(printable('evil\u202egnp.exe'), 'evil\ufffdgnp.exe');
  assert.equal(printable('a\nb\u0000c\u200bd'), 'a\ufffdb\ufffdc\ufffdd');
  assert.equal(printable('名前 é <T>'), '名前 é <T>');
});
