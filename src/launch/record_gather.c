/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "base/clean.h"
#include "base/vec.h"
#include "format/chunk.h"
#include "format/rec.h"
#include "launch/record.h"
#include "os/file.h"

struct one {
	char *path;     /* owned */
	uint64_t began; /* CLOCK_MONOTONIC, ns; UINT64_MAX: it does not say */
};

struct gathered {
	const char *folder;
	struct dnp_vec_of(struct one) all;
	bool told; /* in err, what went wrong */
	struct dnp_err *err;
};

static bool is_recording(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && !strcmp(name + n - 4, ".dnp");
}

static int open_one(struct gathered *gathered, const char *path)
{
	int fd = dnp_file_open(path);

	if (fd >= 0)
		return fd;
	gathered->told = true;
	return dnp_err(gathered->err, fd, "cannot read the recording of a child, %s: %s", path,
		strerror(-fd));
}

/* Of the chunk's first record, which says it if it is the recording's first. */
static uint64_t begin_in(int fd, uint64_t at, uint32_t length)
{
	auto_free uint8_t *payload = malloc(length);
	struct dnp_rec_process process;
	struct dnp_str body;
	size_t next = 0;
	uint64_t id;

	if (payload && dnp_file_read_at(fd, payload, length, at) == (ssize_t)length &&
		dnp_rec_next(payload, length, &next, &id, &body) == 1 && id == DNP_REC_process &&
		!dnp_get_process((const uint8_t *)body.p, body.n, &process))
		return process.start_ns;
	return UINT64_MAX;
}

/* When the recording began; the text that says what its records are goes before them. */
static uint64_t begin_of(int fd)
{
	struct dnp_chunk_header header;
	uint64_t at = 0;

	while (dnp_file_read_at(fd, &header, sizeof(header), at) == sizeof(header) &&
		header.magic == DNP_CHUNK_MAGIC && header.length <= DNP_CHUNK_MAX) {
		at += sizeof(header);
		if (header.kind == DNP_CHUNK_RECORDS)
			return begin_in(fd, at, header.length);
		at += header.length;
	}
	return UINT64_MAX;
}

static int find(const char *name, void *context)
{
	struct gathered *gathered = context;
	struct one one = {0};
	auto_close int fd = -1;

	if (!is_recording(name))
		return 0;
	if (asprintf(&one.path, "%s/%s", gathered->folder, name) < 0)
		return -ENOMEM;
	fd = open_one(gathered, one.path);
	if (fd >= 0)
		one.began = begin_of(fd);
	if (fd >= 0 && !dnp_vec_push(&gathered->all, one))
		return 0;
	free(one.path);
	return fd < 0 ? fd : -ENOMEM;
}

static int by_begin(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->began != y->began)
		return x->began < y->began ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int append_all(struct gathered *gathered, int to, const char *path)
{
	int ret = 0;

	if (gathered->all.n)
		qsort(gathered->all.p, gathered->all.n, sizeof(*gathered->all.p), by_begin);
	for (size_t i = 0; i < gathered->all.n && !ret; i++) {
		auto_close int from = open_one(gathered, gathered->all.p[i].path);

		ret = from < 0 ? from : dnp_record_copy(from, to, path, gathered->err);
	}
	return ret;
}

int dnp_record_gather(const char *path, const char *folder, struct dnp_err *err)
{
	struct gathered gathered = {.folder = folder, .err = err};
	auto_close int to = dnp_file_append(path);
	int ret;

	if (to < 0)
		return dnp_err(err, to, "cannot write to %s: %s; make room on its disk", path,
			strerror(-to));
	ret = dnp_folder_each(folder, find, &gathered);
	if (ret && !gathered.told)
		dnp_err(err, ret, "cannot read %s: %s", folder, strerror(-ret));
	if (!ret)
		ret = append_all(&gathered, to, path);
	for (size_t i = 0; i < gathered.all.n; i++)
		free(gathered.all.p[i].path);
	dnp_vec_done(&gathered.all);
	return ret;
}
