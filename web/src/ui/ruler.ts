// SPDX-License-Identifier: MIT
// Times along the top of a picture.

import type { Nanoseconds } from '../data/time.ts';
import { SMALL_FONT } from './canvas.ts';
import { tickLabel, tickStep } from './overview.ts';
import type { Colors } from './theme.ts';

export const RULER_HEIGHT = 22;
const ROOM = 110;
/** Ticks this close to each other, for how far they are in, say the time since the first of them. */
const RELATIVE_BELOW = 1 / 2000;

/** Draws the ruler at the top of a canvas that is `width` wide, in CSS pixels. */
export function paintRuler(context: CanvasRenderingContext2D, window: Nanoseconds, width: number, colors: Colors): void {
  const length = window.to - window.from;
  const step = tickStep(length, width, ROOM);
  const first = Math.ceil(window.from / step);
  const origin = step / Math.max(1, window.from) < RELATIVE_BELOW ? first * step : 0;
  context.strokeStyle = colors.line;
  context.fillStyle = colors.muted;
  context.font = SMALL_FONT;
  context.textBaseline = 'middle';
  context.beginPath();
  for (let k = first; k * step < window.to; k++) {
    const x = Math.round(((k * step - window.from) / length) * width) + 0.5;
    context.moveTo(x, RULER_HEIGHT - 6);
    context.lineTo(x, RULER_HEIGHT);
    const since = k * step - origin;
    const label = origin === 0 || since === 0 ? tickLabel(origin + since, step, window.to) : `+${tickLabel(since, step, length)}`;
    if (x + context.measureText(label).width + 6 < width) context.fillText(label, x + 4, RULER_HEIGHT / 2 - 1);
  }
  context.moveTo(0, RULER_HEIGHT - 0.5);
  context.lineTo(width, RULER_HEIGHT - 0.5);
  context.stroke();
}
