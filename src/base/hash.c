/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <string.h>

/* Digits of pi; the factor is odd. */
struct dnp_hash_secret dnp_hash_secret = {
	UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707345)};

void dnp_hash_keep_secret(uint64_t added, uint64_t factor)
{
	/* A small factor would not mix. */
	dnp_hash_secret = (struct dnp_hash_secret){added, factor | UINT64_C(1) << 62 | 1};
}

/* Eight bytes at once; the length tells apart what ends in zeros. */
uint64_t dnp_hash_bytes(struct dnp_str bytes)
{
	uint64_t hash = dnp_hash(bytes.n), word;

	for (; bytes.n >= sizeof(word); bytes.p += sizeof(word), bytes.n -= sizeof(word)) {
		memcpy(&word, bytes.p, sizeof(word));
		hash = dnp_hash(hash ^ word);
	}
	word = 0;
	if (bytes.n)
		memcpy(&word, bytes.p, bytes.n);
	return dnp_hash(hash ^ word);
}
