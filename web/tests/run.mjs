// SPDX-License-Identifier: MIT
// Compiles the unit tests and runs them with node's own runner.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, '../dist/tests');
const tests = readdirSync(here).filter((name) => name.endsWith('.test.ts'));

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await build({
  entryPoints: tests.map((name) => join(here, name)),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node18',
  sourcemap: 'inline',
  packages: 'external',
  external: ['*/build.mjs'],
  logLevel: 'warning',
});
const files = tests.map((name) => join(out, name.replace(/\.ts$/, '.mjs')));
const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...files], { stdio: 'inherit' });
process.exit(status ?? 1);
