/* SPDX-License-Identifier: MIT */
#include "read/pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/clean.h"
#include "format/chunk.h"
#include "os/file.h"
#include "os/file_sink.h"
#include "read/input.h"
#include "read/packed.h"

#define BLOCK_BYTES ((size_t)1 << 16) /* records in one packed chunk: what damage costs */
#define LEVEL                                                                                      \
	3 /* a tenth larger than what 5 makes of trees of calls and stacks, in half its time */

/* Writes the chunks of one recording. */
struct packer {
	struct dnp_sink *sink;
	uint64_t recording;
	uint32_t sequence;
	uint8_t *block; /* owned: records to be packed, then the packed payload behind them */
	size_t used;
	size_t packed_max;
};

static void write_chunk(
	struct packer *packer, enum dnp_chunk_kind kind, const uint8_t *payload, size_t n)
{
	struct dnp_chunk_header header;

	dnp_chunk_seal(&header, kind, packer->recording, packer->sequence++, payload, (uint32_t)n);
	dnp_sink_write(packer->sink, &header, sizeof(header));
	dnp_sink_write(packer->sink, payload, n);
}

static int write_block(struct packer *packer)
{
	uint32_t length = (uint32_t)packer->used;
	uint8_t *payload = packer->block + BLOCK_BYTES;
	z_stream stream = {0};
	int status;

	if (!length)
		return 0;
	packer->used = 0;
	if (deflateInit2(&stream, LEVEL, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	memcpy(payload, &length, DNP_PACKED_LENGTH_BYTES);
	stream.next_in = packer->block;
	stream.avail_in = length;
	stream.next_out = payload + DNP_PACKED_LENGTH_BYTES;
	stream.avail_out = (uInt)(packer->packed_max - DNP_PACKED_LENGTH_BYTES);
	status = deflate(&stream, Z_FINISH);
	deflateEnd(&stream);
	if (status != Z_STREAM_END || stream.total_out * DNP_PACKED_RATIO_MAX < length) {
		write_chunk(packer, DNP_CHUNK_RECORDS, packer->block, length);
		return 0;
	}
	write_chunk(packer, DNP_CHUNK_PACKED, payload, DNP_PACKED_LENGTH_BYTES + stream.total_out);
	return 0;
}

/* Not what is packed already: blocks of calls, which are read a piece at a time where they are. */
static bool is_worth_it(const struct dnp_chunk *chunk)
{
	struct dnp_str body;
	uint64_t id;
	size_t at = 0;

	return chunk->kind == DNP_CHUNK_RECORDS && chunk->length <= BLOCK_BYTES &&
		(dnp_rec_next(chunk->payload, chunk->length, &at, &id, &body) <= 0 ||
			id != DNP_REC_call_events);
}

static int add_chunk(struct packer *packer, const struct dnp_chunk *chunk)
{
	bool pack = is_worth_it(chunk);
	int status = 0;

	if (!pack || packer->used + chunk->length > BLOCK_BYTES)
		status = write_block(packer);
	if (status)
		return status;
	if (!pack) {
		write_chunk(packer, chunk->kind, chunk->payload, chunk->length);
		return 0;
	}
	memcpy(packer->block + packer->used, chunk->payload, chunk->length);
	packer->used += chunk->length;
	return 0;
}

static int pack_recording(struct dnp_sink *sink, const struct dnp_recording *recording)
{
	struct packer packer = {.sink = sink, .recording = recording->number};
	auto_free uint8_t *block = NULL;
	int status = 0;

	packer.packed_max = DNP_PACKED_LENGTH_BYTES + compressBound(BLOCK_BYTES);
	block = malloc(BLOCK_BYTES + packer.packed_max);
	if (!block)
		return -ENOMEM;
	packer.block = block;
	for (size_t i = 0; i < recording->n && !status; i++)
		status = add_chunk(&packer, &recording->chunks[i]);
	return status ? status : write_block(&packer);
}

static bool has_problems(const struct dnp_input *input)
{
	for (size_t i = 0; i < input->recordings.n; i++)
		if (input->recordings.p[i].problems.n)
			return true;
	return false;
}

#define AS_IT_IS 1 /* no error, and nothing was done */

static int pack_input(const struct dnp_input *input, struct dnp_sink_file *file, const char *path,
	struct dnp_err *err)
{
	int status = dnp_sink_file_open(file, path, err);

	if (status)
		return status;
	/* Somebody else's stays theirs (sudo dnprof stop), or as it is. */
	if (dnp_file_own_as(file->out.fd, path)) {
		dnp_sink_file_abort(file);
		return AS_IT_IS;
	}
	for (size_t i = 0; i < input->recordings.n && !status; i++)
		status = pack_recording(&file->out.sink, &input->recordings.p[i]);
	if (!status)
		return 0;
	dnp_sink_file_abort(file);
	return dnp_err(err, status, "cannot pack %s: out of memory", path);
}

int dnp_pack_file(const char *path, struct dnp_err *err)
{
	struct dnp_sink_file file;
	struct dnp_input input;
	bool packed = false;
	int status;

	dnp_input_init(&input);
	status = dnp_input_add_file(&input, path, err);
	if (!status)
		status = dnp_input_finish(&input, err);
	if (!status && !has_problems(&input)) {
		status = pack_input(&input, &file, path, err);
		packed = !status;
	}
	/* Not every system replaces a file that is mapped. */
	dnp_input_done(&input);
	if (packed) {
		status = dnp_sink_file_commit(&file, err);
		return status
			? dnp_err(err, status,
				  "cannot pack %s: %s; it stays as it is, larger than it could be",
				  path, strerror(-status))
			: 0;
	}
	return status == AS_IT_IS ? 0 : status;
}
