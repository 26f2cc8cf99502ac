// SPDX-License-Identifier: MIT
// The colours of the kinds of code must be told apart by everybody, and names be read on them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KINDS } from '../src/model/kinds.ts';

type Vec = [number, number, number];

const linear = (v: number) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const rgb = (hex: string) => [1, 3, 5].map((i) => linear(parseInt(hex.slice(i, i + 2), 16) / 255)) as Vec;
const times = (m: readonly Vec[], v: Vec) => m.map((r) => r[0] * v[0] + r[1] * v[1] + r[2] * v[2]) as Vec;

/** Simulation matrices for linear RGB at full severity: Machado, Oliveira, Fernandes 2009. */
const SIGHT: Record<string, Vec[]> = {
  full: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

function lab(color: Vec): Vec {
  const xyz = times([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], color);
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [x, y, z] = [f(xyz[0] / 0.9505), f(xyz[1]), f(xyz[2] / 1.089)] as Vec;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a: Vec, b: Vec) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
const luminance = (c: Vec) => 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
const contrast = (a: Vec, b: Vec) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
};

/** A difference of 2 is just seen by a trained eye side by side. */
const LEAST_DISTANCE = 12;
const LEAST_CONTRAST = 4.5;

for (const theme of ['light', 'dark'] as const) {
  for (const [sight, matrix] of Object.entries(SIGHT))
    test(`${theme}: each pair of kinds differs with ${sight} sight`, () => {
      const seen = KINDS.map((k) => lab(times(matrix, rgb(k[theme]))));
      KINDS.forEach((a, i) =>
        KINDS.slice(0, i).forEach((b, j) => {
          const d = distance(seen[i]!, seen[j]!);
          assert.ok(d >= LEAST_DISTANCE, `${a.name} and ${b.name}: ${d.toFixed(1)}`);
        }),
      );
    });

  test(`${theme}: names can be read on every colour`, () => {
    const label = rgb(theme === 'light' ? '#15191f' : '#ffffff');
    for (const k of KINDS) assert.ok(contrast(label, rgb(k[theme])) >= LEAST_CONTRAST, `${k.name} ${contrast(label, rgb(k[theme])).toFixed(2)}`);
  });
}
