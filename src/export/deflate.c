/* SPDX-License-Identifier: MIT */
#include "export/deflate.h"

#define LEVEL 6 /* beyond it pages get hardly smaller, but take twice as long */
#define PIECE ((size_t)1 << 30)

static int compress_all(struct dnp_sink_deflate *out, int flush)
{
	uint8_t buffer[16384];

	do {
		out->stream.next_out = buffer;
		out->stream.avail_out = sizeof(buffer);
		if (deflate(&out->stream, flush) == Z_STREAM_ERROR)
			return -EIO;
		dnp_sink_write(out->to, buffer, sizeof(buffer) - out->stream.avail_out);
	} while (!out->stream.avail_out);
	return out->to->error;
}

static int deflate_write(struct dnp_sink *sink, const void *bytes, size_t n)
{
	struct dnp_sink_deflate *out = (struct dnp_sink_deflate *)sink;
	const uint8_t *in = bytes;
	int status = 0;

	while (n && !status) {
		size_t piece = n < PIECE ? n : PIECE; /* zlib counts in 32 bits */

		out->stream.next_in = in;
		out->stream.avail_in = (uInt)piece;
		status = compress_all(out, Z_NO_FLUSH);
		in += piece;
		n -= piece;
	}
	return status;
}

int dnp_sink_deflate_init(struct dnp_sink_deflate *out, struct dnp_sink *to)
{
	*out = (struct dnp_sink_deflate){.sink = {.write = deflate_write}, .to = to};
	if (deflateInit2(&out->stream, LEVEL, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	return 0;
}

int dnp_sink_deflate_finish(struct dnp_sink_deflate *out)
{
	int status = out->sink.error;

	out->stream.avail_in = 0;
	if (!status)
		status = compress_all(out, Z_FINISH);
	deflateEnd(&out->stream);
	return status;
}
