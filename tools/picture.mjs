// SPDX-License-Identifier: MIT
// node tools/picture.mjs PAGE.html OUT.png [VIEW]: a page of dnprof as a browser shows it.

import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const { chromium } = createRequire(fileURLToPath(new URL('../web/package.json', import.meta.url)))('playwright-core');
const [file, out, view] = process.argv.slice(2);

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light', reducedMotion: 'reduce' });
await page.goto(pathToFileURL(file).href + (view ? `#view=${view}` : ''));
await page.waitForSelector('.header');
await page.waitForTimeout(500);
await page.screenshot({ path: out });
await browser.close();
