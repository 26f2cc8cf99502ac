/* SPDX-License-Identifier: MIT */
#include "launch/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clean.h"
#include "format/chunk.h"
#include "os/clock.h"
#include "read/input.h"

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

static int append_exit(
	const char *path, const struct dnp_recording *recording, int status, struct dnp_err *err)
{
	struct dnp_rec_exit record = {
		.time_ns = dnp_now_ns(),
		.status = WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 0,
		.signal = WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : 0,
	};
	struct {
		struct dnp_chunk_header header;
		uint8_t payload[64];
	} chunk;
	size_t n = dnp_put_exit(chunk.payload, sizeof(chunk.payload), &record);
	auto_close int fd = open_end(path, err);

	if (fd < 0)
		return fd;
	dnp_chunk_seal(&chunk.header, DNP_CHUNK_RECORDS, recording->number,
		recording->next_sequence, chunk.payload, (uint32_t)n);
	if (!write_all(fd, &chunk, sizeof(chunk.header) + n))
		return cannot_write(path, -errno, err);
	return 0;
}

static int add_exit(
	struct dnp_input *input, const char *path, pid_t pid, int status, struct dnp_err *err)
{
	int ret = dnp_input_add_file(input, path, err);

	if (!ret)
		ret = dnp_input_finish(input, err);
	for (size_t i = 0; !ret && i < input->recordings.n; i++) {
		if (input->recordings.p[i].process.pid == (uint64_t)pid)
			return append_exit(path, &input->recordings.p[i], status, err);
	}
	return ret ? ret : -ENODATA;
}

int dnp_record_exit(const char *path, pid_t pid, int status, struct dnp_err *err)
{
	struct dnp_input input;
	int ret;

	dnp_input_init(&input);
	ret = add_exit(&input, path, pid, status, err);
	dnp_input_done(&input);
	return ret;
}

static int append_file(const char *path, int to, int from, struct dnp_err *err)
{
	auto_free char *buffer = malloc(1 << 16);

	if (!buffer)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(from, buffer, 1 << 16);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return dnp_err(err, -errno, "cannot read a recording: %s", strerror(errno));
		if (n == 0)
			return 0;
		if (!write_all(to, buffer, (size_t)n))
			return cannot_write(path, -errno, err);
	}
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
		if (from >= 0)
			ret = append_file(path, to, from, err);
	}
	closedir(dir);
	return ret;
}
