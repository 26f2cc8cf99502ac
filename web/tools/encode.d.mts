// SPDX-License-Identifier: MIT
import type { SampleRecording } from './sample.mjs';
export function sectionsOf(recording: SampleRecording): { name: string; type: string; data: Uint8Array | Uint32Array | Float32Array }[];
export function varints(numbers: Iterable<number>): Uint8Array;
export function zigzag(n: number): number;
export function encodeData(sections: { data: ArrayBufferView }[]): string;
export function encodeMeta(meta: unknown): string;
export function encode(recording: SampleRecording): { meta: string; data: string };
export function fill(template: string, block: { meta: string; data: string }): string;
