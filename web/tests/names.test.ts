// SPDX-License-Identifier: MIT

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amount, bytes, command, count, date, duration, lostText, percent } from '../src/model/format.ts';
import type { CallsInfo, EventInfo } from '../src/data/meta.ts';
import { cut, Fitter, nameForms, nameParts } from '../src/model/names.ts';
import { escapeRegex } from '../src/model/search.ts';

const FORMS: [string, string[]][] = [
  ['System.String.Join(System.String, System.Object[])', ['System.String.Join', 'String.Join', 'Join']],
  ['Shop.Model.Order..ctor(System.Int32)', ['Shop.Model.Order..ctor', 'Order..ctor', '.ctor']],
  [
    'System.Collections.Generic.Dictionary<System.String, System.Int32>.FindValue(System.String)',
    ['System.Collections.Generic.Dictionary<System.String, System.Int32>.FindValue', 'Dictionary<String, Int32>.FindValue', 'FindValue'],
  ],
  ['A.Outer+Inner.M()', ['A.Outer+Inner.M', 'Outer+Inner.M', 'M']],
  ['Program.<Main>$(System.String[])', ['Program.<Main>$', '<Main>$']],
  ['Shop.Tokenizer+<Split>d__3.MoveNext()', ['Shop.Tokenizer+<Split>d__3.MoveNext', 'Tokenizer+<Split>d__3.MoveNext', 'MoveNext']],
  ['Run(System.Func<System.Int32>)', ['Run']],
  ['libc.so.6!memcpy', ['memcpy']],
  ['libc.so.6!std::sort', ['std::sort', 'sort']],
  ['libcoreclr.so!WKS::gc_heap::mark(unsigned char**)', ['libcoreclr.so!WKS::gc_heap::mark', 'gc_heap::mark', 'mark']],
  ['lib.so!std::sort<std::vector<int> >(std::less<int>)', ['lib.so!std::sort<std::vector<int> >', 'std::sort<vector<int> >']],
  ['libcoreclr.so!+0x5fb350', []],
  ['[k] do_syscall_64', []],
  ['[k] finish_task_switch.isra.0', []],
  ['libc.so.6!memcpy.part.0', ['memcpy.part.0']],
  ['[stub] prestub', []],
  ['Main', []],
  ['gen 0 (allocation)', []],
  ['T.parses (empty)(int)', ['T.parses (empty)', 'parses (empty)']],
  ['', []],
  ['a..b', []],
  ['((((', []],
  ['))))<<<<::::', []],
];

test('names get shorter by arguments, then by namespace, then by type', () => {
  for (const [name, shorter] of FORMS) {
    const forms = nameForms(name);
    assert.equal(forms[0], name);
    for (const form of shorter) assert.ok(forms.includes(form), `${name}: ${JSON.stringify(forms)} lacks ${form}`);
    for (let i = 1; i < forms.length; i++) assert.ok(forms[i]!.length < forms[i - 1]!.length);
    assert.ok(forms.every((f) => f !== '') || name === '');
  }
});

test('a name for a list has its place apart', () => {
  assert.deepEqual(nameParts('System.IO.File.ReadAllText(System.String)'), { short: 'File.ReadAllText', place: 'System.IO' });
  assert.deepEqual(nameParts('libcoreclr.so!WKS::gc_heap::mark(int)'), { short: 'gc_heap::mark', place: 'libcoreclr.so!WKS' });
  assert.deepEqual(nameParts('libc.so.6!memcpy'), { short: 'memcpy', place: 'libc.so.6' });
  assert.deepEqual(nameParts('libc.so.6!+0x10'), { short: 'libc.so.6!+0x10', place: '' });
  const kernel = '[k] finish_task_switch.isra.0';
  assert.deepEqual(nameParts(kernel), { short: kernel, place: '' });
  assert.deepEqual(nameForms(kernel), [kernel, kernel.slice(4)]);
  assert.deepEqual(nameParts('[k] vfs_read'), { short: '[k] vfs_read', place: '' });
});

