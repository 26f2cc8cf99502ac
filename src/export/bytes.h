/* SPDX-License-Identifier: MIT */
/* Columns of LEB128 numbers, as a page has them. */
#ifndef DNP_EXPORT_BYTES_H
#define DNP_EXPORT_BYTES_H

#include "base/vec.h"
#include "format/varint.h"

struct dnp_bytes dnp_vec_of(uint8_t);

/* 0 or -ENOMEM. */
static inline int dnp_bytes_put(struct dnp_bytes *bytes, uint64_t value)
{
	if (dnp_vec_reserve(bytes, bytes->n + DNP_VARINT_MAX))
		return -ENOMEM;
	bytes->n = (size_t)(dnp_varint_put(bytes->p + bytes->n, value) - bytes->p);
	return 0;
}

#endif
