// SPDX-License-Identifier: MIT
// The report page in a real browser.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after } from 'node:test';
import { browserTest, close, colorsOf, encodeMeta, hashOf, layoutFaults, pageText, pixels, press, rest, samples, save, settle, shots, textOf } from './page.mjs';

after(close);

const shop = samples.shop();
const shopText = await pageText(shop);
const shopPage = save(shopText);
const [cpu] = shop.events;

const nameOf = (frame) => shop.strings[shop.frameName[frame]];

/** Samples that satisfy a condition on their stack (names), thread and time. */
function countSamples(condition) {
  let sum = 0;
  for (let i = 0; i < cpu.time.length; i++) {
    const stack = [];
    for (let n = cpu.node[i]; n !== 0; n = shop.nodeParent[n]) stack.push(nameOf(shop.nodeFrame[n]));
    if (condition(stack, cpu.thread[i], cpu.time[i])) sum += cpu.weight[i];
  }
  return sum;
}

const all = countSamples(() => true);
const share = (n) => `${((100 * n) / all).toFixed((100 * n) / all >= 10 ? 1 : 2)}%`;
const thousands = (n) => n.toLocaleString('en-US');

browserTest('opens from a file: header, threads, picture, legend', shopPage, {}, async (page) => {
  assert.equal(await page.title(), 'Shop.dll – dnprof');
  assert.equal(await textOf(page, 'h1'), 'Shop.dll');
  assert.match(await textOf(page, '.command'), /dotnet Shop\.dll --orders 'data\/orders 2026\.json'/);
  assert.match(await textOf(page, '.title .facts'), /\.NET 10\.0\.12.*pid 48213.*10\.4 s/);
  assert.deepEqual(await page.$$eval('.stat', (s) => s.map((x) => x.textContent)), [
    `samples${thousands(all)}`, 'lost0', 'truncated0', 'unresolved0', 'failed0',
  ]);
  assert.equal(await page.locator('.threads .table-row:visible').count(), 7);
  assert.ok((await colorsOf(page, '.flame-canvas')) > 20);
  assert.ok((await colorsOf(page, '.overview canvas')) > 5);
  const gc = countSamples((stack) => (stack[0] ?? '').includes('!WKS::'));
  assert.ok((await page.$$eval('.legend-item', (l) => l.map((x) => x.textContent))).includes(`GC${share(gc)}`));
});

browserTest('search shows the total share of its matches, each sample once', shopPage, {}, async (page) => {
  await press(page, '/');
  await page.keyboard.type('introsort');
  await settle(page);
  const sorting = countSamples((stack) => stack.some((n) => n.includes('IntroSort')));
  assert.equal(await textOf(page, '.share'), `${share(sorting)} · 1 name`);
  await page.click('.search .toggle >> text=Only');
  await settle(page);
  assert.match(await textOf(page, '.focus-share'), new RegExp(`^${thousands(sorting)} samples`));
  assert.equal(await textOf(page, '.share'), '100% · 1 name');
  await page.focus('.search input');
  await press(page, 'Escape');
  assert.equal(await textOf(page, '.share'), '');
  assert.equal(await hashOf(page), '');
});

browserTest('search takes regular expressions and says when one is wrong', shopPage, {}, async (page) => {
  await page.click('.search .toggle >> text=.*');
  await page.fill('.search input', '^Shop\\.(Search|Pricing)\\.');
  await settle(page);
  const n = countSamples((stack) => stack.some((x) => /^Shop\.(Search|Pricing)\./.test(x)));
  assert.ok((await textOf(page, '.share')).startsWith(`${share(n)} · `));
  await page.fill('.search input', '(');
  await settle(page);
  assert.equal(await textOf(page, '.share'), 'Not a regular expression');
  assert.equal(await page.getAttribute('.search input', 'aria-invalid'), 'true');
});

browserTest('zooms by click, out by Escape, and shows what is under the pointer', shopPage, { motion: 'no-preference' }, async (page) => {
  const box = await page.locator('.flame-canvas').first().boundingBox();
  const [x, y] = [box.x + box.width * 0.9, box.y + 6.5 * 20];
  await page.mouse.move(x, y);
  assert.match(await textOf(page, '.tooltip'), /Shop\.Program\.Main\(String\[\]\)/);
  const main = countSamples((stack) => stack.includes('Shop.Program.Main(String[])'));
  assert.match(await textOf(page, '.tooltip'), new RegExp(`${thousands(main)} samples.*${share(main)}`));
  await page.mouse.click(x, y);
  await rest(page, 400);
  assert.equal(await textOf(page, '.crumb[aria-current]'), 'Program.Main');
  assert.match(await textOf(page, '.focus-share'), new RegExp(share(main)));
  await press(page, 'Escape');
  assert.equal(await textOf(page, '.crumb[aria-current]'), 'All');
});

