// SPDX-License-Identifier: MIT
// Which frames, or marks, a search means.

import type { Mark } from '../data/beside.ts';
import type { Recording } from '../data/recording.ts';

export interface Matches {
  /** 1 for each frame whose name matches. */
  readonly frames: Uint8Array;
  readonly count: number;
  /** Why the regular expression cannot be used; nothing matches then. */
  readonly error: string | null;
}

export const escapeRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** What a search finds in texts; a string: why the regular expression cannot be used. */
function patternOf(text: string, regex: boolean): RegExp | string {
  try {
    return new RegExp(regex ? text : escapeRegex(text), 'i');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * null when nothing is searched for. Frame 0 stands for everything and never matches, nor does the one
 * for native frames that are left out, where none are.
 */
export function findFrames(recording: Recording, text: string, regex: boolean, bare: boolean): Matches | null {
  if (text === '') return null;
  const frames = new Uint8Array(recording.frames);
  const pattern = patternOf(text, regex);
  if (typeof pattern === 'string') return { frames, count: 0, error: pattern };
  let count = 0;
  const end = bare ? frames.length : recording.bare;
  for (let f = 1; f < end; f++) if (pattern.test(recording.name(f))) count += frames[f] = 1;
  return { frames, count, error: null };
}

export type Marks = ReadonlyMap<number, readonly Mark[]>;

/** Of each thread's marks those that match; null when nothing is searched for. */
export function findMarks(marks: Marks, text: string, regex: boolean): Marks | null {
  if (text === '') return null;
  const pattern = patternOf(text, regex);
  const found = new Map<number, readonly Mark[]>();
  if (typeof pattern === 'string') return found;
  for (const [thread, own] of marks) {
    const matching = own.filter((m) => pattern.test(m.text));
    if (matching.length > 0) found.set(thread, matching);
  }
  return found;
}
