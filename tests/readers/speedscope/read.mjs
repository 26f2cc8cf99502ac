// SPDX-License-Identifier: MIT
// node read.mjs TRACE: opens a file in speedscope and prints what that then exports in its own format, as JSON.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, '../../../web/package.json'));
const { chromium } = require('playwright-core');
const page = join(dirname(require.resolve('speedscope/package.json')), 'dist/release/index.html');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

const folder = mkdtempSync(join(tmpdir(), 'dnprof-speedscope-'));
let browser;
try {
  const script = join(folder, 'profile.js');
  const text = readFileSync(process.argv[2]).toString('base64');
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(process.argv[2]))}, '${text}')`);
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
  const tab = await browser.newPage();
  const wrong = [];
  tab.on('pageerror', (e) => wrong.push(e.message));
  await tab.goto(`${pathToFileURL(page)}#localProfilePath=${script}`);
  const download = tab.waitForEvent('download', { timeout: 60000 });
  await tab.getByText('Export').click({ timeout: 60000 });
  const copy = await (await download).path();
  if (wrong.length) throw new Error(wrong.join('; '));
  process.stdout.write(readFileSync(copy));
} finally {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}
