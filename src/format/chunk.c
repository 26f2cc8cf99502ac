/* SPDX-License-Identifier: MIT */
#include "format/chunk.h"

#include <errno.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM_BUFFER
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wundef"
#include <xxhash.h>
#pragma GCC diagnostic pop

static uint64_t checksum(const struct dnp_chunk_header *header, const void *payload)
{
	/* The header's own hash seeds the payload's: one pass each, no copy. */
	uint64_t seed = XXH3_64bits(header, offsetof(struct dnp_chunk_header, checksum));

	return XXH3_64bits_withSeed(payload, header->length, seed);
}

void dnp_chunk_seal(struct dnp_chunk_header *header, enum dnp_chunk_kind kind, uint64_t recording,
	uint32_t sequence, const void *payload, uint32_t length)
{
	*header = (struct dnp_chunk_header){
		.magic = DNP_CHUNK_MAGIC,
		.kind = (uint16_t)kind,
		.version = DNP_FORMAT_VERSION,
		.recording = recording,
		.sequence = sequence,
		.length = length,
	};
	header->checksum = checksum(header, payload);
}

int dnp_chunk_check(const struct dnp_chunk_header *header, const void *payload, size_t available)
{
	if (header->magic != DNP_CHUNK_MAGIC || header->length > DNP_CHUNK_MAX)
		return -EPROTO;
	if (header->version > DNP_FORMAT_VERSION)
		return -ENOTSUP;
	if (header->length > available)
		return -ENODATA;
	if (header->checksum != checksum(header, payload))
		return -EBADMSG;
	return 0;
}
