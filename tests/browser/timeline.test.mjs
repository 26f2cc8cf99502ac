// SPDX-License-Identifier: MIT
// The time line of threads, in a real browser.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after } from 'node:test';
import { browserTest, close, colorsOf, hashOf, layoutFaults, pageText, pixels, press, runs, save, settle, shots, textOf } from './page.mjs';

after(close);

const alone = save(await pageText(runs.threads()));
const both = save(await pageText(runs.threads({ cpu: true })));
const full = save(await pageText(runs.threads({ cpu: true, beside: true, told: { marks: 1e6, wakes: 1e7 } })));
const sampled = save(await pageText(runs.threads({ sampled: true })));
const told = save(await pageText(runs.threads({ beside: true, told: { wakes: 9_999_999 } })));
const many = save(await pageText(runs.manyRuns({ slices: 60_000, threads: 3000 })));

const ROW = 22;
const view = { hash: 'view=timeline' };

const box = (page) => page.locator('.runs-canvas').first().boundingBox();
const names = (page) => page.$$eval('.runs-label:not([hidden]) .runs-name', (l) => l.map((x) => x.textContent));
const readout = (page) => textOf(page, '.timeline .focus-share');
const said = (page) => textOf(page, '[role=status].unseen');
const rowOf = async (page, name) => (await names(page)).indexOf(name);

/** Moves the pointer to a part of a row of the time in sight. */
async function point(page, row, part) {
  const { x, y, width } = await box(page);
  await page.mouse.move(x + width * part, y + row * ROW + ROW / 2);
  await settle(page);
}

browserTest('a page of switches alone has the time line and nothing that needs stacks', alone, {}, async (page) => {
  assert.deepEqual(await page.$$eval('.tab', (t) => t.map((x) => x.textContent)), ['Time line']);
  assert.deepEqual(await page.$$eval('.stat dt', (s) => s.map((x) => x.textContent)), ['switches', 'preempted', 'lost']);
  for (const selector of ['.search', '.legend', '.choice']) assert.equal(await page.locator(`${selector}:visible`).count(), 0, selector);
  assert.equal(await page.locator('.runs-label:visible').count(), 17);
  assert.match(await textOf(page, '.overview-scale'), /^highest: \d\.\d CPUs$/);
  assert.match(await textOf(page, '.runs-said'), /^[\d,]+ switches: [\d,]+ to wait, [\d,]+ preempted; 1,234 records lost, hatched$/);
  assert.equal(await textOf(page, '.threads .table-head [aria-sort] button'), 'On-CPU');
  assert.ok((await colorsOf(page, '.runs-canvas')) > 10);
});

browserTest('beside samples it is one more view of the same selection', both, {}, async (page) => {
  assert.deepEqual(await page.$$eval('.tab', (t) => t.map((x) => x.textContent)), ['Flame graph', 'Methods', 'Call tree', 'Time line']);
  await press(page, '4');
  const { x, y, width } = await box(page);
  await page.mouse.move(x + width * 0.5, y - 8);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.6, y - 8, { steps: 3 });
  await page.mouse.up();
  await settle(page);
  assert.match(await hashOf(page), /ms=\d.*window=/);
  assert.match(await textOf(page, '.runs-times h3'), /^200 ms: on-CPU \d+ ms together, \d\.\d\d processors busy$/);
  await page.click('text=Flame graph of this range');
  await settle(page);
  const part = Number(/^([\d,]+) samples/.exec(await textOf(page, '.focus-share'))[1]);
  assert.ok(part > 100 && part < 500, `${part} samples in a tenth of the time`);
  await press(page, '4');
  await page.click('text=Drop the range');
  await settle(page);
  assert.equal(await page.locator('.runs-times:visible').count(), 0);
});

browserTest('zooms by wheel and double click to a slice, whose card says what it was', alone, view, async (page) => {
  const row = await rowOf(page, 'Compute');
  const whole = await readout(page);
  await point(page, row, 0.5);
  for (let i = 0; i < 9; i++) await page.mouse.wheel(0, -400);
  await settle(page);
  assert.notEqual(await readout(page), whole);
  await press(page, '0');
  assert.equal(await readout(page), whole);
  await page.focus('.runs-scroll');
  await press(page, 'Home', 'ArrowRight', 'ArrowRight', 'Enter');
  const zoomed = /\+([\d.]+) (ms|µs)$/.exec(await readout(page));
  assert.ok(zoomed && Number(zoomed[1]) < 100);
  await point(page, 0, 0.5);
  assert.match(await textOf(page, '.tooltip'), /^Computetid 801 · had a processorFrom0\.\d{9} sTo0\.\d{9} sLength[\d.]+ (ms|µs)Processor[01]Ended(by waiting|preempted: it could have gone on)Then(waits|preempted) for /);
  await point(page, 0, 0.04);
  assert.match(await textOf(page, '.tooltip'), /^Compute(waits|preempted: ready, but without a processor|tid)/);
  const { x, y, width } = await box(page);
  await press(page, '0');
  await page.mouse.dblclick(x + width * 0.4, y + ROW / 2);
  await settle(page);
  assert.notEqual(await readout(page), whole);
});