browserTest('is used by keyboard alone, and says where it is', shopPage, {}, async (page) => {
  await page.focus('.flame-scroll');
  await press(page, 'ArrowDown', 'ArrowRight');
  assert.match(await textOf(page, '[role=status]'), /^dotnet!main\. Native · dotnet\. Total [\d,]+ samples/);
  await press(page, ...Array(5).fill('ArrowDown'));
  assert.match(await textOf(page, '[role=status]'), /^Shop\.Program\.Main/);
  await press(page, 'Enter');
  assert.equal(await textOf(page, '.crumb[aria-current]'), 'Program.Main');
  await press(page, 'Backspace');
  assert.equal(await textOf(page, '.crumb[aria-current]'), 'CallDescrWorkerInternal');
  await press(page, 'Escape', 'o');
  await press(page, 'ArrowUp');
  assert.match(await textOf(page, '[role=status]'), /Total/);
  await press(page, 'Shift+F10');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'menuitem');
  await press(page, 'ArrowDown', 'ArrowDown', 'Enter');
  assert.match(await hashOf(page), /view=methods/);
  await press(page, '1', 'r', 'f', 'n');
  assert.match(await hashOf(page), /callers=1.*collapse=1.*order=name/);
});

browserTest('every control can be reached by Tab and shows the focus', shopPage, {}, async (page) => {
  const seen = new Set();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press('Tab');
    seen.add(await page.evaluate(() => {
      const e = document.activeElement;
      const style = getComputedStyle(e);
      const frame = e.parentElement ? getComputedStyle(e.parentElement, '::after') : style;
      const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
      const shown = outlined || parseFloat(frame.borderTopWidth) >= 2;
      return `${e.getAttribute('aria-label') ?? e.textContent.slice(0, 20)}${shown || e === document.body ? '' : ' UNSEEN'}`;
    }));
  }
  const names = [...seen];
  assert.deepEqual(names.filter((n) => n.endsWith('UNSEEN')), []);
  for (const name of ['Time range', 'Threads', 'Search names', 'Methods', 'Flame graph', 'Leaf first', 'All keys'])
    assert.ok(names.some((n) => n.startsWith(name)) || name === 'Methods', `${name} in ${names.join(' | ')}`);
});

browserTest('chosen threads are those that all views count', shopPage, {}, async (page) => {
  const one = countSamples((_, thread) => thread === 0);
  await page.click('.threads .table-row >> text=Main');
  await settle(page);
  assert.equal(await textOf(page, '.focus-share'), `${thousands(one)} samples`);
  assert.equal(await textOf(page, '.threads h2'), '1 of 7 threads');
  await page.click('.threads .table-row >> text=.NET BGC', { modifiers: ['Control'] });
  await settle(page);
  const two = countSamples((_, thread) => thread === 0 || thread === 5);
  assert.equal(await textOf(page, '.focus-share'), `${thousands(two)} samples`);
  await press(page, '2');
  const top = await page.$$eval('.methods .table-row:not([hidden]) .cell[data-column=self]', (c) => c.map((x) => Number(x.textContent.replace(/,/g, ''))));
  assert.ok(top.reduce((a, b) => a + b, 0) <= two);
  await press(page, 'Shift+T', '1');
  assert.equal(await textOf(page, '.focus-share'), `${thousands(all)} samples`);
  await page.fill('.threads input', 'worker');
  assert.equal(await page.locator('.threads .table-row:visible').count(), 5);
});

