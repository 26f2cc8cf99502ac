/* SPDX-License-Identifier: MIT */
#include "base/sink.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clean.h"

void dnp_sink_write(struct dnp_sink *sink, const void *bytes, size_t n)
{
	if (!sink->error && n)
		sink->error = sink->write(sink, bytes, n);
}

void dnp_sink_str(struct dnp_sink *sink, struct dnp_str str)
{
	dnp_sink_write(sink, str.p, str.n);
}

void dnp_sink_puts(struct dnp_sink *sink, const char *text)
{
	dnp_sink_write(sink, text, strlen(text));
}

void dnp_sink_printf(struct dnp_sink *sink, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n >= 0) {
		dnp_sink_write(sink, text, (size_t)n);
	} else {
		text = NULL;
		sink->error = sink->error ? sink->error : -ENOMEM;
	}
}

void dnp_sink_repeat(struct dnp_sink *sink, const char *text, size_t count)
{
	struct dnp_str str = dnp_str(text);

	while (count--)
		dnp_sink_str(sink, str);
}

static int memory_write(struct dnp_sink *sink, const void *bytes, size_t n)
{
	struct dnp_sink_memory *memory = (struct dnp_sink_memory *)sink;

	if (dnp_vec_reserve(&memory->bytes, memory->bytes.n + n))
		return -ENOMEM;
	memcpy(memory->bytes.p + memory->bytes.n, bytes, n);
	memory->bytes.n += n;
	return 0;
}

void dnp_sink_memory_init(struct dnp_sink_memory *memory)
{
	*memory = (struct dnp_sink_memory){.sink = {.write = memory_write}};
}

static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

int dnp_sink_fd_flush(struct dnp_sink_fd *out)
{
	if (!out->sink.error)
		out->sink.error = write_all(out->fd, out->buffer, out->used);
	out->used = 0;
	return out->sink.error;
}

static int fd_write(struct dnp_sink *sink, const void *bytes, size_t n)
{
	struct dnp_sink_fd *out = (struct dnp_sink_fd *)sink;

	if (n > sizeof(out->buffer) - out->used && dnp_sink_fd_flush(out))
		return out->sink.error;
	if (n > sizeof(out->buffer))
		return write_all(out->fd, bytes, n);
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
	struct stat st;

	if (lstat(path, &st) || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return 0;
	return dnp_err(err, -EINVAL, "cannot write %s: it is %s; name a file with -o", path,
		S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
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
	/* mkostemp: mode 0600, O_EXCL, so no link is followed. */
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd < 0) {
		status = cannot_write(err, path, -errno);
		free(file->temporary);
		free(file->path);
		return status;
	}
	dnp_sink_fd_init(&file->out, fd);
	return 0;
}

static int close_file(struct dnp_sink_file *file, int status)
{
	if (close(file->out.fd) && !status)
		status = -errno;
	if (!status && rename(file->temporary, file->path))
		status = -errno;
	if (status)
		unlink(file->temporary);
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
