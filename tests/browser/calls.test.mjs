// SPDX-License-Identifier: MIT
// Recordings of calls on the page, in a real browser.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after } from 'node:test';
import { browserTest, calls, close, colorsOf, hashOf, layoutFaults, pageText, pixels, press, save, settle, shots, textOf } from './page.mjs';

after(close);

const recording = calls.trace({ cpu: true });
const callsPage = save(await pageText(recording));
const total = recording.meta.events[0].calls.toLocaleString('en-US');

const stats = (page) => page.$$eval('.stat', (s) => s.map((x) => x.textContent));
const box = async (page) => page.locator('.chart-scroll').boundingBox();

browserTest('calls and times stand in every view, and how they were measured', callsPage, {}, async (page) => {
  assert.equal((await stats(page))[0], `calls${total}`);
  assert.match(await textOf(page, '.event-facts'), /every call recorded with its beginning and end/);
  assert.match(await textOf(page, '.focus-share'), /^\d+ ms$/);
  const flame = await page.locator('.flame-canvas').first().boundingBox();
  await page.mouse.move(flame.x + 40, flame.y + 30);
  assert.match(await textOf(page, '.tooltip'), /Calls\d+Mean of a call[\d.]+ ms/);
  await press(page, '3');
  const row = await page.$$eval('.calltree .table-row:not([hidden]) .cell[data-column=calls]', (c) => c.map((x) => x.textContent));
  assert.ok(row.length > 3 && row.every((t) => /^[\d,]+$/.test(t)));
  await page.selectOption('[aria-label=Event]', 'cpu');
  await settle(page);
  assert.equal((await stats(page))[0].startsWith('samples'), true);
  assert.equal(await page.locator('.calltree .cell[data-column=calls]:visible').count(), 0);
});

browserTest('a call tree that begins with the leaves says nothing of what is of callers', callsPage, { hash: 'view=tree' }, async (page) => {
  const shown = (name) => page.locator(`.calltree .cell[data-column=${name}]:visible`).count();
  for (const name of ['self', 'mean', 'total', 'calls']) assert.ok((await shown(name)) > 0, name);
  await press(page, 'r');
  for (const name of ['self', 'mean']) assert.equal(await shown(name), 0, name);
  assert.ok((await shown('total')) > 0);
});

browserTest('the call tree opens and closes, and its rows are sorted among their own', callsPage, { hash: 'view=tree' }, async (page) => {
  const levels = () => page.$$eval('.calltree .table-row:not([hidden])', (r) => r.map((x) => Number(x.getAttribute('aria-level'))));
  await page.click('text=Close all');
  assert.deepEqual(await levels(), [1, 1]);
  await page.focus('.calltree .table');
  await press(page, 'ArrowRight', 'ArrowDown', 'ArrowRight');
  const open = await levels();
  assert.deepEqual(open.slice(0, 3), [1, 2, 3]);
  await press(page, 'ArrowLeft', 'ArrowLeft', 'ArrowLeft');
  assert.deepEqual(await levels(), [1, 1]);
  await press(page, 'h');
  assert.ok((await levels()).length > 6);
  await page.click('.calltree [role=columnheader] >> text=Calls');
  await settle(page);
  const sorted = await levels();
  assert.equal(sorted[0], 1);
  assert.ok(sorted.every((l, i) => i === 0 || l <= sorted[i - 1] + 1));
  await page.click('.calltree .table-row >> text=Sql.Query');
  await settle(page);
  await press(page, '2');
  assert.match(await textOf(page, '.sandwich-head'), /Shop\.Sql\.Query\(string\).*calls, mean/s);
});