browserTest('a time range is dragged, moved and dropped', shopPage, {}, async (page) => {
  const box = await page.locator('.overview-area').boundingBox();
  const drag = async (from, to) => {
    await page.mouse.move(box.x + box.width * from, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + 30, { steps: 3 });
    await page.mouse.up();
    await settle(page);
  };
  await drag(0.25, 0.5);
  const [from, to] = /ms=([\d.]+)-([\d.]+)/.exec(await hashOf(page)).slice(1).map((ms) => Number(ms) * 1000);
  assert.ok(Math.abs(from - 2.6e6) < 3e4 && Math.abs(to - 5.2e6) < 3e4, `${from} ${to}`);
  const inside = countSamples((_, __, time) => time >= from && time < to);
  assert.equal(await textOf(page, '.focus-share'), `${thousands(inside)} samples`);
  assert.match(await page.getAttribute('.overview-area', 'aria-valuetext'), /2\.6\d s – 5\.\d+ s/);
  await page.screenshot({ path: join(shots, 'range.png') });
  await drag(0.4, 0.6);
  const moved = /ms=([\d.]+)-([\d.]+)/.exec(await hashOf(page)).slice(1).map((ms) => Number(ms) * 1000);
  assert.ok(Math.abs(moved[1] - moved[0] - (to - from)) < 2 && moved[0] > from + 1.9e6);
  await page.focus('.overview-area');
  await press(page, '+', 'ArrowLeft', 'Shift+ArrowRight');
  assert.match(await hashOf(page), /ms=/);
  await press(page, 'Escape');
  assert.equal(await textOf(page, '.focus-share'), `${thousands(all)} samples`);
});

browserTest('methods: sorted, filtered, with callers and callees', shopPage, {}, async (page) => {
  await press(page, '2');
  const column = (n) => page.$$eval(`.methods .table-row:not([hidden]) .cell[data-column="${n}"] .text`, (c) => c.map((x) => x.textContent));
  const selfs = (await column('self')).map((t) => Number(t.replace(/,/g, '')));
  assert.deepEqual(selfs, [...selfs].sort((a, b) => b - a));
  await page.click('.methods [role=columnheader] >> text=Method');
  await settle(page);
  assert.equal(await page.getAttribute('.methods [aria-sort]', 'aria-sort'), 'ascending');
  await page.fill('.search input', 'IntroSort');
  await settle(page);
  assert.deepEqual(await column('name'), ['ArraySortHelper<Order>.IntroSort']);
  const total = countSamples((stack) => stack.some((n) => n.includes('.IntroSort(')));
  assert.deepEqual(await column('total'), [thousands(total)]);
  await page.focus('.methods .table');
  await press(page, 'Enter');
  assert.match(await textOf(page, '.sandwich-head'), new RegExp(`IntroSort.*${thousands(total)} samples`));
  assert.ok((await colorsOf(page, '.sandwich .flame-canvas')) > 3);
  await page.screenshot({ path: join(shots, 'methods.png') });
  await page.click('text=In the flame graph');
  await settle(page);
  assert.match(await hashOf(page), /focus=.*|q=/);
  assert.equal(await textOf(page, '.crumb[aria-current]'), 'ArraySortHelper<Order>.IntroSort');
});

browserTest('the address keeps the view, and opens it again', shopPage, { hash: 'view=methods&q=Sort&threads=0&ms=1000-9000&method=3' }, async (page) => {
  assert.equal(await page.inputValue('.search input'), 'Sort');
  assert.equal(await page.getAttribute('.tab >> nth=1', 'aria-selected'), 'true');
  assert.equal(await textOf(page, '.threads h2'), '1 of 7 threads');
  const before = await hashOf(page);
  await page.reload();
  await page.waitForSelector('.header');
  assert.equal(await hashOf(page), before);
  await page.evaluate(() => (location.hash = 'q=Json'));
  await settle(page);
  assert.equal(await page.inputValue('.search input'), 'Json');
});

browserTest('all keys are on "?"', shopPage, {}, async (page) => {
  await press(page, '?');
  const text = await textOf(page, 'dialog[open]');
  for (const what of ['leaf first', 'fold recursion', 'copy the name', 'whole time', 'callers and callees', 'zoom in']) assert.ok(text.includes(what), what);
  await page.screenshot({ path: join(shots, 'help.png') });
  await press(page, 'Escape');
  assert.equal(await page.locator('dialog[open]').count(), 0);
});

browserTest('a kind is brought out, so that colours need not be told apart', shopPage, {}, async (page) => {
  // The first row of the picture is "all", of another kind.
  const first = async () => (await pixels(page, '.flame-canvas', { x: 300, y: 10, width: 1, height: 1 }))[0];
  const before = await first();
  await page.click('.legend-item >> text=GC');
  await page.mouse.move(10, 10);
  await settle(page);
  assert.equal(await page.getAttribute('.legend-item >> nth=4', 'aria-pressed'), 'true');
  assert.notEqual(await first(), before);
  await page.click('.legend-item >> text=GC');
  await page.mouse.move(10, 10);
  await settle(page);
  assert.equal(await first(), before);
});

