/* SPDX-License-Identifier: MIT */
#include "os/file_sink.h"

#include <stdio.h>

#include "base/clean.h"
#include "os/file.h"

int dnp_sink_fd_flush(struct dnp_sink_fd *out)
{
	if (!out->sink.error)
		out->sink.error = dnp_file_write_all(out->fd, out->buffer, out->used);
	out->used = 0;
	return out->sink.error;
}

static int fd_write(struct dnp_sink *sink, const void *bytes, size_t n)
{
	struct dnp_sink_fd *out = (struct dnp_sink_fd *)sink;

	if (n > sizeof(out->buffer) - out->used && dnp_sink_fd_flush(out))
		return out->sink.error;
	if (n > sizeof(out->buffer))
		return dnp_file_write_all(out->fd, bytes, n);
	memcpy(out->buffer + out->used, bytes, n);
	out->used += n;
	return 0;
}

void dnp_sink_fd_init(struct dnp_sink_fd *out, int fd)
{
	out->sink = (struct dnp_sink){.write = fd_write};
	out->fd = fd;
	out->used = 0;
}

static int cannot_write(struct dnp_err *err, const char *path, int code)
{
	return dnp_err(err, code, "cannot write %s: %s; choose another place with -o", path,
		strerror(-code));
}

/* Only files that are ours to replace: a device or a pipe would be lost by the rename. */
static int refuse_special(const char *path, struct dnp_err *err)
{
	enum dnp_file_kind kind = dnp_file_kind(path);

	if (kind == DNP_FILE_NONE || kind == DNP_FILE_REGULAR || kind == DNP_FILE_LINK)
		return 0;
	return dnp_err(err, -EINVAL, "cannot write %s: it is %s; name a file with -o", path,
		kind == DNP_FILE_FOLDER ? "a folder" : "not a regular file");
}

int dnp_sink_file_open(struct dnp_sink_file *file, const char *path, struct dnp_err *err)
{
	int fd, status = refuse_special(path, err);

	if (status)
		return status;
	file->path = strdup(path);
	if (!file->path || asprintf(&file->temporary, "%s.XXXXXX", path) < 0) {
		free(file->path);
		return dnp_err(err, -ENOMEM, "cannot write %s: out of memory; free some", path);
	}
	fd = dnp_file_begin(file->temporary);
	if (fd < 0) {
		status = cannot_write(err, path, fd);
		free(file->temporary);
		free(file->path);
		return status;
	}
	dnp_sink_fd_init(&file->out, fd);
	return 0;
}

/* Else it goes with its descriptor. */
static bool has_name(const char *temporary)
{
	return strcmp(temporary + strlen(temporary) - 6, "XXXXXX") != 0;
}

static int close_file(struct dnp_sink_file *file, int status)
{
	if (!status)
		status = dnp_file_name(file->out.fd, file->temporary);
	if (close(file->out.fd) && !status)
		status = -errno;
	if (!status)
		status = dnp_file_rename(file->temporary, file->path);
	if (status && has_name(file->temporary))
		dnp_file_remove(file->temporary);
	free(file->temporary);
	file->temporary = NULL;
	return status;
}

int dnp_sink_file_commit(struct dnp_sink_file *file, struct dnp_err *err)
{
	int status = close_file(file, dnp_sink_fd_flush(&file->out));

	if (status)
		cannot_write(err, file->path, status);
	free(file->path);
	file->path = NULL;
	return status;
}

void dnp_sink_file_abort(struct dnp_sink_file *file)
{
	close_file(file, -ECANCELED);
	free(file->path);
	file->path = NULL;
}
