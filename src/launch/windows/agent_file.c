/* SPDX-License-Identifier: MIT */
#include "launch/agent_file.h"

#include <errno.h>
#include <stdio.h>

#include "base/clean.h"
#include "launch/program.h"
#include "os/file.h"
#include "os/library.h"
#include "os/process.h"

#define AGENT "dnprof"

/* By its file: the runtime keeps to itself what the loader says of it. */
static int check_load(const char *path, struct dnp_err *err)
{
	const char *what = dnp_program_library(path);

	if (!what && !dnp_program_names(path, "DllGetClassObject"))
		what = "no profiler: it has no DllGetClassObject";
	if (what)
		return dnp_err(err, -ENOEXEC,
			"the agent cannot load: %s is %s; build or install dnprof again", path,
			what);
	return 0;
}

/* Beside this program. */
int dnp_agent_file_find(char path[PATH_MAX], struct dnp_err *err)
{
	char self[PATH_MAX], name[32];
	size_t n = dnp_process_executable(self, sizeof(self));
	int folder = (int)dnp_path_base_at(self, n);

	snprintf(name, sizeof(name), "%s" AGENT "%s", dnp_library_prefix, dnp_library_suffix);
	if (snprintf(path, PATH_MAX, "%.*s%s", folder, self, name) < PATH_MAX &&
		dnp_file_kind(path) == DNP_FILE_REGULAR)
		return check_load(path, err);
	return dnp_err(err, -ENOENT,
		"cannot find the agent: no %s in %.*s; build or install dnprof again", name, folder,
		self);
}
