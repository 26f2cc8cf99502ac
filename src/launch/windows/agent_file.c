/* SPDX-License-Identifier: MIT */
#include "launch/agent_file.h"

#include <errno.h>
#include <stdio.h>

#include "os/file.h"
#include "os/library.h"
#include "os/process.h"

#define AGENT "dnprof"

/* Beside this program. */
int dnp_agent_file_find(char path[PATH_MAX], struct dnp_err *err)
{
	char self[PATH_MAX], name[32];
	size_t n = dnp_process_executable(self, sizeof(self));
	int folder = (int)dnp_path_base_at(self, n);

	snprintf(name, sizeof(name), "%s" AGENT "%s", dnp_library_prefix, dnp_library_suffix);
	if (snprintf(path, PATH_MAX, "%.*s%s", folder, self, name) < PATH_MAX &&
		dnp_file_kind(path) == DNP_FILE_REGULAR)
		return 0;
	return dnp_err(err, -ENOENT,
		"cannot find the agent: no %s in %.*s; build or install dnprof again", name, folder,
		self);
}
