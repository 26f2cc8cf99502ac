/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clean.h"
#include "format/chunk.h"
#include "launch/record.h"
#include "os/clock.h"
#include "os/file.h"
#include "read/input.h"

#define RECORD_MAX 64 /* bytes of a record that is added here */

static int cannot_write(const char *path, int code, struct dnp_err *err)
{
	return dnp_err(
		err, code, "cannot write to %s: %s; make room on its disk", path, strerror(-code));
}

/* Adds one record, in a chunk of its own. */
static int append_record(const char *path, const struct dnp_recording *recording,
	const uint8_t *record, size_t n, struct dnp_err *err)
{
	struct {
		struct dnp_chunk_header header;
		uint8_t payload[RECORD_MAX];
	} chunk;
	auto_close int fd = dnp_file_append(path);
	int failed;

	if (fd < 0)
		return cannot_write(path, fd, err);
	memcpy(chunk.payload, record, n);
	dnp_chunk_seal(&chunk.header, DNP_CHUNK_RECORDS, recording->number,
		recording->next_sequence, chunk.payload, (uint32_t)n);
	failed = dnp_file_write_all(fd, &chunk, sizeof(chunk.header) + n);
	return failed ? cannot_write(path, failed, err) : 0;
}

static int add_exit(struct dnp_input *input, const char *path, pid_t pid, struct dnp_ended ended,
	struct dnp_err *err)
{
	const struct dnp_rec_exit record = {
		.time_ns = dnp_now_ns(),
		.status = ended.status,
		.signal = ended.signal,
	};
	uint8_t bytes[RECORD_MAX];
	size_t n = dnp_put_exit(bytes, sizeof(bytes), &record);
	int ret = dnp_input_add_file(input, path, err);

	if (!ret)
		ret = dnp_input_finish(input, err);
	for (size_t i = 0; !ret && i < input->recordings.n; i++) {
		if (input->recordings.p[i].process.pid == (uint64_t)pid)
			return append_record(path, &input->recordings.p[i], bytes, n, err);
	}
	return ret ? ret : -ENODATA;
}

int dnp_record_exit(const char *path, pid_t pid, struct dnp_ended ended, struct dnp_err *err)
{
	struct dnp_input input;
	int ret;

	dnp_input_init(&input);
	ret = add_exit(&input, path, pid, ended, err);
	dnp_input_done(&input);
	return ret;
}

int dnp_record_dumped(const char *path, struct dnp_err *err)
{
	const struct dnp_rec_end record = {.time_ns = dnp_now_ns(), .reason = DNP_END_DUMP};
	uint8_t bytes[RECORD_MAX];
	size_t n = dnp_put_end(bytes, sizeof(bytes), &record);
	struct dnp_input input;
	int ret;

	dnp_input_init(&input);
	ret = dnp_input_add_file(&input, path, err);
	if (!ret)
		ret = dnp_input_finish(&input, err);
	if (!ret)
		ret = append_record(path, &input.recordings.p[0], bytes, n, err);
	dnp_input_done(&input);
	return ret;
}
