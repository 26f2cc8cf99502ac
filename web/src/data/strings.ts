// SPDX-License-Identifier: MIT
// Texts of a recording, which are shown as what they are and never do anything.

import { DataError } from './meta.ts';

/** Characters that would break a line, hide or turn round the text of a name. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export const printable = (name: string) => name.replace(UNPRINTABLE, '\ufffd');

/** Each is ended by a zero byte. */
export function splitStrings(bytes: Uint8Array): string[] {
  if (bytes.length === 0 || bytes[bytes.length - 1] !== 0)
    throw new DataError('The data of this page is damaged: its strings do not end.');
  const strings = new TextDecoder().decode(bytes.subarray(0, bytes.length - 1)).split('\0');
  return strings.map(printable);
}
