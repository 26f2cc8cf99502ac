// SPDX-License-Identifier: MIT
// Texts of a recording, which are shown as what they are and never do anything.

/** Characters that would break a line, hide or turn round the text of a name. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export const printable = (name: string) => name.replace(UNPRINTABLE, '\ufffd');