const hostilePage = save(await pageText(samples.hostile()));

for (const scheme of ['light', 'dark'])
  browserTest(`hostile names stay text, ${scheme}`, hostilePage, { scheme }, async (page) => {
    await press(page, '2');
    await page.hover('.methods .table-row >> nth=2');
    await page.click('.methods .table-row >> nth=2');
    await press(page, '1');
    const box = await page.locator('.flame-canvas').first().boundingBox();
    for (const part of [0.05, 0.3, 0.6]) await page.mouse.move(box.x + box.width * part, box.y + 50);
    await page.mouse.click(box.x + 30, box.y + 50, { button: 'right' });
    await press(page, 'Escape');
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator('img, svg, iframe').count(), 0);
    assert.equal(await page.locator('script').count(), 3);
    assert.ok((await textOf(page, '.problems')).includes('</script><img src=x onerror='));
    assert.equal(await textOf(page, '.stat.warn'), 'lost12');
    await page.screenshot({ path: join(shots, `hostile-${scheme}.png`) });
  });

const meta = (text, change) => {
  const [head, rest] = text.split('<script id="dnprof-meta" type="application/json">');
  const end = rest.indexOf('</script>');
  return `${head}<script id="dnprof-meta" type="application/json">${encodeMeta(change(JSON.parse(rest.slice(0, end))))}${rest.slice(end)}`;
};

const rows = Array.from({ length: 300 }, (_, i) => [`Type${i}<T>`, i * 3, 1000 * (300 - i)]);
const TABLES = [
  { title: 'Types', rows_in_all: 301, columns: [{ title: 'What', kind: 'name' }, { title: 'Objects', kind: 'count' }, { title: 'Bytes', kind: 'bytes' }], rows },
  {
    title: 'Messages', rows_in_all: 3, columns: [{ title: 'Type', kind: 'name' }, { title: 'Message', kind: 'text' }, { title: 'Time', kind: 'ns' }],
    rows: [['A', '<img src=x onerror=alert(1)>', 1500], ['B', 'later', 2500000], ['C', 'not known', '']],
  },
];
const withTables = (change = {}) => save(meta(shopText, (m) => ({ ...m, events: m.events.map((e) => ({ ...e, ...change, tables: TABLES })) })));
const cells = (page) => page.$$eval('.details .table-row:not([hidden])', (r) => r.map((x) => [...x.querySelectorAll('.cell')].map((c) => c.textContent)));

browserTest('tables of an event, sorted by any column, one at a time', withTables(), {}, async (page) => {
  await page.click('.tab >> text=Details');
  await settle(page);
  assert.equal(await textOf(page, '.details .facts'), 'the first 300 of 301, of the whole recording');
  assert.deepEqual((await cells(page))[0], ['1', 'Type0<T>', '0', '293 KiB']);
  await page.click('.details .table-head >> text=Objects');
  await settle(page);
  assert.deepEqual((await cells(page))[0], ['300', 'Type299<T>', '897', '1000 B']);
  await page.click('.details .toggle >> text=Messages');
  await settle(page);
  assert.deepEqual(await cells(page), [['1', 'A', '<img src=x onerror=alert(1)>', '1.50 µs'], ['2', 'B', 'later', '2.50 ms'], ['3', 'C', 'not known', '']]);
  // The keyboard stays where it was, whatever is drawn again.
  const active = () => page.evaluate(() => document.activeElement.closest('.details .toggle, .details .table')?.className ?? '');
  await page.focus('.details .toggle >> text=Messages');
  await press(page, 'Space');
  assert.equal(await active(), 'toggle');
  await page.focus('.details .table');
  await page.hover('.legend button >> nth=0');
  await settle(page);
  assert.match(await active(), /^table/);
  assert.deepEqual(await page.evaluate(layoutFaults), []);
});

browserTest('an event that has tables alone shows them, and nothing to look for', withTables({ rows: 0 }), {}, async (page) => {
  assert.deepEqual(await page.$$eval('.tab', (t) => t.map((x) => x.textContent)), ['Details']);
  assert.deepEqual((await cells(page))[0], ['1', 'Type0<T>', '0', '293 KiB']);
  assert.ok(!(await page.isVisible('.search')) && !(await page.isVisible('.legend')));
});

