/* SPDX-License-Identifier: MIT */
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "cli/cli.h"
#include "os/console.h"
#include "os/file.h"

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

int dnp_output_spares(const char *command, const char *output, int n, char *const *recordings)
{
	auto_free char *out = output && strcmp(output, "-") ? dnp_file_full(output) : NULL;

	for (int i = 0; out && i < n; i++) {
		auto_free char *in = dnp_file_full(recordings[i]);

		if (in && !strcmp(in, out))
			return dnp_usage(command,
				"-o %s: that is the recording itself, which would be lost; choose "
				"another name",
				output);
	}
	return DNP_EXIT_DONE;
}
