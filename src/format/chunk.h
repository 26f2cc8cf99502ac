/* SPDX-License-Identifier: MIT */
/*
 * The recording file (.dnp): a sequence of chunks, append-only, readable up to its last whole
 * chunk.
 *
 *   file      = chunk*
 *   chunk     = header (32 bytes, little-endian), payload (length bytes)
 *   payload   = records (see rec.def), for kind DNP_CHUNK_RECORDS
 *             = the text of rec.def as a table, for kind DNP_CHUNK_SCHEMA
 *             = bytes of records (uint32_t), then they as a raw deflate stream (RFC 1951), for kind
 *               DNP_CHUNK_PACKED
 *
 * A recording is all chunks with the same recording number; its first record is `process`.
 * A file may hold several recordings (one per process), in any interleaving: `cat a.dnp b.dnp` is a
 * recording of both. Chunks of one recording count up from 0 in `sequence`; a gap is a loss.
 * The checksum is XXH3 (64 bits) of the payload, seeded with that of the header's first 24 bytes.
 * A reader that meets a wrong magic number or checksum looks for the next header and goes on; it
 * says how many bytes it could not read.
 */
#ifndef DNP_FORMAT_CHUNK_H
#define DNP_FORMAT_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#define DNP_CHUNK_MAGIC    UINT32_C(0x31504e44) /* "DNP1" */
#define DNP_CHUNK_MAX      (UINT32_C(1) << 22)  /* payload bytes, at most */
#define DNP_FORMAT_VERSION 1u

enum dnp_chunk_kind {
	DNP_CHUNK_SCHEMA = 1,
	DNP_CHUNK_RECORDS = 2,
	DNP_CHUNK_PACKED = 3,
};

struct dnp_chunk_header {
	uint32_t magic;     /* DNP_CHUNK_MAGIC */
	uint16_t kind;      /* enum dnp_chunk_kind; readers skip kinds they do not know */
	uint16_t version;   /* DNP_FORMAT_VERSION; a reader refuses versions newer than its own */
	uint64_t recording; /* a random number, the same in all chunks of one recording */
	uint32_t sequence;  /* 0, 1, 2 … within the recording */
	uint32_t length;    /* bytes of payload, at most DNP_CHUNK_MAX */
	uint64_t checksum;  /* XXH3 of the payload, seeded with the XXH3 of the 24 bytes before */
};

_Static_assert(sizeof(struct dnp_chunk_header) == 32, "the chunk header is 32 bytes on disk");
_Static_assert(offsetof(struct dnp_chunk_header, checksum) == 24, "the checksum comes last");

/* Fills all of *header, the checksum included. Signal-safe, any thread. */
void dnp_chunk_seal(struct dnp_chunk_header *header, enum dnp_chunk_kind kind, uint64_t recording,
	uint32_t sequence, const void *payload, uint32_t length);

/*
 * Whether *header is that of a whole chunk with `available` bytes of payload behind it at
 * `payload`. 0: it is. -EPROTO: not a chunk header or a broken one. -ENODATA: the payload is cut
 * off. -EBADMSG: checksum. -ENOTSUP: a version newer than this program knows.
 */
int dnp_chunk_check(const struct dnp_chunk_header *header, const void *payload, size_t available);

#endif
