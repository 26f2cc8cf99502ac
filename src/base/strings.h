/* SPDX-License-Identifier: MIT */
/*
 * Interned strings: equal bytes have equal numbers. String 0 is "".
 *
 * All strings stand behind one another in `bytes`, each ended by a zero byte (a zero byte inside a
 * string becomes a blank, so that the table can be written out as it is).
 * Start with dnp_strings_init; one thread at a time.
 */
#ifndef DNP_BASE_STRINGS_H
#define DNP_BASE_STRINGS_H

#include "base/str.h"
#include "base/vec.h"

struct dnp_strings {
	struct dnp_vec_of(char) bytes;
	struct dnp_vec_of(size_t) start; /* of each string in bytes */
	uint32_t *slots;                 /* owned: open addressing, DNP_NONE is free */
	size_t capacity;                 /* of slots, a power of two */
};

int dnp_strings_init(struct dnp_strings *strings);
void dnp_strings_done(struct dnp_strings *strings);

/* Sets *number to that of `str`. 0 or -ENOMEM. */
int dnp_strings_add(struct dnp_strings *strings, struct dnp_str str, uint32_t *number);

static inline size_t dnp_strings_count(const struct dnp_strings *strings)
{
	return strings->start.n;
}

/* The terminated string; valid until the next dnp_strings_add. */
const char *dnp_strings_get(const struct dnp_strings *strings, uint32_t number);

#endif
