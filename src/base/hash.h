/* SPDX-License-Identifier: MIT */
/*
 * Hashes for tables in memory. Who writes a recording chooses the numbers and names in it: were it
 * known where a table puts them, all could be made to meet in one place, and reading a file of some
 * megabytes would take hours. So programs that read files give the hashes a secret. Nothing that is
 * shown may depend on a table's order.
 */
#ifndef DNP_BASE_HASH_H
#define DNP_BASE_HASH_H

#include <stdint.h>

#include "base/str.h"

/* Written once, before anything is hashed. Where nobody does, hashes are the same each time. */
extern struct dnp_hash_secret {
	uint64_t added, factor;
} dnp_hash_secret;

/* Of two random numbers. Before there is any table, or another thread. */
void dnp_hash_keep_secret(uint64_t added, uint64_t factor);

/* Both halves of a product of 128 bits: each bit of it depends on bits of all places. */
static inline uint64_t dnp_hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t dnp_hash(uint64_t key)
{
	uint64_t hash = dnp_hash_mix(key ^ dnp_hash_secret.added, dnp_hash_secret.factor);

	return hash ^ hash >> 32;
}

uint64_t dnp_hash_bytes(struct dnp_str bytes);

#endif