test('the longest form that fits is taken, the shortest is cut', () => {
  const measure = (text: string) => text.length * 10;
  const fitter = new Fitter(() => 'System.String.Join(System.String)', measure);
  assert.equal(fitter.fit(0, 330), 'System.String.Join(System.String)');
  assert.equal(fitter.fit(0, 320), 'System.String.Join');
  assert.equal(fitter.fit(0, 110), 'String.Join');
  assert.equal(fitter.fit(0, 100), 'Join');
  assert.equal(fitter.fit(0, 30), 'Jo…');
  assert.equal(fitter.fit(0, 20), '');
  assert.equal(cut('😀😀😀', 40, (t) => [...t].length * 10), '😀😀😀'.slice(0, 6) + '…');
});

test('shares and amounts', () => {
  assert.deepEqual(
    [percent(1, 3), percent(1, 100), percent(1, 100_000), percent(0, 5), percent(5, 5), percent(99_999, 100_000), percent(1, 0)],
    ['33.3%', '1.00%', '<0.01%', '0%', '100%', '100%', '0%'],
  );
  assert.equal(count(1234567), '1,234,567');
  const event = { unit: 'samples' } as Parameters<typeof amount>[1];
  assert.deepEqual([amount(1, event), amount(2000, event)], ['1 sample', '2,000 samples']);
});

test('times', () => {
  assert.deepEqual(
    [0, 12, 1500, 20_500_000, 910e6, 10.4e9, 125.2e9, 3725e9].map(duration),
    ['0 s', '12 ns', '1.50 µs', '20.5 ms', '910 ms', '10.4 s', '125 s', '1 h 2 min'],
  );
  assert.equal(date('0'), '');
  assert.equal(date('nonsense'), '');
  assert.match(date('1763726400000000000'), /2025/);
  assert.deepEqual([9.996e9, 99.96e6, 999.7, 999.6e3, 999.6e6, 999.4e6].map(duration), ['10.0 s', '100 ms', '1.00 µs', '1.00 ms', '1.00 s', '999 ms']);
});

test('a command is shown as one could type it', () => {
  assert.equal(command(['dotnet', 'a b.dll', "it's", '--x=1']), `dotnet 'a b.dll' 'it'\\''s' --x=1`);
});

test('a name taken as a regular expression means itself', () => {
  const name = 'A<B>.C(D[], E*)|$^.+?{}\\';
  assert.ok(new RegExp(`^${escapeRegex(name)}$`).test(name));
});

test('bytes have three digits and the unit that fits', () => {
  const cases: [number, string][] = [[0, '0 B'], [950, '950 B'], [1024, '1.00 KiB'], [12_800, '12.5 KiB'], [1_023_999, '0.98 MiB'], [1 << 20, '1.00 MiB'], [5 * 2 ** 40, '5.00 TiB']];
  for (const [n, text] of cases) assert.equal(bytes(n), text);
  const event = { unit: 'bytes', weight_bytes: 4 } as EventInfo;
  assert.equal(amount(256, event), '1.00 KiB');
});

test('what is lost is told with its reasons, and of objects that stay by what was allocated', () => {
  const lost = { lost: 1 << 20, lost_by: [['buffer full', 1 << 20]] as const, allocated: 0, unit: 'bytes', calls: null };
  assert.equal(lostText(lost), 'lost 1.00 MiB: buffer full 1.00 MiB');
  assert.equal(lostText({ ...lost, unit: 'ns' }), 'lost 1.05 ms: buffer full 1.05 ms');
  assert.equal(lostText({ ...lost, unit: 'ns', calls: {} as CallsInfo }), 'lost 1,048,576: buffer full 1,048,576');
  assert.equal(lostText({ ...lost, unit: 'samples' }), 'lost 1,048,576: buffer full 1,048,576');
  assert.equal(lostText({ ...lost, allocated: 200 << 20 }), 'lost 1.00 MiB, 0.50% of the 200 MiB allocated, of which nobody knows what stayed');
  assert.equal(lostText({ ...lost, lost: 0, lost_by: [], allocated: 200 << 20 }), false);
});
