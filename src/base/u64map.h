/* SPDX-License-Identifier: MIT */
/*
 * A hash map from uint64_t keys to uint32_t values. Open addressing; doubles as there are more keys
 * at once, not as they come and go; key 0 is allowed. One thread at a time; allocates, so not for
 * handlers.
 */
#ifndef DNP_BASE_U64MAP_H
#define DNP_BASE_U64MAP_H

#include <stddef.h>
#include <stdint.h>

struct dnp_u64map {
	struct dnp_u64map_slot *slots; /* owned */
	size_t capacity;               /* a power of two, or 0 */
	size_t used;                   /* slots that are not empty */
	size_t n;                      /* keys */
};

/* A zeroed map is empty and ready. */
void dnp_u64map_done(struct dnp_u64map *map);

/* Where the value of `key` is, NULL: not there. Valid until the next put. */
uint32_t *dnp_u64map_get(const struct dnp_u64map *map, uint64_t key);

/* Sets the value of `key`. 0 or -ENOMEM. */
int dnp_u64map_put(struct dnp_u64map *map, uint64_t key, uint32_t value);

/* Forgets `key`, if it is there. */
void dnp_u64map_remove(struct dnp_u64map *map, uint64_t key);

#endif