browserTest('is used by keyboard alone, and says where it is', alone, view, async (page) => {
  await page.focus('.runs-scroll');
  await press(page, 'ArrowDown');
  assert.match(await said(page), /^Compute, tid 801 · had a processor\. From .* s, To .* s, Length .*, Processor [01], Ended /);
  const first = await said(page);
  await press(page, 'ArrowRight');
  assert.notEqual(await said(page), first);
  await press(page, 'ArrowLeft');
  assert.equal(await said(page), first);
  await press(page, 'ArrowDown');
  assert.match(await said(page), /^(?!Compute)/);
  await press(page, '+', '+');
  const zoomed = await readout(page);
  await press(page, 'Shift+ArrowRight');
  assert.notEqual(await readout(page), zoomed);
  await press(page, 'x');
  assert.equal(await page.locator('.runs-times:visible').count(), 1);
  await press(page, 'Escape', 'w', ' ');
  assert.equal(await page.locator('.runs-label:visible').count(), 1);
  assert.match(await hashOf(page), /threads=\d+/);
  await press(page, 'Shift+T');
  assert.equal(await page.locator('.runs-label:visible').count(), 17);
});

browserTest('rows are sorted, grouped, hidden and by processor', alone, view, async (page) => {
  await page.selectOption('[aria-label="Order of the rows"]', { label: 'by TID' });
  await settle(page);
  assert.deepEqual((await names(page)).slice(0, 3), ['Main', 'Compute', '.NET BGC']);
  await press(page, 'g');
  assert.equal(await page.locator('.runs-label:visible').count(), 10);
  await page.click('.runs-label >> text=.NET TP Worker');
  await settle(page);
  assert.equal(await page.locator('.runs-label.inner:visible').count(), 8);
  await page.click('.runs-label[aria-expanded]');
  // By keys, too: the cursor stays on the row that it has opened.
  await page.focus('.runs-scroll');
  const several = (await names(page)).findIndex((name) => name.startsWith('.NET TP Worker'));
  await press(page, 'Home', ...Array(several).fill('ArrowDown'), 'Enter');
  assert.equal(await page.locator('.runs-label.inner:visible').count(), 8);
  await press(page, 'Enter');
  assert.equal(await page.locator('.runs-label.inner:visible').count(), 0);
  await press(page, 'i');
  assert.match(await textOf(page, '.timeline .chart-note'), /^6 hidden: each had a processor for less than 0\.1% of the recording\.$/);
  assert.equal(await page.locator('.runs-label:visible').count(), 4);
  await press(page, 'c');
  assert.deepEqual(await names(page), ['CPU 0', 'CPU 1']);
  await point(page, 0, 0.5);
  assert.match(await textOf(page, '.tooltip'), /CPU 0/);
  assert.match(await hashOf(page), /by=cpu&rows=tid&group=1&busy=1/);
});

browserTest('the times of a range are those of its threads, and clocks stand apart', alone, { hash: 'view=timeline&ms=0-1000' }, async (page) => {
  assert.match(await textOf(page, '.runs-times h3'), /^1\.00 s: on-CPU/);
  const head = await page.$$eval('.runs-times .table-head button:visible, .runs-times .table-head button', (b) => b.map((x) => x.textContent));
  assert.deepEqual(head.filter((t) => /On-CPU|Preempted|Waiting|Clock/.test(t)), ['On-CPU', 'Preempted', 'Waiting', 'Clock: CPU', 'Clock: ready']);
  const cells = (column) => page.$eval(`.runs-times .table-row:not([hidden]) .cell[data-column=${column}] .text`, (c) => c.textContent);
  const ms = async (column) => parseFloat(await cells(column));
  assert.ok(Math.abs((await ms('ran')) + (await ms('preempted')) + (await ms('blocked')) - 1000) < 4);
  assert.ok(Math.abs((await ms('cpu')) - (await ms('ran'))) < 10);
  await page.click('.runs-times .table-row >> nth=0');
  await settle(page);
  assert.equal(await page.locator('.runs-label:visible').count(), 1);
});

