/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays, and a map from numbers to small indices.
 *
 *   struct dnp_vec_of(uint32_t) v = {0};
 *   if (dnp_vec_push(&v, 7)) return -ENOMEM;
 *   dnp_vec_done(&v);
 *
 * All-zero is the empty state of both. They own their memory, not what the elements point to.
 * Errors: -ENOMEM, and then nothing has changed. One thread at a time; not for signal handlers.
 */
#ifndef DNP_BASE_VEC_H
#define DNP_BASE_VEC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define dnp_vec_of(type)                                                                           \
	{                                                                                          \
		type *p; /* owned */                                                               \
		size_t n, cap;                                                                     \
	}

/* Returns `p` grown to hold `want` elements (*cap is set), or NULL. */
void *dnp_vec_grow(void *p, size_t *cap, size_t want, size_t element_bytes);

/* 0 or -ENOMEM. After it `want` elements in all fit. */
#define dnp_vec_reserve(v, want)                                                                   \
	({                                                                                         \
		size_t want_ = (want);                                                             \
		int status_ = 0;                                                                   \
                                                                                                   \
		if (want_ > (v)->cap) {                                                            \
			void *grown_ = dnp_vec_grow((v)->p, &(v)->cap, want_, sizeof(*(v)->p));    \
                                                                                                   \
			if (grown_)                                                                \
				(v)->p = grown_;                                                   \
			else                                                                       \
				status_ = -ENOMEM;                                                 \
		}                                                                                  \
		status_;                                                                           \
	})

#define dnp_vec_push(v, ...)                                                                       \
	(dnp_vec_reserve((v), (v)->n + 1) ? -ENOMEM : ((v)->p[(v)->n++] = (__VA_ARGS__), 0))

#define dnp_vec_done(v)                                                                            \
	do {                                                                                       \
		free((v)->p);                                                                      \
		(v)->p = NULL;                                                                     \
		(v)->n = (v)->cap = 0;                                                             \
	} while (0)

#define DNP_NONE UINT32_MAX /* "no index" */

/*
 * Open addressing with linear probing: `slots` is a power of two or 0, less than 3/4 full, and a
 * slot is free when its value is DNP_NONE.
 */
struct dnp_map {
	struct dnp_map_slot {
		uint64_t key;
		uint32_t value;
	} * slots; /* owned */
	size_t n, capacity;
};

/* The value of `key`, DNP_NONE if it has none. */
uint32_t dnp_map_get(const struct dnp_map *map, uint64_t key);
/* Sets it; `value` is not DNP_NONE. */
int dnp_map_set(struct dnp_map *map, uint64_t key, uint32_t value);
void dnp_map_done(struct dnp_map *map);

#endif