browserTest('a range chosen in the chart is counted in all views, and one chosen elsewhere is drawn', callsPage, { hash: 'view=chart' }, async (page) => {
  const all = await page.$eval('.threads .table-row .cell[data-column=time] .text', (t) => t.textContent);
  const { x, y, width } = await box(page);
  await page.mouse.move(x + width * 0.6, y - 8);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.7, y - 8, { steps: 4 });
  await page.mouse.up();
  await settle(page);
  const part = await page.$eval('.threads .table-row .cell[data-column=time] .text', (t) => t.textContent);
  assert.notEqual(part, all);
  const length = (recording.meta.duration_ns * 0.1) / 1e6;
  assert.ok(Math.abs(parseFloat(part) - length) < length * 0.4, `${part} of about ${length} ms`);
  assert.match(await hashOf(page), /ms=[\d.]+-[\d.]+.*window=/);
  await press(page, '1');
  assert.match(await textOf(page, '.focus-share'), /ms$/);
  await press(page, 'w', '4');
  const strip = await page.locator('.overview-area').boundingBox();
  await page.mouse.move(strip.x + strip.width * 0.5, strip.y + 20);
  await page.mouse.down();
  await page.mouse.move(strip.x + strip.width * 0.6, strip.y + 20, { steps: 4 });
  await page.mouse.up();
  await settle(page);
  assert.match(await textOf(page, '.toolbar .focus-share >> visible=true'), /\+6\.\d+ ms$/);
});

browserTest('the chart zooms to a single call and tells of it', callsPage, { hash: 'view=chart' }, async (page) => {
  await page.focus('.chart-scroll');
  await press(page, 'ArrowDown', 'ArrowDown', 'Enter');
  const status = await textOf(page, '[role=status]');
  assert.match(status, /^Shop\.\w+\.\w+.*Start 0\.\d{9} s, Duration [\d.]+ ms, Of its own [\d.]+ .s, Depth 2, Caller Shop\.Program\.Main/);
  await press(page, 'ArrowDown', 'ArrowRight', 'Enter', 'ArrowDown');
  assert.match(await textOf(page, '[role=status]'), /Depth 4/);
  await press(page, 'x');
  assert.match(await hashOf(page), /ms=/);
  await press(page, 'Shift+F10');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Zoom in on thisEnter');
  await press(page, 'Escape', 'w', '0');
  const { x, y, width } = await box(page);
  const before = await textOf(page, '.toolbar .focus-share >> visible=true');
  await page.mouse.move(x + width * 0.7, y + 50);
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -400);
  await settle(page);
  const zoomed = await textOf(page, '.toolbar .focus-share >> visible=true');
  assert.notEqual(zoomed, before);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.5, y + 50, { steps: 3 });
  await page.mouse.up();
  assert.notEqual(await textOf(page, '.toolbar .focus-share >> visible=true'), zoomed);
  await page.mouse.move(x + width * 0.4, y + 30);
  await page.mouse.click(x + width * 0.4, y + 30);
  await settle(page);
  assert.match(await hashOf(page), /method=/);
  await page.screenshot({ path: join(shots, 'chart-zoomed.png') });
});

browserTest('search fades what does not match in the chart, and m goes from match to match', callsPage, { hash: 'view=chart' }, async (page) => {
  const plain = await colorsOf(page, '.chart .flame-canvas');
  const before = await pixels(page, '.chart .flame-canvas');
  await page.fill('.search input', 'Sql.Parse');
  await settle(page);
  assert.notDeepEqual(await pixels(page, '.chart .flame-canvas'), before);
  assert.ok(plain > 3);
  const found = Number(/^([\d,]+) calls? found/.exec(await textOf(page, 'output.focus-share'))[1].replace(',', ''));
  assert.ok(found > 50);
  await page.focus('.chart-scroll');
  await press(page, 'm');
  const first = await textOf(page, '[role=status]');
  assert.match(first, /^Shop\.Sql\.Parse/);
  await press(page, 'm');
  assert.notEqual(await textOf(page, '[role=status]'), first);
  await press(page, 'Shift+M');
  assert.equal(await textOf(page, '[role=status]'), first);
});

