// SPDX-License-Identifier: MIT
export interface SampleRecording {
  meta: Record<string, unknown>;
  strings: string[];
  frameName: Uint32Array;
  frameModule: Uint32Array;
  frameKind: Uint8Array;
  nodeParent: Uint32Array;
  nodeFrame: Uint32Array;
  events: { info: Record<string, unknown>; time: Uint32Array; thread: Uint32Array; node: Uint32Array; weight: Uint32Array; waiting?: Uint8Array; more?: [string, string, Uint8Array | Uint32Array | Float32Array][] }[];
  extra?: { name: string; type: string; data: Uint8Array | Uint32Array }[];
}
export const CODE: { user: 0; framework: 1; native: 2; kernel: 3; gc: 4; jit: 5; other: 6 };

export class Builder {
  frame(name: string, module?: string, kind?: number): number;
  child(node: number, frame: number): number;
  stack(names: readonly string[]): number;
  sample(time: number, thread: number, node: number, weight?: number, waiting?: number, event?: number): void;
  finish(meta: Record<string, unknown>, ...infos: Record<string, unknown>[]): SampleRecording;
}
export function random(seed: number): () => number;
export function shop(options?: { seed?: number; meta?: object; info?: object }): SampleRecording;
export function server(options?: { seed?: number; workers?: number }): SampleRecording;
export function large(options?: { stacks?: number; rows?: number; threads?: number; methods?: number; waits?: number; seed?: number }): SampleRecording;
export const HOSTILE: string[];
export function hostile(): SampleRecording;