const tablesBeside = twoEvents();
tablesBeside.events[1] = { info: Object.assign(tablesBeside.events[1].info, { name: 'request', unit: 'requests', rows: 0, tables: TABLES }), ...Object.fromEntries(['time', 'thread', 'node', 'weight'].map((c) => [c, new Uint32Array(0)])) };

browserTest('beside an event that has tables alone threads have no samples', save(await pageText(tablesBeside)), {}, async (page) => {
  const shown = () => page.$$eval('.threads [role=columnheader]', (h) => h.filter((x) => x.offsetParent).map((x) => x.textContent));
  assert.ok((await shown()).includes('Samples'));
  await page.selectOption('[aria-label=Event]', 'request');
  await settle(page);
  assert.deepEqual(await shown(), ['Name', 'TID', 'CPU']);
  await page.selectOption('[aria-label=Event]', 'cpu');
  await settle(page);
  assert.ok((await shown()).includes('Samples'));
});

const BROKEN = {
  'cut in its data': [shopText.slice(0, -60_000), /cut off/],
  'cut before its data': [shopText.slice(0, shopText.indexOf('<script id="dnprof-data"')), /cut off: it holds no recording/],
  'cut in its description': [shopText.slice(0, shopText.lastIndexOf('"time_unit_ns"')), /damaged or cut off/],
  'of a later version': [meta(shopText, (m) => ({ ...m, version: 2 })), /version 2.*reads version 1/],
  'with a part missing': [meta(shopText, (m) => ({ ...m, sections: m.sections.slice(0, -1) })), /longer than it says/],
  'with other data': [shopText.replace(/(type="text\/plain">).{4000}/s, '$1' + 'QUJD'.repeat(1000)), /damaged or cut off/],
};

for (const [what, [text, message]] of Object.entries(BROKEN))
  browserTest(`a page ${what} says so`, save(text), { scheme: 'dark' }, async (page) => {
    assert.equal(await textOf(page, '.failure h1'), 'This recording cannot be shown');
    assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
    assert.match(await textOf(page, '.failure'), message);
  });

for (const scheme of ['light', 'dark'])
  browserTest(`looks right in ${scheme} from 900 to 2560 pixels`, shopPage, { scheme, hash: 'q=Sort' }, async (page) => {
    for (const width of [900, 1180, 1440, 1920, 2560]) {
      await page.setViewportSize({ width, height: Math.round(width * 0.6) });
      for (const view of ['1', '2']) {
        await press(page, view);
        const faults = await page.evaluate(layoutFaults);
        assert.deepEqual(faults, [], `${width}, view ${view}`);
        await page.screenshot({ path: join(shots, `${scheme}-${width}-${view}.png`) });
      }
    }
  });

browserTest('the switch chooses light or dark against the system', shopPage, { scheme: 'light' }, async (page) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await press(page, 'd', 'd');
  assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
  assert.notEqual(await ground(), light);
  await press(page, 'd');
  assert.equal(await ground(), light);
});

browserTest('names are copied, and it says so', shopPage, {}, async (page) => {
  await page.focus('.flame-scroll');
  await press(page, 'ArrowDown', 'ArrowRight', 'y');
  await page.waitForFunction(() => document.querySelector('[role=status]').textContent === 'Copied dotnet!main');
});

browserTest('the time strip shows when matches ran', shopPage, {}, async (page) => {
  const before = await pixels(page, '.overview canvas');
  await page.fill('.search input', 'Regex');
  await rest(page, 300);
  const accent = await page.evaluate(() => {
    const color = getComputedStyle(document.documentElement).getPropertyValue('--accent').trim();
    return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)).join();
  });
  assert.ok(!before.includes(accent) && (await pixels(page, '.overview canvas')).includes(accent));
});

function deep() {
  const builder = new samples.Builder();
  const names = Array.from({ length: 600 }, (_, i) => (i % 3 === 2 ? `Deep.Type${i}.Step()` : 'Deep.Recursion.Down(System.Int32)'));
  for (let i = 0; i < 200; i++) builder.sample(i * 100, 0, builder.stack(names.slice(0, 600 - (i % 2))));
  return builder.finish({ title: 'deep', duration_ns: 20e6, threads: [{ process: 0, tid: 1, name: 'Main' }] });
}

