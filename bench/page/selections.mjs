// SPDX-License-Identifier: MIT
// How long the page takes to count a selection of a recording with many samples, in node: no drawing.
//   node --expose-gc bench/page/selections.mjs [--rows 1e6] [--stacks 5000] [--threads 16] [--waits 0] [--times 9]
// With --calls they are not samples, but so many calls that were recorded one by one.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { large } from '../../web/tools/sample.mjs';
import { manyCalls } from '../../web/tools/sample-trace.mjs';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1e6' }, stacks: { type: 'string', default: '5000' }, threads: { type: 'string', default: '16' },
    waits: { type: 'string', default: '0' }, times: { type: 'string', default: '9' }, calls: { type: 'boolean', default: false },
  },
});
const [rows, stacks, threads, waits, times] = [values.rows, values.stacks, values.threads, values.waits, values.times].map(Number);
const web = join(dirname(fileURLToPath(import.meta.url)), '../../web');
const BINS = 600;

/** What of the page counts, without the page. */
async function model() {
  const { build } = await import(pathToFileURL(join(web, 'node_modules/esbuild/lib/main.js')));
  const folder = mkdtempSync(join(tmpdir(), 'dnprof-bench-'));
  const outfile = join(folder, 'model.mjs');
  const contents = "export { load, state } from './tests/helpers.ts'; export { Answers } from './src/model/answers.ts';";
  await build({ stdin: { contents, resolveDir: web }, outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external', logLevel: 'warning' });
  const made = await import(pathToFileURL(outfile));
  rmSync(folder, { recursive: true });
  return made;
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

function took(act) {
  const begun = performance.now();
  act();
  return performance.now() - begun;
}

/** Megabytes of arrays; what is garbage is among them without --expose-gc. */
async function arrays() {
  for (let i = 0; i < 3; i++) {
    global.gc?.();
    await setTimeout(10);
  }
  return process.memoryUsage().arrayBuffers / 1e6;
}

const { load, state, Answers } = await model();
const answers = new Answers(load(values.calls ? manyCalls({ slices: rows, threads }) : large({ rows, stacks, threads, waits })));
const { events, trie } = answers.recording;
const end = answers.duration(state());
console.log(`${(values.calls ? events[0].time.length : rows).toLocaleString('en')} ${values.calls ? 'rows' : 'samples'} of ${threads} threads, ${new Set(events[0].node).size} stacks, ${trie.nodes} calls`);
const before = await arrays();
for (const what of ['first', 'second', 'third']) console.log(`${what} selection: ${took(() => answers.weights(state({ threads: [what.length] }))).toFixed(1)} ms`);
console.log(`memory kept: ${((await arrays()) - before).toFixed(1)} MB, ${((8 * 2 * trie.nodes) / 1e6).toFixed(1)} MB of it the last answer`);

const half = { from: end / 4, to: (end * 3) / 4 };
const kinds = {
  'nearly all of the time': (i) => ({ time: { from: (i * end) / 1000, to: end } }),
  'a thread': (i) => ({ threads: [i % threads] }),
  'half of the time': (i) => ({ time: { from: half.from + (i * end) / 1000, to: half.to + (i * end) / 1000 } }),
  '1 % of the time': (i) => ({ time: { from: half.from + (i * end) / 1000, to: half.from + (i * end) / 1000 + end / 100 } }),
};
const placed = { 'without native frames': { native: 'none' }, 'only a search': { search: 'Token', only: true } };
for (const [name, change] of Object.entries(placed)) kinds[name] = (i) => ({ ...change, threads: [0, 1 + (i % (threads - 1))] });
for (const [name, change] of Object.entries(kinds)) {
  const costs = Array.from({ length: times + 1 }, (_, i) => took(() => answers.weights(state(change(i)))));
  console.log(`${name}: ${median(costs.slice(1)).toFixed(1)} ms`);
}
for (const [name, change] of Object.entries({ 'histogram, a thread': {}, 'histogram, without native frames': { native: 'none' }, 'histogram, only a search': { search: 'Token', only: true } })) {
  const costs = Array.from({ length: times + 1 }, (_, i) => took(() => answers.histogram(state({ ...change, threads: [0, 1 + (i % (threads - 1))] }), BINS)));
  console.log(`${name}: ${median(costs.slice(1)).toFixed(1)} ms`);
}
