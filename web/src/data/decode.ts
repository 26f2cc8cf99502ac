// SPDX-License-Identifier: MIT
// From the text in the page to typed arrays: base64, raw deflate, then sections laid out in order.

import { DataError, type SectionInfo } from './meta.ts';

const WIDTHS: Record<string, number> = {
  utf8: 1, varint: 1, u8: 1, i8: 1, u16: 2, i16: 2, u32: 4, i32: 4, f32: 4, u64: 8, i64: 8, f64: 8,
};
const ALIGNMENT = 8;
/** Characters decoded at a time; a multiple of 4, so that each piece is whole base64. */
const PIECE = 1 << 20;

const DAMAGED = 'The data of this page is damaged or cut off';

/** Bytes of a section, without its padding. */
export function sectionBytes(section: SectionInfo): number {
  const width = WIDTHS[section.type];
  const bytes = section.bytes ?? (width === undefined ? NaN : (section.count ?? NaN) * width);
  if (!Number.isSafeInteger(bytes) || bytes < 0)
    throw new DataError(`${DAMAGED}: section "${section.name}" has no size.`);
  return bytes;
}

export const padded = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** Newer browsers decode by themselves, several times faster. */
const decoder = (Uint8Array as { fromBase64?: (text: string) => Uint8Array }).fromBase64?.bind(Uint8Array);

function fromCharacters(binary: string): Uint8Array {
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function decodePiece(piece: string): Uint8Array {
  try {
    return decoder ? decoder(piece) : fromCharacters(atob(piece));
  } catch {
    throw new DataError(`${DAMAGED}: it is not base64.`);
  }
}

function base64Stream(source: string): ReadableStream<BufferSource> {
  const text = [' ', '\n', '\r', '\t'].some((space) => source.includes(space)) ? source.replace(/\s+/g, '') : source;
  let at = 0;
  return new ReadableStream<BufferSource>({
    pull(controller) {
      if (at >= text.length) return controller.close();
      controller.enqueue(decodePiece(text.slice(at, at + PIECE)) as Uint8Array<ArrayBuffer>);
      at += PIECE;
    },
  });
}

function inflater(): DecompressionStream {
  try {
    return new DecompressionStream('deflate-raw');
  } catch {
    throw new DataError('This browser is too old to unpack the recording: it must know "deflate-raw".');
  }
}

/** Unpacks `source` (base64 of raw deflate) to exactly `size` bytes, or throws a DataError. */
export async function unpack(source: string, size: number): Promise<ArrayBuffer> {
  const inflate = inflater();
  let out: Uint8Array;
  try {
    out = new Uint8Array(size);
  } catch {
    throw new DataError(`The recording needs ${size} bytes of memory, more than this browser gives.`);
  }
  let filled = 0;
  try {
    const reader = base64Stream(source).pipeThrough(inflate).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (filled + value.length > size) throw new DataError(`${DAMAGED}: it is longer than it says.`);
      out.set(value, filled);
      filled += value.length;
    }
  } catch (error) {
    if (error instanceof DataError) throw error;
    throw new DataError(`${DAMAGED}: it cannot be unpacked after ${filled} of ${size} bytes.`);
  }
  if (filled !== size) throw new DataError(`${DAMAGED}: ${filled} of ${size} bytes are there.`);
  return out.buffer as ArrayBuffer;
}

/** The bytes of each section by name. A later version may add sections; nobody has to ask for them. */
export class Sections {
  private readonly places = new Map<string, { type: string; at: number; bytes: number }>();

  private constructor(private readonly buffer: ArrayBuffer) {}

  static async unpack(source: string, infos: readonly SectionInfo[]): Promise<Sections> {
    const size = infos.reduce((sum, info) => sum + padded(sectionBytes(info)), 0);
    return Sections.of(await unpack(source, size), infos);
  }

  static of(buffer: ArrayBuffer, infos: readonly SectionInfo[]): Sections {
    const sections = new Sections(buffer);
    let at = 0;
    for (const info of infos) {
      const bytes = sectionBytes(info);
      sections.places.set(info.name, { type: info.type, at, bytes });
      at += padded(bytes);
    }
    if (at > buffer.byteLength) throw new DataError(`${DAMAGED}: its sections do not fit.`);
    return sections;
  }

  has(name: string): boolean {
    return this.places.has(name);
  }

  /** A view on the page's own buffer; every platform with a browser is little-endian. */
  u32(name: string): Uint32Array {
    const { at, bytes } = this.place(name, 'u32');
    return new Uint32Array(this.buffer, at, bytes / 4);
  }

  u8(name: string): Uint8Array {
    const { at, bytes } = this.place(name, 'u8');
    return new Uint8Array(this.buffer, at, bytes);
  }

  f32(name: string): Float32Array {
    const { at, bytes } = this.place(name, 'f32');
    return new Float32Array(this.buffer, at, bytes / 4);
  }

  /** A column of LEB128 numbers, as they are. */
  varint(name: string): Uint8Array {
    const { at, bytes } = this.place(name, 'varint');
    return new Uint8Array(this.buffer, at, bytes);
  }

  utf8(name: string): Uint8Array {
    const { at, bytes } = this.place(name, 'utf8');
    return new Uint8Array(this.buffer, at, bytes);
  }

  private place(name: string, type: string) {
    const place = this.places.get(name);
    if (!place) throw new DataError(`${DAMAGED}: section "${name}" is missing.`);
    if (place.type !== type || place.bytes % WIDTHS[type]! !== 0)
      throw new DataError(`${DAMAGED}: section "${name}" is not of type ${type}.`);
    return place;
  }
}
