/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clean.h"
#include "launch/output.h"

int dnp_output_make_recording(const struct dnp_output *output, char **path, struct dnp_err *err)
{
	auto_close int fd = -1;
	int up;

	*path = dnp_output_work(output, DNP_OUTPUT_RECORDING);
	if (!*path)
		return -ENOMEM;
	fd = open(*path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* Not 0 to 2: who gets it may have them closed, and finds them so. */
	up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (up < 0)
		return dnp_err(err, -errno, "cannot write to %s: %s; choose another place with -o",
			output->folder, strerror(errno));
	return up;
}
