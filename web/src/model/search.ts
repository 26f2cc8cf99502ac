// SPDX-License-Identifier: MIT
// Which frames a search means.

import type { Recording } from '../data/recording.ts';

export interface Matches {
  /** 1 for each frame whose name matches. */
  readonly frames: Uint8Array;
  readonly count: number;
  /** Why the regular expression cannot be used; nothing matches then. */
  readonly error: string | null;
}

export const escapeRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/**
 * null when nothing is searched for. Frame 0 stands for everything and never matches, nor does the one
 * for native frames that are left out, where none are.
 */
export function findFrames(recording: Recording, text: string, regex: boolean, bare: boolean): Matches | null {
  if (text === '') return null;
  const frames = new Uint8Array(recording.frames);
  let pattern: RegExp;
  try {
    pattern = new RegExp(regex ? text : escapeRegex(text), 'i');
  } catch (error) {
    return { frames, count: 0, error: error instanceof Error ? error.message : String(error) };
  }
  let count = 0;
  const end = bare ? frames.length : recording.bare;
  for (let f = 1; f < end; f++) if (pattern.test(recording.name(f))) count += frames[f] = 1;
  return { frames, count, error: null };
}
