// SPDX-License-Identifier: MIT
// A browser with one page of dnprof in it, watched for everything it must not do.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
export const web = join(here, '../../web');
const { chromium } = createRequire(join(web, 'package.json'))('playwright-core');
const { buildPage } = await import(pathToFileURL(join(web, 'build.mjs')));
const { encode, fill } = await import(pathToFileURL(join(web, 'tools/encode.mjs')));
export const samples = await import(pathToFileURL(join(web, 'tools/sample.mjs')));
export const { encodeMeta } = await import(pathToFileURL(join(web, 'tools/encode.mjs')));

export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
export const skip = existsSync(CHROMIUM) ? false : `no browser at ${CHROMIUM} (CHROMIUM names another)`;

const ARGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

const folder = mkdtempSync(join(tmpdir(), 'dnprof-page-'));
export const shots = join(web, 'dist/shots');
mkdirSync(shots, { recursive: true });

let browser;
let template;
let files = 0;

export async function close() {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}

export async function pageText(recording) {
  template ??= await buildPage();
  return fill(template, encode(recording));
}

export function save(html) {
  const file = join(folder, `page-${files++}.html`);
  writeFileSync(file, html);
  return file;
}

/** Opens a page and returns it with `wrong`, what it did that it must not. */
export async function open(file, { width = 1440, height = 900, scheme = 'light', hash = '', motion = 'reduce' } = {}) {
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: motion });
  const page = await context.newPage();
  const wrong = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && wrong.push(`console: ${m.text()}`));
  page.on('pageerror', (e) => wrong.push(`error: ${e.message}`));
  page.on('dialog', (d) => wrong.push(`dialog: ${d.message()}`));
  const url = pathToFileURL(file).href;
  page.on('request', (r) => r.url().split('#')[0] !== url && wrong.push(`request: ${r.url()}`));
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (e) => window.violations.push(e.violatedDirective));
  });
  await page.goto(url + (hash && `#${hash}`));
  await page.waitForSelector('.header, .failure', { timeout: 60_000 });
  await settle(page);
  return {
    page,
    async done() {
      wrong.push(...(await page.evaluate(() => window.violations)).map((v) => `policy: ${v}`));
      await context.close();
      return wrong;
    },
  };
}

/** Waits until what was asked for is drawn. */
export const settle = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)))));

/** The state in the address, which follows the page with a delay. */
export async function hashOf(page) {
  await page.waitForTimeout(250);
  return page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString());
}

export const textOf = async (page, selector) => (await page.textContent(selector)).trim();

export async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
}

/** The colours of every seventh pixel in a part of a canvas, from a copy of it. */
export const pixels = (page, selector, box) =>
  page.$eval(selector, (canvas, box) => {
    const { x, y, width, height } = box ?? { x: 0, y: 0, width: canvas.width, height: canvas.height };
    const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, -x, -y);
    const { data } = copy.getImageData(0, 0, width, height);
    const colors = [];
    for (let i = 0; i < data.length; i += 4 * 7) colors.push(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return colors;
  }, box);

export const colorsOf = async (page, selector) => new Set(await pixels(page, selector)).size;
