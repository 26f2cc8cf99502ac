/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clean.h"
#include "format/chunk.h"
#include "launch/record.h"
#include "os/file.h"

#define COPY_BYTES (1 << 20)

static int cannot_write(const char *path, int code, struct dnp_err *err)
{
	return dnp_err(
		err, code, "cannot write to %s: %s; make room on its disk", path, strerror(-code));
}

/* Bytes of the whole chunks at the beginning of a file. */
static uint64_t whole_bytes(int fd)
{
	struct dnp_chunk_header header;
	uint64_t at = 0, next;
	char last;

	while (dnp_file_read_at(fd, &header, sizeof(header), at) == sizeof(header) &&
		header.magic == DNP_CHUNK_MAGIC && header.length <= DNP_CHUNK_MAX) {
		next = at + sizeof(header) + header.length;
		if (dnp_file_read_at(fd, &last, 1, next - 1) != 1)
			break;
		at = next;
	}
	return at;
}

int dnp_record_copy(int from, int to, const char *path, struct dnp_err *err)
{
	auto_free char *buffer = malloc(COPY_BYTES);
	uint64_t n = whole_bytes(from);
	int failed;

	if (!buffer)
		return dnp_err(err, -ENOMEM, "cannot copy a recording: out of memory; free some");
	for (uint64_t at = 0; at < n;) {
		size_t piece = n - at < COPY_BYTES ? (size_t)(n - at) : COPY_BYTES;
		ssize_t got = dnp_file_read_at(from, buffer, piece, at);

		if (got <= 0)
			return dnp_err(err, got ? (int)got : -EIO, "cannot read a recording: %s",
				got ? strerror((int)-got) : "it became shorter");
		failed = dnp_file_write_all(to, buffer, (size_t)got);
		if (failed)
			return cannot_write(path, failed, err);
		at += (uint64_t)got;
	}
	return 0;
}