browserTest('a click on a wait tells what for, and on which stack', both, { hash: 'view=timeline&window=600000000-800000000' }, async (page) => {
  const { x, y, width } = await box(page);
  await page.mouse.click(x + width * 0.63, y + ROW / 2);
  await settle(page);
  assert.match(await textOf(page, '.runs-wait h3'), /^Waited [\d.]+ ms for a lock that another thread holds$/);
  assert.deepEqual((await page.$$eval('.runs-stack li', (l) => l.map((i) => i.textContent))).slice(1, 3), ['System.Threading.Monitor.Enter(object)', 'Server.Compute.Step(int)']);
  assert.match(await said(page), /Waits for a lock that another thread holds \(lock, in futex\), In Monitor\.Enter ← Compute\.Step/);
  await page.click('.runs-wait >> text=Close');
  assert.equal(await page.locator('.runs-wait:visible').count(), 0);
});

browserTest('a slice of a processor is not kept where other threads are chosen', alone, { hash: 'view=timeline&by=cpu' }, async (page) => {
  const { x, y, width } = await box(page);
  await page.mouse.click(x + width * 0.95, y + ROW / 2);
  await settle(page);
  const rows = page.locator('.threads .table-row:visible');
  for (const row of [(await rows.count()) - 1, 0]) {
    await rows.nth(row).click();
    await settle(page);
    assert.match(await hashOf(page), /threads=\d+/);
  }
});

browserTest('what was lost is hatched where it was lost', alone, { hash: 'view=timeline&by=cpu' }, async (page) => {
  const { width } = await page.$eval('.runs-canvas', (c) => ({ width: c.width }));
  const drawn = async (row) => {
    const part = await pixels(page, '.runs-canvas', { x: Math.round(width * 0.621), y: row * ROW, width: Math.round(width * 0.018), height: ROW });
    return new Set(part).size;
  };
  const [other, lost] = [await drawn(0), await drawn(1)];
  assert.ok(lost >= 2, `hatched: ${lost}`);
  const plain = await pixels(page, '.runs-canvas', { x: Math.round(width * 0.621), y: ROW, width: Math.round(width * 0.018), height: 2 });
  assert.ok(new Set(plain).size >= 2, 'above the bar, too');
  const above = await pixels(page, '.runs-canvas', { x: Math.round(width * 0.621), y: 0, width: Math.round(width * 0.018), height: 2 });
  assert.equal(new Set(above).size, 1, `not on the other processor, which has ${other}`);
});

browserTest('marks are flags, which tell their text, are searched for and gone to', told, view, async (page) => {
  assert.match(await textOf(page, '.timeline .chart-note'), /^The page has only the first [\d,]+ of 9,999,999 wake-ups\.$/);
  await page.focus('.runs-scroll');
  await press(page, 'm');
  assert.match(await said(page), /Mark (step|order) .+ · 1\.\d{9} s/);
  const first = await said(page);
  await press(page, 'm');
  const next = await said(page);
  assert.notEqual(next, first);
  await press(page, 'M');
  assert.equal(await said(page), first);
  await press(page, '/');
  await page.keyboard.type('<script>');
  await settle(page);
  const [found, all] = /^(\d+) of (\d+) marks$/.exec(await textOf(page, '.timeline .share')).slice(1).map(Number);
  assert.ok(found > 0 && found < all);
  await press(page, 'Enter', 'm');
  assert.match(await said(page), /^Main, .*Mark order <script>alert\(1\)<\/script> · /);
  await press(page, '+', '+', '+', '+');
  const { x, y, width, height } = await box(page);
  const row = await rowOf(page, 'Main');
  // A line over all rows is at its time; the pennant is to the right of that.
  const line = await page.$eval('.runs-overlay', (c, y) => {
    const { data } = c.getContext('2d').getImageData(0, y, c.width, 1);
    return data.findIndex((v, i) => i % 4 === 3 && v > 0) >> 2;
  }, Math.round(height - 3));
  assert.ok(line > 0 && line < width);
  await page.mouse.move(x + line + 3, y + row * ROW + 4);
  await settle(page);
  const tip = await textOf(page, '.tooltip');
  assert.match(tip, /^Main.*Markorder <script>alert\(1\)<\/script> · /);
  const black = await pixels(page, '.runs-canvas', { x: line + 1, y: row * ROW + 1, width: 7, height: 7 });
  assert.ok(new Set(black).size > 1, 'a flag is drawn');
});

browserTest('marks are gone to where rows are processors, and only some threads are chosen', told, { hash: 'view=timeline&by=cpu&threads=0' }, async (page) => {
  await page.focus('.runs-scroll');
  const heard = [];
  for (const key of ['m', 'm', 'm', 'M']) {
    await press(page, key);
    heard.push(await said(page));
    assert.match(heard.at(-1), /^Main, .*Mark order /);
  }
  assert.equal(new Set(heard).size, 3);
  assert.equal(heard[3], heard[1]);
});

