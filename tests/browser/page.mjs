// SPDX-License-Identifier: MIT
// A browser with one page of dnprof in it, watched for everything it must not do.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
export const web = join(here, '../../web');
const { chromium } = createRequire(join(web, 'package.json'))('playwright-core');
const { buildPage } = await import(pathToFileURL(join(web, 'build.mjs')));
const { encode, fill } = await import(pathToFileURL(join(web, 'tools/encode.mjs')));
export const samples = await import(pathToFileURL(join(web, 'tools/sample.mjs')));
export const calls = await import(pathToFileURL(join(web, 'tools/sample-trace.mjs')));
export const runs = await import(pathToFileURL(join(web, 'tools/sample-runs.mjs')));
export const { encodeMeta } = await import(pathToFileURL(join(web, 'tools/encode.mjs')));

export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
export const skip = existsSync(CHROMIUM) ? false : `no browser at ${CHROMIUM} (CHROMIUM names another)`;

/** Nothing on a page takes so long on any machine: a limit for hangs. */
export const HANG_MS = 300_000;

/** The speed tests at full size against what is promised; else smaller ones that look for what is broken. */
export const SOAK = Boolean(process.env.DNPROF_TEST_SOAK);

const ARGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

const folder = mkdtempSync(join(tmpdir(), 'dnprof-page-'));
export const shots = join(web, 'dist/shots');
mkdirSync(shots, { recursive: true });

const BLANK = 'about:blank';

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

/** What the page did that it must not, and where it is from. */
let watched = { url: '', wrong: [] };
let page;

/** The one page of the browser: to open another takes longer than most tests. */
async function onlyPage() {
  if (page && !page.isClosed()) return page;
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ARGS, timeout: HANG_MS });
  const context = await browser.newContext();
  context.setDefaultTimeout(HANG_MS);
  page = await context.newPage();
  const wrong = (what) => watched.wrong.push(what);
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && wrong(`console: ${m.text()}`));
  page.on('pageerror', (e) => wrong(`error: ${e.message}`));
  page.on('dialog', (d) => wrong(`dialog: ${d.message()}`));
  page.on('request', (r) => ![watched.url, BLANK].includes(r.url().split('#')[0]) && wrong(`request: ${r.url()}`));
  page.on('crash', () => {
    wrong('it crashed');
    page = undefined;
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (e) => window.violations.push(e.violatedDirective));
  });
  return page;
}

/** Leaves nothing for the next file: what the page has stored, and where the pointer is. */
async function leave(page) {
  await page.evaluate(() => localStorage.clear());
  await page.mouse.move(0, 0);
  await page.goto(BLANK);
}

/** Opens a file in the page; `done` leaves it and says what it did that it must not. One at a time. */
export async function open(file, { width = 1440, height = 900, scheme = 'light', hash = '', motion = 'reduce' } = {}) {
  const page = await onlyPage();
  const wrong = [];
  watched = { url: pathToFileURL(file).href, wrong };
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: motion });
  await page.goto(watched.url + (hash && `#${hash}`));
  await page.waitForSelector('.header, .failure');
  await settle(page);
  return {
    page,
    async done() {
      wrong.push(...(await page.evaluate(() => window.violations)).map((v) => `policy: ${v}`));
      await leave(page);
      return wrong;
    },
  };
}

/** A test of what a page does, which must do nothing wrong meanwhile. */
export function browserTest(name, file, options, run) {
  test(name, { skip }, async () => {
    const { page, done } = await open(file, options);
    try {
      await run(page);
    } finally {
      assert.deepEqual(await done(), []);
    }
  });
}

/** Waits until what was asked for is drawn. */
export const settle = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)))));

/** Waits by the page's own clock: what it has put off for a shorter time has happened then, however busy the machine is. */
export async function rest(page, ms) {
  await page.evaluate((ms) => new Promise((done) => setTimeout(done, ms)), ms);
  await settle(page);
}

/** The state in the address, which follows the page with a delay. */
export async function hashOf(page) {
  await rest(page, 250);
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

/** The time the page itself works for an action: all it renders and draws until nothing is left to do. */
export async function cost(page, action, wait = 0) {
  await page.evaluate(() => performance.clearMeasures());
  await action();
  await rest(page, wait);
  const spent = await page.evaluate(() => performance.getEntriesByType('measure').map((m) => [m.name, m.startTime, m.duration]));
  // A draw inside of a render is part of it.
  const renders = spent.filter(([name]) => name === 'dnprof-render');
  const draws = spent.filter(([name, start]) => name === 'dnprof-draw' && !renders.some(([, s, d]) => start >= s && start < s + d));
  return Math.max(0, ...[...renders, ...draws].map(([, , duration]) => duration));
}

/** What lies outside of the window or over something else. Runs in the page. */
export function layoutFaults() {
  const faults = [];
  if (document.documentElement.scrollWidth > innerWidth) faults.push('the page is wider than the window');
  const boxes = [...document.querySelectorAll('button, input, select, h1, .command, .stat, .event-name, .event-note, .event-facts, .choice, .share, .crumbs, .focus-share, .legend-item')]
    .filter((e) => e.offsetParent && !e.closest('.table-body, .table-head, .menu, dialog'))
    .map((e) => [e, e.getBoundingClientRect()]);
  for (const [a, p] of boxes) {
    if (p.width > 0 && (p.right > innerWidth + 1 || p.left < -1)) faults.push(`${a.className || a.tagName} is outside`);
    for (const [b, q] of boxes) {
      if (a === b || a.contains(b) || b.contains(a)) continue;
      const w = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const h = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (w > 1 && h > 1) faults.push(`${a.textContent || a.className} over ${b.textContent || b.className}`);
    }
  }
  return faults;
}
