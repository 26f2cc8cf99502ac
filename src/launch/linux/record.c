/* SPDX-License-Identifier: MIT */
#include "launch/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clean.h"
#include "format/chunk.h"

#define COPY_BYTES (1 << 20)

struct dnp_ended dnp_ended_of(int status)
{
	return (struct dnp_ended){
		.status = WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 0,
		.signal = WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : 0,
	};
}

static bool write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		p += put;
		n -= (size_t)put;
	}
	return true;
}

static int cannot_write(const char *path, int code, struct dnp_err *err)
{
	return dnp_err(
		err, code, "cannot write to %s: %s; make room on its disk", path, strerror(-code));
}

/* Opens a file that exists for appending. */
static int open_end(const char *path, struct dnp_err *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? cannot_write(path, -errno, err) : fd;
}

/* Bytes of the whole chunks at the beginning of a file. */
static off_t whole_bytes(int fd, off_t size)
{
	struct dnp_chunk_header header;
	off_t at = 0, next;

	while (pread(fd, &header, sizeof(header), at) == sizeof(header) &&
		header.magic == DNP_CHUNK_MAGIC && header.length <= DNP_CHUNK_MAX) {
		next = at + (off_t)sizeof(header) + (off_t)header.length;
		if (next > size)
			break;
		at = next;
	}
	return at;
}

int dnp_record_copy(int from, int to, const char *path, struct dnp_err *err)
{
	auto_free char *buffer = malloc(COPY_BYTES);
	struct stat st;
	off_t n;

	if (!buffer)
		return dnp_err(err, -ENOMEM, "cannot copy a recording: out of memory; free some");
	if (fstat(from, &st))
		return dnp_err(err, -errno, "cannot read a recording: %s", strerror(errno));
	n = whole_bytes(from, st.st_size);
	for (off_t at = 0; at < n;) {
		size_t piece = n - at < COPY_BYTES ? (size_t)(n - at) : COPY_BYTES;
		ssize_t got = pread(from, buffer, piece, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return dnp_err(err, got ? -errno : -EIO, "cannot read a recording: %s",
				got ? strerror(errno) : "it became shorter");
		if (!write_all(to, buffer, (size_t)got))
			return cannot_write(path, -errno, err);
		at += got;
	}
	return 0;
}

static bool is_recording(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && !strcmp(name + n - 4, ".dnp");
}

int dnp_record_gather(const char *path, const char *folder, struct dnp_err *err)
{
	auto_close int to = open_end(path, err);
	DIR *dir = to < 0 ? NULL : opendir(folder);
	struct dirent *entry;
	int ret = 0;

	if (to < 0)
		return to;
	if (!dir)
		return dnp_err(err, -errno, "cannot read %s: %s", folder, strerror(errno));
	while (!ret && (entry = readdir(dir))) {
		auto_close int from = -1;

		if (!is_recording(entry->d_name))
			continue;
		from = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		ret = from < 0
			? dnp_err(err, -errno, "cannot read the recording of a child, %s/%s: %s",
				  folder, entry->d_name, strerror(errno))
			: dnp_record_copy(from, to, path, err);
	}
	closedir(dir);
	return ret;
}
