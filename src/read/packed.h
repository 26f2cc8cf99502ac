/* SPDX-License-Identifier: MIT */
/*
 * Chunks of records, packed (DNP_CHUNK_PACKED): their length, then the records as zlib deflates
 * them.
 */
#ifndef DNP_READ_PACKED_H
#define DNP_READ_PACKED_H

#include <stddef.h>
#include <stdint.h>

#define DNP_PACKED_LENGTH_BYTES sizeof(uint32_t)
/* What records reach is 10; more is somebody's attack on our memory. */
#define DNP_PACKED_RATIO_MAX 64u

/*
 * The records in a packed payload, in memory that the caller frees. 0, -EBADMSG: damaged, or larger
 * than a payload may be, -ENOMEM.
 */
int dnp_unpack(const uint8_t *payload, size_t n, uint8_t **records, size_t *n_records);

#endif
