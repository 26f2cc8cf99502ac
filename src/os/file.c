/* SPDX-License-Identifier: MIT */
#include "os/file.h"

#include <errno.h>
#include <unistd.h>

#include "base/vec.h"

#define READ_BYTES  65536u
#define WRITE_BYTES (1u << 30) /* all systems take as much in one call */

int dnp_file_read_all(int fd, struct dnp_file_bytes *bytes)
{
	struct dnp_vec_of(uint8_t) all = {0};
	ssize_t n;

	do {
		if (dnp_vec_reserve(&all, all.n + READ_BYTES)) {
			dnp_vec_done(&all);
			return -ENOMEM;
		}
		n = read(fd, all.p + all.n, READ_BYTES);
		all.n += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0) {
		int status = -errno;

		dnp_vec_done(&all);
		return status;
	}
	*bytes = (struct dnp_file_bytes){.p = all.p, .n = all.n};
	return 0;
}

int dnp_file_write_all(int fd, const void *bytes, size_t n)
{
	const char *from = bytes;

	while (n) {
		ssize_t done = dnp_file_write(fd, from, n < WRITE_BYTES ? n : WRITE_BYTES);

		if (done == -EINTR)
			continue;
		if (done <= 0)
			return done ? (int)done : -EIO;
		from += done;
		n -= (size_t)done;
	}
	return 0;
}
