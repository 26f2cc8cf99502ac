// SPDX-License-Identifier: MIT
// Builds the page: one HTML file with its style and script inside, and two markers where the exporter
// puts a recording.
//   node build.mjs [--out FILE] [--debug]

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const MARKERS = ['@DNPROF_META@', '@DNPROF_DATA@'];

async function loadEsbuild() {
  try {
    return await import('esbuild');
  } catch {
    console.error('web/build.mjs: esbuild is not installed: run "npm ci" in web/ (script/bootstrap does)');
    process.exit(1);
  }
}

const esbuild = await loadEsbuild();

async function bundle(entry, options) {
  const result = await esbuild.build({
    entryPoints: [join(here, 'src', entry)],
    bundle: true,
    write: false,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
    ...options,
  });
  return result.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;

/** Nothing may end the element it stands in, nor look like a marker. */
function check(what, text, forbidden) {
  for (const part of [...MARKERS, ...forbidden])
    if (text.toLowerCase().includes(part.toLowerCase())) throw new Error(`the ${what} contains ${part}`);
  return text;
}

export async function buildPage({ debug = false } = {}) {
  const minify = !debug;
  const js = check(
    'script',
    await bundle('main.ts', { format: 'iife', target: ['chrome103', 'firefox113', 'safari16.4'], minify }),
    ['</script', '<!--', '<script'],
  );
  const css = check('style', await bundle('page.css', { minify }), ['</style']);
  const csp = [
    "default-src 'none'", `script-src ${hash(js)}`, `style-src ${hash(css)}`,
    "base-uri 'none'", "form-action 'none'",
  ].join('; ');
  const parts = { '@CSP@': csp, '@CSS@': css, '@JS@': js };
  const template = readFileSync(join(here, 'src/template.html'), 'utf8');
  const page = template.replace(/@(CSP|CSS|JS)@/g, (marker) => parts[marker]);
  for (const marker of MARKERS)
    if (page.split(marker).length !== 2) throw new Error(`the page does not have ${marker} exactly once`);
  return page;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  const at = args.indexOf('--out');
  const out = resolve(at >= 0 ? args[at + 1] : join(here, 'dist/page.html'));
  const page = await buildPage({ debug: args.includes('--debug') });
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, page);
}
