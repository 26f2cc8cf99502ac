/* SPDX-License-Identifier: MIT */
#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/chunk.h"
#include "os/file.h"
#include "os/mem.h"

#define CHUNK_BYTES ((size_t)64 * 1024)
#define PAYLOAD_MAX (CHUNK_BYTES - sizeof(struct dnp_chunk_header))

/* What all writers of a recording share. */
struct dnp_writer_file {
	int fd; /* owned, as long as it is of … */
	struct dnp_file_id id;
	uint64_t recording; /* number of the recording */
	uint64_t begin;     /* bytes that were there before */
	pthread_mutex_t lock;
	uint32_t sequence;        /* under the lock */
	_Atomic uint64_t written; /* bytes in the file; changes under the lock */
	_Atomic int failed;       /* -errno of the write that failed; the same */
};

/* With the lock. */
static int append(
	struct dnp_writer_file *file, enum dnp_chunk_kind kind, uint8_t *chunk, size_t used)
{
	struct dnp_chunk_header header;
	size_t n = sizeof(header) + used;
	uint64_t written = atomic_load(&file->written);
	int failed = atomic_load(&file->failed);

	if (failed)
		return failed;
	dnp_chunk_seal(&header, kind, file->recording, file->sequence, chunk + sizeof(header),
		(uint32_t)used);
	memcpy(chunk, &header, sizeof(header));
	if (!dnp_file_is(file->fd, file->id)) {
		atomic_store(&file->failed, -EBADF);
		return -EBADF;
	}
	failed = dnp_file_write_all(file->fd, chunk, n);
	if (failed) {
		/* Half a chunk helps nobody; where it cannot be cut off, readers skip it. */
		if (ftruncate(file->fd, (off_t)written))
			lseek(file->fd, 0, SEEK_END);
		atomic_store(&file->failed, failed);
		return failed;
	}
	file->sequence++;
	atomic_store(&file->written, written + n);
	return 0;
}

static int write_chunk(struct dnp_writer *writer, enum dnp_chunk_kind kind)
{
	int failed;

	pthread_mutex_lock(&writer->file->lock);
	failed = append(writer->file, kind, writer->chunk, writer->used);
	pthread_mutex_unlock(&writer->file->lock);
	writer->used = 0;
	writer->base_ns = 0;
	return failed;
}

static struct dnp_writer_file *new_file(int fd, uint64_t recording)
{
	struct dnp_writer_file *file = malloc(sizeof(*file));
	off_t end = lseek(fd, 0, SEEK_END);

	if (!file)
		return NULL;
	*file = (struct dnp_writer_file){.fd = fd, .id = dnp_file_id(fd), .recording = recording};
	pthread_mutex_init(&file->lock, NULL);
	file->begin = end > 0 ? (uint64_t)end : 0;
	atomic_store(&file->written, file->begin);
	return file;
}

int dnp_writer_open(struct dnp_writer *writer, int fd, uint64_t recording)
{
	int failed;

	*writer = (struct dnp_writer){
		.file = new_file(fd, recording),
		.chunk = dnp_mem_map(CHUNK_BYTES),
		.used = strlen(dnp_rec_schema),
	};
	if (!writer->file)
		close(fd);
	if (!writer->file || !writer->chunk) {
		writer->used = 0;
		dnp_writer_close(writer);
		return -ENOMEM;
	}
	memcpy(writer->chunk + sizeof(struct dnp_chunk_header), dnp_rec_schema, writer->used);
	failed = write_chunk(writer, DNP_CHUNK_SCHEMA);
	if (failed)
		dnp_writer_close(writer);
	return failed;
}

int dnp_writer_join(struct dnp_writer *writer, const struct dnp_writer *opened)
{
	*writer = (struct dnp_writer){
		.file = opened->file,
		.joined = true,
		.chunk = dnp_mem_map(CHUNK_BYTES),
	};
	return writer->chunk ? 0 : -ENOMEM;
}

int dnp_writer_failed(const struct dnp_writer *writer)
{
	return atomic_load_explicit(&writer->file->failed, memory_order_relaxed);
}

uint64_t dnp_writer_written(const struct dnp_writer *writer)
{
	return atomic_load_explicit(&writer->file->written, memory_order_relaxed);
}

int dnp_writer_flush(struct dnp_writer *writer)
{
	return writer->used ? write_chunk(writer, DNP_CHUNK_RECORDS) : dnp_writer_failed(writer);
}

static void close_file(struct dnp_writer_file *file)
{
	pthread_mutex_destroy(&file->lock);
	if (dnp_file_is(file->fd, file->id))
		close(file->fd);
	free(file);
}

int dnp_writer_close(struct dnp_writer *writer)
{
	int failed = writer->used ? dnp_writer_flush(writer) : 0;

	dnp_mem_unmap(writer->chunk, CHUNK_BYTES);
	if (writer->file && !failed)
		failed = dnp_writer_failed(writer);
	if (writer->file && !writer->joined)
		close_file(writer->file);
	*writer = (struct dnp_writer){0};
	return failed;
}

int dnp_writer_abandon(struct dnp_writer *writer)
{
	struct dnp_writer_file *file = writer->file;
	int failed = !dnp_file_is(file->fd, file->id)     ? -EBADF
		: ftruncate(file->fd, (off_t)file->begin) ? -errno
							  : 0;

	writer->used = 0;
	dnp_writer_close(writer);
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
