/* SPDX-License-Identifier: MIT */
/*
 * Reading call frame information: numbers and LEB128 from bytes that nobody vouches for. A cursor
 * that ran over its end stays there and says so. Safe in signal handlers.
 */
#ifndef DNP_UNWIND_CFI_CURSOR_H
#define DNP_UNWIND_CFI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dnp_cfi_cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t dnp_cfi_take(struct dnp_cfi_cursor *c, size_t bytes)
{
	uint64_t value = 0;

	if (bytes > (size_t)(c->end - c->at)) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&value, c->at, bytes);
	c->at += bytes;
	return value;
}

static inline void dnp_cfi_skip(struct dnp_cfi_cursor *c, uint64_t bytes)
{
	if (bytes > (size_t)(c->end - c->at)) {
		c->bad = true;
		c->at = c->end;
	} else {
		c->at += bytes;
	}
}

/* *last is the byte that ends the number, *bits how many the number has. */
static inline uint64_t dnp_cfi_take_leb(struct dnp_cfi_cursor *c, uint8_t *last, unsigned *bits)
{
	uint64_t value = 0;
	unsigned shift = 0;

	do {
		*last = (uint8_t)dnp_cfi_take(c, 1);
		if (shift < 64)
			value |= (uint64_t)(*last & 0x7f) << shift;
		shift += 7;
	} while (*last & 0x80);
	*bits = shift;
	return value;
}

static inline uint64_t dnp_cfi_take_uleb(struct dnp_cfi_cursor *c)
{
	uint8_t last;
	unsigned bits;

	return dnp_cfi_take_leb(c, &last, &bits);
}

static inline int64_t dnp_cfi_take_sleb(struct dnp_cfi_cursor *c)
{
	uint8_t last;
	unsigned bits;
	uint64_t value = dnp_cfi_take_leb(c, &last, &bits);

	if (bits < 64 && last & 0x40)
		value |= UINT64_MAX << bits;
	return (int64_t)value;
}

#endif
