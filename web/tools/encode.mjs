// SPDX-License-Identifier: MIT
// From a recording made here to a page, in the same form as the exporter writes it.

import { deflateRawSync } from 'node:zlib';

const WIDTH = { u8: 1, u32: 4, f32: 4 };

/** The arrays of the data block, in their order. */
export function sectionsOf(recording) {
  const sections = [
    { name: 'strings', type: 'utf8', data: Buffer.from(recording.strings.map((s) => `${s}\0`).join('')) },
    { name: 'frame.name', type: 'u32', data: recording.frameName },
    { name: 'frame.module', type: 'u32', data: recording.frameModule },
    { name: 'frame.kind', type: 'u8', data: recording.frameKind },
    { name: 'node.parent', type: 'u32', data: recording.nodeParent },
    { name: 'node.frame', type: 'u32', data: recording.nodeFrame },
  ];
  for (const event of recording.events) {
    for (const column of ['time', 'thread', 'node', 'weight'])
      sections.push({ name: `${event.info.name}.${column}`, type: 'u32', data: event[column] });
    if (event.waiting) sections.push({ name: `${event.info.name}.waiting`, type: 'u8', data: event.waiting });
    for (const [name, type, data] of event.more ?? []) sections.push({ name: `${event.info.name}.${name}`, type, data });
  }
  return [...sections, ...(recording.extra ?? [])];
}

/** Numbers as LEB128, one after the other. */
export function varints(numbers) {
  const bytes = [];
  for (let value of numbers) {
    for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
    bytes.push(value);
  }
  return Uint8Array.from(bytes);
}

export const zigzag = (n) => (n < 0 ? -2 * n - 1 : 2 * n);

const bytesOf = (data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

export function encodeData(sections) {
  const parts = [];
  for (const { data } of sections) {
    parts.push(bytesOf(data));
    if (data.byteLength % 8 !== 0) parts.push(Buffer.alloc(8 - (data.byteLength % 8)));
  }
  return deflateRawSync(Buffer.concat(parts), { level: 6 }).toString('base64');
}

const hex4 = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** JSON that cannot end or disturb the element it stands in. */
export const encodeMeta = (meta) => JSON.stringify(meta).replace(/[<>&\u2028\u2029]/g, hex4);

export function encode(recording) {
  const sections = sectionsOf(recording);
  const infos = sections.map(({ name, type, data }) =>
    type in WIDTH ? { name, type, count: data.byteLength / WIDTH[type] } : { name, type, bytes: data.byteLength },
  );
  return { meta: encodeMeta({ ...recording.meta, sections: infos }), data: encodeData(sections) };
}

/** Puts a recording where the template has its markers. */
export function fill(template, { meta, data }) {
  const [head, rest] = template.split('@DNPROF_META@');
  const [middle, tail] = rest.split('@DNPROF_DATA@');
  return head + meta + middle + data + tail;
}
