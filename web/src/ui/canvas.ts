// SPDX-License-Identifier: MIT
// What the pictures share: sizes in CSS pixels on screens of any density, small print, drags.

/** Pixels the pointer must move before a press is a drag and not a click. */
export const DRAG = 4;

export const SMALL_FONT = '11px ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** Gives a canvas the screen's own pixels for a size that the style sheet has set. */
export function setPixels(canvas: HTMLCanvasElement, width: number, height: number): void {
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
}

/** The same, and makes it this large. */
export function setSize(canvas: HTMLCanvasElement, width: number, height: number): void {
  setPixels(canvas, width, height);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

/** Clears the canvas, to be drawn on in CSS pixels. */
export function cleared(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext('2d')!;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  return context;
}
