// SPDX-License-Identifier: MIT
// Writes a page with a recording made up for tests and for work on the page.
//   node tools/make-sample-page.mjs [shop|server|large|hostile] [--out FILE] [--stacks N] [--rows N]

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { buildPage } from '../build.mjs';
import { encode, fill } from './encode.mjs';
import { hostile, large, server, shop } from './sample.mjs';

const MAKERS = { shop, server, large, hostile };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: 'dist/sample.html' }, stacks: { type: 'string' }, rows: { type: 'string' } },
});
const make = MAKERS[positionals[0] ?? 'shop'];
if (!make) {
  console.error(`make-sample-page: no sample "${positionals[0]}"; there are ${Object.keys(MAKERS).join(', ')}`);
  process.exit(2);
}
const sizes = Object.fromEntries(['stacks', 'rows'].filter((k) => values[k]).map((k) => [k, Number(values[k])]));
const recording = make(sizes);
writeFileSync(values.out, fill(await buildPage(), encode(recording)));
console.log(`${values.out}: ${recording.nodeParent.length} calls, ${recording.events[0].time.length} samples`);