const MS = 1e6;
const WORKERS = [
  [[0, 1000 * MS, 0, runs.HOW.waits]], [[500 * MS, 1000 * MS, 1, runs.HOW.waits]],
  ...[2, 3].map((cpu) => Array.from({ length: 4000 }, (_, i) => [1600 * MS + i * 0.1 * MS, 0.09 * MS, cpu, runs.HOW.waits])),
  ...Array(4).fill([]),
];
const overlapping = save(await pageText(runs.runsOf(WORKERS.map((slices) => ({ slices })), {
  title: 'pool', duration_ns: 2000 * MS, processes: [{ pid: 1, name: 'pool', command: ['pool'], runtime: '', start_ns: 0, duration_ns: 2000 * MS }],
  threads: WORKERS.map((_, i) => ({ process: 0, tid: 10 + i, name: `Worker ${i}` })),
})));

browserTest('a row of several threads tells of each what it did itself, and of many what they did together', overlapping, { hash: 'view=timeline&group=1' }, async (page) => {
  assert.deepEqual(await names(page), ['Worker *']);
  await point(page, 0, 0.6);
  assert.match(await textOf(page, '.tooltip'), /^Worker 1tid 11 .*had a processorFrom0\.500000000 sTo1\.500000000 sLength1\.00 s/);
  await point(page, 0, 0.9);
  assert.match(await textOf(page, '.tooltip'), /^Worker \*.*On-CPU[\d.]+ ms, 1[78]\d%/);
});

browserTest('who woke a thread is told, drawn from row to row, and gone to', told, view, async (page) => {
  await page.selectOption('[aria-label="Order of the rows"]', { label: 'by TID' });
  await settle(page);
  await page.focus('.runs-scroll');
  await press(page, 'ArrowDown', 'ArrowDown', '+', '+', '+', '+', '+', '+', 'ArrowRight');
  for (let i = 0; i < 40 && !/Woken by/.test(await said(page)); i++) await press(page, 'ArrowRight');
  assert.match(await said(page), /^Compute, .*Woken by an interrupt, a timer or a device, [\d.]+ µs before it ran/);
  for (let i = 0; i < 3; i++) await press(page, 'ArrowDown');
  for (let i = 0; i < 40 && !/Woken by/.test(await said(page)); i++) await press(page, 'ArrowRight');
  assert.match(await said(page), /^\.NET TP Worker, .*Woken by Main, [\d.]+ µs before it ran/);
  const row = (await page.$$eval('.runs-label', (l) => l.findIndex((x) => x.classList.contains('active'))));
  assert.ok(row > 2);
  const between = new Set(await pixels(page, '.runs-overlay', { x: 0, y: 2 * ROW, width: Math.round((await box(page)).width), height: ROW }));
  assert.ok(between.size > 1, 'the arrow crosses the rows between');
  await press(page, 'b');
  assert.match(await said(page), /^Main, /);
  await press(page, 'End');
  for (let i = 0; i < 10 && !/redis/.test(await said(page)); i++) await press(page, 'ArrowLeft');
  assert.match(await said(page), /Woken by redis <b>server<\/b> \(process 311\), /);
});

browserTest('looks at clocks are drawn and told as what they are', sampled, view, async (page) => {
  assert.match(await textOf(page, '.runs-said'), /^sampled about every 1\.00 ms: when a thread ran is known no better than that$/);
  assert.match(await textOf(page, '.event-note'), /^perf events are forbidden/);
  assert.equal(await page.locator('.runs-key >> text=preempted').count(), 0);
  assert.deepEqual(await page.$$eval('.runs-share', (s) => s.map((x) => x.textContent).join('')), '');
  await page.focus('.runs-scroll');
  await press(page, 'ArrowDown');
  assert.match(await said(page), /Ended not known: it was only looked at/);
});

browserTest('thousands of threads scroll, and only those in sight are drawn', many, view, async (page) => {
  assert.match(await textOf(page, '.threads h2'), /3,000/);
  await press(page, 'g');
  const rows = await page.locator('.runs-label:visible').count();
  assert.ok(rows > 10 && rows < 60);
  const first = await names(page);
  await page.focus('.runs-scroll');
  await press(page, 'End');
  assert.notDeepEqual(await names(page), first);
  assert.ok((await colorsOf(page, '.runs-canvas')) > 1);
  await press(page, 'Home');
  assert.deepEqual(await names(page), first);
});

for (const scheme of ['light', 'dark'])
  browserTest(`the time line has its place from 900 to 2560 pixels, ${scheme}`, full, { scheme, hash: 'view=timeline&ms=500-900&window=300000000-1200000000' }, async (page) => {
    for (const [width, height] of [[1440, 900], [900, 700], [2560, 1300]]) {
      await page.setViewportSize({ width, height });
      await settle(page);
      assert.deepEqual(await page.evaluate(layoutFaults), [], `${width}`);
      await page.screenshot({ path: join(shots, `timeline-${scheme}-${width}.png`) });
    }
  });