browserTest('stacks of 600 frames are walked and zoomed to the end', save(await pageText(deep())), {}, async (page) => {
  await page.focus('.flame-scroll');
  for (let i = 0; i < 600; i++) await page.keyboard.press('ArrowDown');
  await settle(page);
  assert.match(await textOf(page, '[role=status]'), /^Deep\.Type599\.Step\(\)/);
  await press(page, 'Enter');
  const focus = await textOf(page, '.crumb[aria-current]');
  assert.equal(focus, 'Type599.Step');
  const scrolled = () => page.$eval('.flame-scroll', (s) => s.scrollTop);
  assert.ok((await scrolled()) > 10_000);
  await page.screenshot({ path: join(shots, 'deep.png') });
  await press(page, 'o');
  assert.ok((await scrolled()) < 1000);
  await rest(page, 250);
  await page.reload();
  await page.waitForSelector('.header');
  await settle(page);
  assert.equal(await textOf(page, '.crumb[aria-current]'), focus);
  assert.ok((await scrolled()) < 1000);
  await press(page, 'f', 'Escape');
  assert.equal(await textOf(page, '.crumb[aria-current]'), 'All');
});

function empty() {
  return new samples.Builder().finish({ title: 'nothing', duration_ns: 1e9, threads: [], problems: ['no thread ran'] });
}

browserTest('a recording without samples is a page like any other', save(await pageText(empty())), {}, async (page) => {
  assert.equal(await textOf(page, '.flame .empty'), 'No samples in this selection.');
  assert.equal(await textOf(page, '.problems'), 'no thread ran');
  await press(page, '2', 'r', '1', 'Tab', 'ArrowDown', 'Enter');
  await page.fill('.search input', 'x');
  await settle(page);
  assert.equal(await textOf(page, '.share'), '0% · 0 names');
});

function twoEvents() {
  const both = samples.shop();
  const [one] = both.events;
  const wall = { ...one.info, name: 'wall', samples: 10, lost: 4 };
  const part = (column) => column.slice(100, 110);
  both.events.push({ info: wall, time: part(one.time), thread: part(one.thread), node: part(one.node), weight: part(one.weight) });
  both.meta.events.push(wall);
  both.meta.processes.push({ pid: 7, name: 'dotnet child.dll', command: ['dotnet', 'child.dll'], runtime: '9.0.1', start_ns: 0, duration_ns: 1 });
  both.meta.threads[6].process = 1;
  return both;
}

browserTest('several events and processes', save(await pageText(twoEvents())), { hash: 'event=wall' }, async (page) => {
  assert.equal(await textOf(page, '.focus-share'), '10 samples');
  assert.deepEqual(await page.$$eval('.stat', (s) => s.map((x) => x.textContent).slice(0, 2)), ['samples10', 'lost4']);
  await page.selectOption('[aria-label=Event]', 'cpu');
  await settle(page);
  assert.equal(await textOf(page, '.focus-share'), `${thousands(all)} samples`);
  assert.match(await textOf(page, '.title .facts'), /\.NET 10\.0\.12.*\.NET 9\.0\.1.*2 processes/);
  assert.equal(await page.locator('.threads .table-row:visible >> text=child.dll').count(), 1);
});

const server = samples.server();
const serverPage = save(await pageText(server));
const seconds = (n) => (n >= 1000 ? `${(n / 100).toFixed(1)} s` : `${(n / 100).toFixed(2)} s`);

/** Samples of the server's wall event that satisfy a condition on thread and state. */
function wallSamples(condition) {
  const [, wall] = server.events;
  let sum = 0;
  for (let i = 0; i < wall.time.length; i++) if (condition(wall.thread[i], wall.waiting[i] === 1)) sum += wall.weight[i];
  return sum;
}

browserTest('an event is chosen, and what has to be known of it stands beside its name', serverPage, {}, async (page) => {
  assert.equal(await page.isVisible('.event-note'), false);
  assert.equal(await page.isVisible('[aria-label=Threads][role=group]'), false);
  await page.selectOption('[aria-label=Event]', 'wall');
  await settle(page);
  assert.match(await textOf(page, '.event-note'), /^safepoint-biased: /);
  const [ran, waited] = [false, true].map((w) => wallSamples((_, waits) => waits === w));
  const facts = await textOf(page, '.event-facts');
  for (const part of [`threads ran ${seconds(ran)}`, `waited ${seconds(waited)}`, 'rests on 1,200 looks: 50% is ± 4.9 points, 5% ± 2.1', 'lost 2: buffer full 2', 'failed 5: moved 3, norule 2'])
    assert.ok(facts.includes(part), `${part} in ${facts}`);
  assert.ok(!facts.includes('CPU time'), facts);
  await press(page, 'Escape', 'e');
  assert.match(await textOf(page, '.event-facts'), /stand for [0-9.]+ s of the 9\.00 s of CPU time that the kernel counted/);
  assert.equal(await page.isVisible('.event-note'), false);
  assert.equal(await hashOf(page), '');
});

