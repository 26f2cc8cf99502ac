/* SPDX-License-Identifier: MIT */
/* LEB128 numbers, as in DWARF and protobuf. Safe in signal handlers. */
#ifndef DNP_FORMAT_VARINT_H
#define DNP_FORMAT_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define DNP_VARINT_MAX 10 /* bytes of the longest number */

/* Writes at most DNP_VARINT_MAX bytes; returns the position behind. */
static inline uint8_t *dnp_varint_put(uint8_t *out, uint64_t value)
{
	while (value >= 0x80) {
		*out++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*out++ = (uint8_t)value;
	return out;
}

static inline size_t dnp_varint_size(uint64_t value)
{
	size_t n = 1;

	while (value >= 0x80) {
		value >>= 7;
		n++;
	}
	return n;
}

/* Returns the position behind the number, NULL when it is cut off or longer than 64 bits. */
static inline const uint8_t *dnp_varint_get(const uint8_t *in, const uint8_t *end, uint64_t *value)
{
	uint64_t v = 0;

	for (unsigned shift = 0; in < end && shift < 64; shift += 7) {
		uint8_t byte = *in++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = v;
			return in;
		}
	}
	return NULL;
}

static inline uint64_t dnp_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t dnp_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
