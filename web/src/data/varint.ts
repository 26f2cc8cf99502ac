// SPDX-License-Identifier: MIT
// Columns of numbers of any size: LEB128, one after the other.

import { DataError } from './meta.ts';

export class Varints {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  next(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined || factor > 2 ** 49) throw new DataError('The data of this page is damaged: a column of numbers ends early.');
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }

  /** A number that may be negative: 0, -1, 1, -2 … are written as 0, 1, 2, 3 … */
  signed(): number {
    const value = this.next();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  get done(): boolean {
    return this.at === this.bytes.length;
  }
}
