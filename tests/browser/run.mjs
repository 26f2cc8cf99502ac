// SPDX-License-Identifier: MIT
// Runs the browser tests; `npm ci` in web/ first. Pictures are left in web/dist/shots.
//   node tests/browser/run.mjs [name of a test file]

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const wanted = process.argv[2] ?? '';
const files = readdirSync(here).filter((name) => name.endsWith('.test.mjs') && name.includes(wanted));
const args = ['--test', '--test-concurrency=1', ...files.map((name) => join(here, name))];
const options = Number(process.versions.node.split('.')[0]) < 20 ? args.filter((a) => !a.startsWith('--test-conc')) : args;
process.exit(spawnSync(process.execPath, options, { stdio: 'inherit' }).status ?? 1);
