/* SPDX-License-Identifier: MIT */
#include "format/slice_codec.h"

#include <errno.h>
#include <stdbool.h>

#define HOW_BITS 3
#define HOW_MASK ((1u << HOW_BITS) - 1)

size_t dnp_slice_put(uint8_t out[DNP_SLICE_BYTES], uint64_t gap_ns, uint64_t length_ns,
	uint32_t cpu, enum dnp_slice_end how)
{
	uint8_t *p = dnp_varint_put(out, gap_ns);

	p = dnp_varint_put(p, length_ns);
	p = dnp_varint_put(p, (uint64_t)cpu << HOW_BITS | how);
	return (size_t)(p - out);
}

void dnp_slice_reader_init(struct dnp_slice_reader *reader, const struct dnp_rec_slices *rec)
{
	const uint8_t *bytes = (const uint8_t *)rec->slices.p;

	*reader = (struct dnp_slice_reader){bytes, bytes + rec->slices.n, rec->time_ns};
}

/* Moves time on; false: beyond its end. */
static bool advance(uint64_t *time_ns, uint64_t by_ns)
{
	return !__builtin_add_overflow(*time_ns, by_ns, time_ns);
}

int dnp_slice_next(struct dnp_slice_reader *reader, struct dnp_slice_at *slice)
{
	uint64_t gap_ns, length_ns, where;
	const uint8_t *in = reader->in;

	if (in == reader->end)
		return 0;
	in = dnp_varint_get(in, reader->end, &gap_ns);
	if (in)
		in = dnp_varint_get(in, reader->end, &length_ns);
	if (in)
		in = dnp_varint_get(in, reader->end, &where);
	if (!in || where >> HOW_BITS > UINT32_MAX || !advance(&reader->time_ns, gap_ns))
		return -EBADMSG;
	slice->start_ns = reader->time_ns;
	if (!advance(&reader->time_ns, length_ns))
		return -EBADMSG;
	slice->end_ns = reader->time_ns;
	slice->cpu = (uint32_t)(where >> HOW_BITS);
	slice->how = (uint32_t)(where & HOW_MASK);
	reader->in = in;
	return 1;
}
