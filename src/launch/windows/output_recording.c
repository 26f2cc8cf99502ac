/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "launch/output.h"
#include "os/file.h"

int dnp_output_make_recording(const struct dnp_output *output, char **path, struct dnp_err *err)
{
	int fd;

	*path = dnp_output_work(output, DNP_OUTPUT_RECORDING);
	if (!*path)
		return dnp_err(err, -ENOMEM, "cannot write the output: out of memory; free some");
	fd = dnp_file_create_new(*path);
	if (fd < 0)
		return dnp_err(err, fd, "cannot write to %s: %s; choose another place with -o",
			output->folder, strerror(-fd));
	return fd;
}
