/* SPDX-License-Identifier: MIT */
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/console.h"

void dnp_output_begin(struct dnp_sink_fd *out)
{
	dnp_console_outlive_reader();
	dnp_sink_fd_init(out, fileno(stdout));
}

int dnp_output_end(
	struct dnp_sink_fd *out, const char *what, const char *remedy, struct dnp_err *err)
{
	int status = dnp_sink_fd_flush(out);

	if (!status || status == -EPIPE)
		return 0;
	return dnp_err(err, status, "cannot write %s: %s; %s", what, strerror(-status), remedy);
}