for (const collapse of ['', '&collapse=1'])
  browserTest(`a call of the chart is found in the flame graph of calls, whatever event is shown${collapse && ', recursion folded'}`, callsPage, { hash: `view=chart&event=cpu&q=Text.Escape${collapse}` }, async (page) => {
    await page.focus('.chart-scroll');
    // Parts of a page that are in others.
    for (let i = 0; i < 200 && !/Depth ([89]|1\d)/.test(await textOf(page, '[role=status]')); i++) await press(page, 'm');
    assert.match(await textOf(page, '[role=status]'), /^Shop\.Text\.Escape.*Depth ([89]|1\d)/);
    await press(page, 'Shift+F10');
    await page.click('.menu >> text=In the flame graph');
    await settle(page);
    assert.doesNotMatch(await hashOf(page), /event=/);
    assert.equal(await textOf(page, '.crumbs [aria-current]'), 'Text.Escape');
    await press(page, 'f');
    assert.equal(await textOf(page, '.crumbs [aria-current]'), 'Text.Escape');
  });

const oneMore = calls.trace({ requests: 9 });
oneMore.meta.threads.push({ process: 0, tid: 714, name: 'Idle', samples: 0 });

browserTest('nothing is found where no calls are drawn', save(await pageText(oneMore)), { hash: 'view=chart&q=Sql' }, async (page) => {
  assert.match(await textOf(page, 'output.focus-share'), /^\d+ calls found$/);
  await page.click('.threads .table-row >> text=Idle');
  await settle(page);
  assert.equal(await page.isVisible('.view:not([hidden]) .empty'), true);
  assert.equal(await textOf(page, 'output.focus-share'), '');
});

browserTest('durations of a method are bars, and those chosen are brought out in the chart', callsPage, { hash: 'view=methods' }, async (page) => {
  await page.click('.methods .table-row >> text=Row.Read');
  await settle(page);
  assert.match(await textOf(page, '.durations .facts'), /calls that ended.*half under .*99% under/);
  await page.focus('.durations-area');
  await press(page, 'ArrowLeft');
  assert.match(await page.getAttribute('.durations-area', 'aria-valuetext'), /µs to .*, \d+ calls?$/);
  assert.match(await hashOf(page), /lengths=/);
  const few = Number(/, ([\d,]+) calls?$/.exec(await page.getAttribute('.durations-area', 'aria-valuetext'))[1]);
  await press(page, '4');
  const main = await textOf(page, 'output.focus-share');
  assert.ok(Number(/^(\d+)/.exec(main)[1]) <= few, main);
  await press(page, '2');
  await page.focus('.durations-area');
  await press(page, 'Escape');
  assert.doesNotMatch(await hashOf(page), /lengths=/);
});

for (const depth of ['tree', 'time'])
  browserTest(`calls without their times over time, depth ${depth}`, save(await pageText(calls.trace({ depth, requests: 30 }))), {}, async (page) => {
    assert.equal(await page.locator('.tab').count(), 3);
    assert.match(await textOf(page, '.event-facts'), depth === 'tree' ? /times estimated by samples/ : /every call counted and timed/);
    await press(page, '2');
    assert.equal(await page.locator('.methods [role=columnheader] >> text=Longest').isVisible(), depth === 'time');
    await page.click('.methods .table-row >> nth=0');
    await settle(page);
    assert.equal(await page.isVisible('.durations'), false);
  });

for (const scheme of ['light', 'dark'])
  browserTest(`calls have their place from 900 to 2560 pixels, ${scheme}`, callsPage, { scheme, hash: 'view=chart&method=8&q=Sql' }, async (page) => {
    for (const width of [900, 1180, 1440, 2560]) {
      await page.setViewportSize({ width, height: Math.round(width * 0.6) });
      for (const view of ['1', '2', '3', '4']) {
        await press(page, view);
        assert.deepEqual(await page.evaluate(layoutFaults), [], `${width}, view ${view}`);
        await page.screenshot({ path: join(shots, `calls-${scheme}-${width}-${view}.png`) });
      }
    }
  });
