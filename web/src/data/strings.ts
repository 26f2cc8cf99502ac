// SPDX-License-Identifier: MIT
// The strings of a recording.

import { DataError } from './meta.ts';
import { printable } from './printable.ts';

/** Each is ended by a zero byte. */
export function splitStrings(bytes: Uint8Array): string[] {
  if (bytes.length === 0 || bytes[bytes.length - 1] !== 0)
    throw new DataError('The data of this page is damaged: its strings do not end.');
  const strings = new TextDecoder().decode(bytes.subarray(0, bytes.length - 1)).split('\0');
  return strings.map(printable);
}
