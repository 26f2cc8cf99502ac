/* SPDX-License-Identifier: MIT */
#include "read/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/clean.h"
#include "format/chunk.h"

int dnp_unpack(const uint8_t *payload, size_t n, uint8_t **records, size_t *n_records)
{
	auto_free uint8_t *out = NULL;
	z_stream stream = {0};
	uint32_t length;
	int status;

	if (n < DNP_PACKED_LENGTH_BYTES)
		return -EBADMSG;
	memcpy(&length, payload, DNP_PACKED_LENGTH_BYTES);
	if (length > DNP_CHUNK_MAX || length > n * DNP_PACKED_RATIO_MAX)
		return -EBADMSG;
	out = malloc(length ? length : 1);
	if (!out || inflateInit2(&stream, -MAX_WBITS) != Z_OK)
		return -ENOMEM;
	stream.next_in = (Bytef *)(uintptr_t)(payload + DNP_PACKED_LENGTH_BYTES);
	stream.avail_in = (uInt)(n - DNP_PACKED_LENGTH_BYTES);
	stream.next_out = out;
	stream.avail_out = length;
	status = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	if (status != Z_STREAM_END || stream.avail_out || stream.avail_in)
		return -EBADMSG;
	*n_records = length;
	*records = DNP_STEAL(out);
	return 0;
}