const waits = samples.server();
Object.assign(waits.meta.events[1], { unit: 'ns', interval_ns: 0 });
const waitsPage = save(await pageText(waits));

browserTest('of an event that is in nanoseconds it is not said how long threads ran', waitsPage, { hash: 'event=wall' }, async (page) => {
  const facts = await textOf(page, '.event-facts');
  assert.ok(facts.includes('lost 2') && !/threads ran/.test(facts), facts);
});

browserTest('threads that ran or waited are chosen, in all views', serverPage, { hash: 'event=wall' }, async (page) => {
  const total = thousands(wallSamples(() => true));
  const running = thousands(wallSamples((_, waits) => !waits));
  assert.equal(await textOf(page, '.focus-share'), `${total} samples`);
  const box = await page.locator('.flame-canvas').first().boundingBox();
  await page.mouse.move(box.x + box.width / 3, box.y + 10);
  assert.match(await textOf(page, '.tooltip'), /Running6\.\d+ s · 6\.\d+%Waiting9\d\.\d s · 9\d\.\d%/);
  const hatched = await pixels(page, '.flame-canvas');
  await page.click('.choice >> text=Running');
  await settle(page);
  assert.equal(await textOf(page, '.focus-share'), `${running} samples`);
  assert.match(await hashOf(page), /state=running/);
  assert.notDeepEqual(await pixels(page, '.flame-canvas'), hatched);
  await press(page, 's');
  assert.equal(await page.getAttribute('.choice >> text=Waiting', 'aria-pressed'), 'true');
  await press(page, '2');
  const waited = thousands(wallSamples((_, waits) => waits));
  await page.click('.methods .table-row >> nth=0');
  await settle(page);
  assert.match(await textOf(page, '.sandwich-head'), /waited 100% of it/);
  await press(page, 'Escape', '1');
  assert.equal(await textOf(page, '.focus-share'), `${waited} samples`);
  await press(page, 's');
  assert.equal(await textOf(page, '.focus-share'), `${total} samples`);
});

browserTest('a pool is one row, which opens and is chosen as a whole', serverPage, { hash: 'event=wall' }, async (page) => {
  const rows = () => page.$$eval('.threads .table-row:not([hidden])', (r) => r.map((x) => [...x.querySelectorAll('.text, .aside')].filter((t) => t.offsetParent).map((t) => t.textContent)));
  const inPool = (t) => t > 1;
  const pool = ['.NET TP Worker', '×24', seconds(wallSamples((t, w) => inPool(t) && !w)), seconds(wallSamples((t, w) => inPool(t) && w))];
  assert.deepEqual(await rows(), [pool, ['Main', '', '0 s', '4.00 s'], ['.NET BGC', '', '0 s', '4.00 s']]);
  assert.equal(await textOf(page, '.threads h2'), 'Threads (26)');
  await page.click('.threads .table-row >> text=TP Worker');
  await settle(page);
  assert.equal(await textOf(page, '.threads h2'), '24 of 26 threads');
  assert.equal(await textOf(page, '.focus-share'), `${thousands(wallSamples(inPool))} samples`);
  await page.focus('.threads .table');
  await press(page, 'ArrowRight');
  assert.equal(await page.getAttribute('.threads .table-row.active', 'aria-expanded'), 'true');
  await press(page, 'ArrowDown', 'Enter');
  assert.equal(await textOf(page, '.threads h2'), '1 of 26 threads');
  const busiest = Math.max(...Array.from({ length: 24 }, (_, i) => wallSamples((t, w) => t === i + 2 && !w)));
  assert.equal((await rows())[1][2], seconds(busiest));
  await press(page, 'ArrowLeft', 'ArrowLeft');
  assert.equal((await rows()).length, 3);
  await page.click('.threads .table-row .fold >> nth=0');
  await page.fill('.threads input', 'tp worker');
  assert.equal((await page.getAttribute('.threads .table', 'aria-rowcount')), '25');
});

