// SPDX-License-Identifier: MIT
// How long a page with millions of slices takes to open, how fast its time line moves, and how much memory
// it takes, in a browser without a screen.
//   node bench/page/timeline.mjs [--slices 10e6] [--threads 100] [--frames 120] [--size 1600x900] [--open 3]

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { close, open, pageText } from '../../tests/browser/page.mjs';
import { manyRuns } from '../../web/tools/sample-runs.mjs';

const { values } = parseArgs({
  options: {
    slices: { type: 'string', default: '10e6' }, threads: { type: 'string', default: '100' }, frames: { type: 'string', default: '120' },
    size: { type: 'string', default: '1600x900' }, open: { type: 'string', default: '3' },
  },
});
const [slices, threads, frames, opens] = [values.slices, values.threads, values.frames, values.open].map(Number);
const [width, height] = values.size.split('x').map(Number);

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
const spread = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return `p50 ${quantile(sorted, 0.5).toFixed(1)}, p95 ${quantile(sorted, 0.95).toFixed(1)}, worst ${sorted.at(-1).toFixed(1)} ms`;
};

/** The process that has the page: its number, and the seconds of CPU time that it has used. */
async function renderer(page) {
  const browser = await page.context().browser().newBrowserCDPSession();
  const { processInfo } = await browser.send('SystemInfo.getProcessInfo');
  await browser.detach();
  return processInfo.filter((p) => p.type === 'renderer').sort((a, b) => b.cpuTime - a.cpuTime)[0];
}

/** Megabytes in memory of that process, and of its arrays and objects. */
async function memory(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.enable');
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize, backingStorageSize = 0 } = await client.send('Runtime.getHeapUsage');
  const { id } = await renderer(page);
  const resident = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))[1]) / 1024;
  return { process: resident, arrays: (usedSize + backingStorageSize) / 1e6 };
}

/** Moves the picture once a frame; the time from frame to frame, and what the page itself worked in each. */
const moves = (page, kind) =>
  page.evaluate(async ([kind, frames]) => {
    const scroller = document.querySelector('.runs-scroll');
    const box = document.querySelector('.runs-canvas').getBoundingClientRect();
    const next = () => new Promise(requestAnimationFrame);
    const wheel = (options) => scroller.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, clientX: box.x + box.width * 0.37, clientY: box.y + 60, ...options }));
    const step = {
      'zoom in': () => wheel({ deltaY: -60 }),
      'zoom out': () => wheel({ deltaY: 60 }),
      pan: (i) => wheel({ deltaX: i % 40 < 20 ? 40 : -40 }),
      scroll: (i) => (scroller.scrollTop += i % 60 < 30 ? 30 : -30),
    }[kind];
    const [gaps, work] = [[], []];
    await next();
    let last = await next();
    for (let i = 0; i < frames; i++) {
      performance.clearMeasures();
      step(i);
      const now = await next();
      gaps.push(now - last);
      last = now;
      await new Promise((done) => setTimeout(done, 0));
      const spent = performance.getEntriesByType('measure');
      const renders = spent.filter((m) => m.name === 'dnprof-render');
      const outside = spent.filter((m) => m.name === 'dnprof-draw' && !renders.some((r) => m.startTime >= r.startTime && m.startTime < r.startTime + r.duration));
      work.push([...renders, ...outside].reduce((sum, m) => sum + m.duration, 0));
    }
    return { gaps, work };
  }, [kind, frames]);

const file = join(tmpdir(), `dnprof-bench-${process.pid}.html`);
const text = await pageText(manyRuns({ slices, threads }));
writeFileSync(file, text);
console.log(`${slices.toLocaleString('en-US')} slices of ${threads} threads, ${(text.length / 1e6).toFixed(1)} MB`);
for (let i = 0; i < opens; i++) {
  const { page, done } = await open(file, { width, height });
  const opened = await page.evaluate(() => performance.getEntriesByName('dnprof-open')[0].duration);
  const { cpuTime } = await renderer(page);
  console.log(`open: ${(opened / 1000).toFixed(2)} s, ${cpuTime.toFixed(2)} s of CPU time`);
  if (i === opens - 1) {
    const used = await memory(page);
    console.log(`memory: ${used.process.toFixed(0)} MiB of the process, ${used.arrays.toFixed(0)} MB of them arrays and objects`);
    for (const [what, kind] of [['pan over all', 'pan'], ['zoom in', 'zoom in'], ['pan in there', 'pan'], ['zoom out', 'zoom out'], ['scroll', 'scroll']]) {
      const { gaps, work } = await moves(page, kind);
      console.log(`${what}: frame to frame ${spread(gaps)}; work ${spread(work)}`);
    }
  }
  const wrong = await done();
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}
await close();
rmSync(file);
