// SPDX-License-Identifier: MIT
export function buildPage(options?: { debug?: boolean }): Promise<string>;
