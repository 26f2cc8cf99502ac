// SPDX-License-Identifier: MIT
// Making elements. Text goes in as text nodes only: no name of a recording is ever read as HTML.

type Child = Node | string | null | undefined | false;

interface Attributes {
  readonly [name: string]: string | number | boolean | null | undefined | ((event: never) => void);
}

/** `onclick: f` adds a listener, `class: 'x'` an attribute; true is an empty one, false and null none. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as EventListener);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return element;
}

/** Sets text without touching the document when it is the same. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** A name that may be broken into lines between its parts. */
export function breakable(name: string): (string | HTMLElement)[] {
  return name.split(/(?<=[.,:!<(+])(?![.,:!<(+])/).flatMap((part) => [part, el('wbr')]);
}

export function setPressed(button: Element, on: boolean): void {
  button.setAttribute('aria-pressed', String(on));
}

/** A button that is on or off. */
export function toggle(label: string, title: string, onclick: () => void): HTMLButtonElement {
  return el('button', { type: 'button', class: 'toggle', title, 'aria-pressed': 'false', onclick }, label);
}

const KEPT_MEASURES = 200;
let measures = 0;

/** Does some work and notes how long it took, for the browser's own tools and for tests. */
export function measured<T>(name: string, work: () => T): T {
  const start = performance.now();
  const result = work();
  if (++measures % KEPT_MEASURES === 0) performance.clearMeasures();
  performance.measure(name, { start, end: performance.now() });
  return result;
}

/** Says something to those who cannot see the picture. */
export class Announcer {
  readonly element = el('div', { class: 'unseen', role: 'status', 'aria-live': 'polite' });

  say(text: string): void {
    setText(this.element, text);
  }
}

const media = (query: string) => window.matchMedia(query);

export const prefersLessMotion = () => media('(prefers-reduced-motion: reduce)').matches;

/** Puts text on the clipboard; from a file the asynchronous way may be refused. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el('textarea', { class: 'unseen', 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    const before = document.activeElement;
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}
