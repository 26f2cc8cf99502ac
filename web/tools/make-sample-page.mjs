// SPDX-License-Identifier: MIT
// Writes a page with a recording made up for tests and for work on the page.
//   node tools/make-sample-page.mjs [shop|server|large|hostile|trace|calls|threads|runs] [--out FILE] [--stacks N] [--rows N] [--slices N] [--depth D] [--threads N]
//     [--cpu] [--sampled] [--beside]

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { buildPage } from '../build.mjs';
import { encode, fill } from './encode.mjs';
import { manyCalls, trace } from './sample-trace.mjs';
import { manyRuns, threads } from './sample-runs.mjs';
import { hostile, large, server, shop } from './sample.mjs';

const MAKERS = { shop, server, large, hostile, trace, calls: manyCalls, threads, runs: manyRuns };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: 'dist/sample.html' }, stacks: { type: 'string' }, rows: { type: 'string' }, slices: { type: 'string' }, depth: { type: 'string' }, threads: { type: 'string' }, cpu: { type: 'boolean' }, beside: { type: 'boolean' }, sampled: { type: 'boolean' } },
});
const make = MAKERS[positionals[0] ?? 'shop'];
if (!make) {
  console.error(`make-sample-page: no sample "${positionals[0]}"; there are ${Object.keys(MAKERS).join(', ')}`);
  process.exit(2);
}
const sizes = Object.fromEntries(['stacks', 'rows', 'slices', 'threads'].filter((k) => values[k]).map((k) => [k, Number(values[k])]));
if (values.depth) sizes.depth = values.depth;
for (const flag of ['cpu', 'sampled', 'beside']) if (values[flag]) sizes[flag] = true;
const recording = make(sizes);
writeFileSync(values.out, fill(await buildPage(), encode(recording)));
console.log(`${values.out}: ${recording.nodeParent.length} calls, ${recording.events[0].time.length} samples`);
