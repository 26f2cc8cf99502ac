// SPDX-License-Identifier: MIT
// Threads that are many alike, as those of a pool: of one process, with names that differ in numbers at
// most.

import type { ThreadInfo } from '../data/meta.ts';

export const MANY = 5;

export interface Pool {
  /** Their name, with * for each number. */
  readonly name: string;
  readonly process: number;
  readonly members: readonly number[];
}

export const alike = (name: string) => name.replace(/[0-9]+/g, '*');

export function findPools(threads: readonly ThreadInfo[]): Pool[] {
  const pools = new Map<string, { name: string; process: number; members: number[] }>();
  threads.forEach(({ name, process }, t) => {
    const key = `${process} ${alike(name)}`;
    let pool = pools.get(key);
    if (!pool) pools.set(key, (pool = { name: alike(name), process, members: [] }));
    pool.members.push(t);
  });
  return [...pools.values()].filter((p) => p.members.length >= MANY);
}
