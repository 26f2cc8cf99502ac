/* SPDX-License-Identifier: MIT */
#include "store/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/chunk.h"

#define CHUNK_BYTES ((size_t)64 * 1024)
#define PAYLOAD_MAX (CHUNK_BYTES - sizeof(struct dnp_chunk_header))

static int write_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t wrote = write(fd, bytes, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote ? -errno : -EIO;
		bytes += wrote;
		n -= (size_t)wrote;
	}
	return 0;
}

static int write_chunk(struct dnp_writer *writer, enum dnp_chunk_kind kind)
{
	struct dnp_chunk_header header;
	size_t n = sizeof(header) + writer->used;
	int failed;

	dnp_chunk_seal(&header, kind, writer->recording, writer->sequence,
		writer->chunk + sizeof(header), (uint32_t)writer->used);
	memcpy(writer->chunk, &header, sizeof(header));
	writer->used = 0;
	writer->base_ns = 0;
	failed = write_all(writer->fd, writer->chunk, n);
	if (failed) {
		/* Half a chunk helps nobody; where it cannot be cut off, readers skip it. */
		if (ftruncate(writer->fd, (off_t)writer->written))
			lseek(writer->fd, 0, SEEK_END);
		writer->failed = failed;
		return failed;
	}
	writer->sequence++;
	writer->written += n;
	return 0;
}

int dnp_writer_open(struct dnp_writer *writer, int fd, uint64_t recording)
{
	void *chunk =
		mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	off_t end;
	int failed;

	if (chunk == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	end = lseek(fd, 0, SEEK_END);
	*writer = (struct dnp_writer){
		.fd = fd,
		.recording = recording,
		.chunk = chunk,
		.written = end > 0 ? (uint64_t)end : 0,
	};
	writer->used = strlen(dnp_rec_schema);
	memcpy(writer->chunk + sizeof(struct dnp_chunk_header), dnp_rec_schema, writer->used);
	failed = write_chunk(writer, DNP_CHUNK_SCHEMA);
	if (failed)
		dnp_writer_close(writer);
	return failed;
}

int dnp_writer_flush(struct dnp_writer *writer)
{
	if (writer->failed)
		return writer->failed;
	return writer->used ? write_chunk(writer, DNP_CHUNK_RECORDS) : 0;
}

int dnp_writer_close(struct dnp_writer *writer)
{
	int failed = dnp_writer_flush(writer);

	munmap(writer->chunk, CHUNK_BYTES);
	close(writer->fd);
	*writer = (struct dnp_writer){.fd = -1};
	return failed;
}

static uint8_t *payload_end(struct dnp_writer *writer)
{
	return writer->chunk + sizeof(struct dnp_chunk_header) + writer->used;
}

#define DNP_RECORD(id, name, doc)                                                                  \
	int dnp_write_##name(struct dnp_writer *writer, const struct dnp_rec_##name *rec)          \
	{                                                                                          \
		size_t n = dnp_put_##name(payload_end(writer), PAYLOAD_MAX - writer->used, rec);   \
                                                                                                   \
		if (!n) {                                                                          \
			int failed = dnp_writer_flush(writer);                                     \
                                                                                                   \
			if (failed)                                                                \
				return failed;                                                     \
			n = dnp_put_##name(payload_end(writer), PAYLOAD_MAX, rec);                 \
		}                                                                                  \
		writer->used += n;                                                                 \
		return n ? 0 : -E2BIG;                                                             \
	}
#define U(field, doc)
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)
#include "format/rec.def"

int dnp_write_sample_at(struct dnp_writer *writer, uint64_t time_ns, struct dnp_rec_sample *rec)
{
	int failed;

	/* A chunk must stand alone: leave room so that its base and its first sample are together.
	 */
	if (PAYLOAD_MAX - writer->used < 128) {
		failed = dnp_writer_flush(writer);
		if (failed)
			return failed;
	}
	if (!writer->base_ns) {
		failed = dnp_write_base(writer, &(struct dnp_rec_base){.time_ns = time_ns});
		if (failed)
			return failed;
		writer->base_ns = time_ns;
	}
	rec->delta_ns = (int64_t)(time_ns - writer->base_ns);
	failed = dnp_write_sample(writer, rec);
	if (!failed)
		writer->base_ns = time_ns;
	return failed;
}