browserTest('two clicks on the triangle of a row do not leave the call tree', shopPage, {}, async (page) => {
  await page.click('.tab >> text=Call tree');
  await settle(page);
  await page.dblclick('.view:not([hidden]) .table-row:not([hidden]) .fold >> nth=0');
  await settle(page);
  assert.equal(await textOf(page, '.tab[aria-selected=true]'), 'Call tree');
});

browserTest('native frames are shown, left out below the leaf, or everywhere', serverPage, {}, async (page) => {
  const names = async () => {
    await press(page, '2');
    const found = await page.$$eval('.methods .table-row:not([hidden]) .cell[data-column=name]', (c) => c.map((x) => x.title));
    await press(page, '1');
    return found;
  };
  const whole = await textOf(page, '.focus-share');
  assert.ok((await names()).includes('libcoreclr.so!CallDescrWorkerInternal'));
  await page.click('.choice >> text=Leaf');
  await settle(page);
  assert.ok(!(await names()).includes('libcoreclr.so!CallDescrWorkerInternal'));
  await page.selectOption('[aria-label=Event]', 'wall');
  await settle(page);
  assert.ok((await names()).includes('[k] tcp_recvmsg'));
  await press(page, 'v');
  assert.match(await hashOf(page), /native=none/);
  const managed = await names();
  assert.ok(managed.includes('[native]') && managed.includes('Web.Model.Init()'));
  assert.deepEqual(managed.filter((n) => n.includes('!') || n.startsWith('[k]')), []);
  await page.fill('.search input', 'Accept');
  await settle(page);
  assert.equal(await textOf(page, '.share'), `${((100 * 400) / wallSamples(() => true)).toFixed(2)}% · 3 names`);
  await page.focus('.search input');
  await press(page, 'Escape');
  await page.focus('.flame-scroll');
  await press(page, 'e', 'v');
  assert.equal(await textOf(page, '.focus-share'), whole);
});

browserTest('a page opens with what it was written with', save(meta(await pageText(server), (m) => ({ ...m, begin: { event: 'wall', native: 'none', state: 'waiting' } }))), {}, async (page) => {
  assert.equal(await textOf(page, '.focus-share'), `${thousands(wallSamples((_, waits) => waits))} samples`);
  assert.equal(await page.getAttribute('.choice >> text=None', 'aria-pressed'), 'true');
  assert.equal(await hashOf(page), '');
  await press(page, 's', 'v');
  const before = await hashOf(page);
  assert.equal(before, 'state=any&native=all');
  await page.reload();
  await page.waitForSelector('.header');
  assert.equal(await hashOf(page), before);
});

for (const scheme of ['light', 'dark'])
  browserTest(`what is shown has its place from 900 to 2560 pixels, ${scheme}`, serverPage, { scheme, hash: 'event=wall' }, async (page) => {
    for (const width of [900, 1180, 1440, 2560]) {
      await page.setViewportSize({ width, height: Math.round(width * 0.6) });
      await settle(page);
      assert.deepEqual(await page.evaluate(layoutFaults), [], String(width));
      await page.screenshot({ path: join(shots, `wall-${scheme}-${width}.png`) });
    }
  });

browserTest('another time does not scroll the picture away', save(await pageText(deep())), {}, async (page) => {
  await page.$eval('.flame-scroll', (s) => (s.scrollTop = 5000));
  await page.click('.threads .table-row >> text=Main');
  await settle(page);
  assert.equal(await page.$eval('.flame-scroll', (s) => s.scrollTop), 5000);
});

function thin() {
  const builder = new samples.Builder();
  for (let i = 0; i < 20_000; i++) builder.sample(i, 0, builder.stack(['Thin.Main()', `Thin.Callee${i}()`]));
  return builder.finish({ title: 'thin', duration_ns: 20e6, threads: [{ process: 0, tid: 1, name: 'Main' }] });
}

browserTest('thin callees are drawn together and say how many they are', save(await pageText(thin())), {}, async (page) => {
  const box = await page.locator('.flame-canvas').first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 50);
  assert.match(await textOf(page, '.tooltip'), /^20,000 more, each too narrow to draw.*20,000 samples/);
  await page.mouse.click(box.x + box.width / 2, box.y + 50);
  assert.equal(await textOf(page, '.crumb[aria-current]'), 'All');
  await page.focus('.flame-scroll');
  await press(page, 'ArrowDown', 'ArrowDown', 'Enter');
  assert.match(await textOf(page, '.crumb[aria-current]'), /^Thin\.Callee/);
});
