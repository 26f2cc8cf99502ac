/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clean.h"
#include "launch/output.h"
#include "os/file.h"

int dnp_output_make_recording(const struct dnp_output *output, char **path, struct dnp_err *err)
{
	auto_close int fd = -1;
	int up;

	*path = dnp_output_work(output, DNP_OUTPUT_RECORDING);
	if (!*path)
		return dnp_err(err, -ENOMEM, "cannot write the output: out of memory; free some");
	fd = dnp_file_create_new(*path);
	/* Not 0 to 2: who gets it may have them closed, and finds them so. */
	up = fd < 0 ? fd : dnp_file_again(fd);
	if (up < 0)
		return dnp_err(err, up, "cannot write to %s: %s; choose another place with -o",
			output->folder, strerror(-up));
	return up;
}
