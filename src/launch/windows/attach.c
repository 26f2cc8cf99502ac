/* SPDX-License-Identifier: MIT */
#include "launch/attaching.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "launch/agent_file.h"
#include "launch/windows/modules.h"
#include "launch/windows/pipe.h"
#include "launch/windows/user.h"
#include "os/file.h"
#include "os/library.h"

int dnp_attach_find_library(
	const struct dnp_attach_options *options, char path[PATH_MAX], struct dnp_err *err)
{
	auto_free char *full = NULL;

	if (!options->library)
		return dnp_agent_file_find(path, err);
	full = dnp_file_full(options->library);
	if (full && dnp_file_kind(full) != DNP_FILE_REGULAR)
		errno = EISDIR;
	else if (full && snprintf(path, PATH_MAX, "%s", full) >= PATH_MAX)
		errno = ENAMETOOLONG;
	else if (full)
		return 0;
	return dnp_err(err, -errno, "cannot read the profiler %s: %s; check --profiler-path",
		options->library, strerror(errno));
}

/*
 * Whether the program at that path starts a runtime, which may not be there yet: it is the host of
 * all, or has its assembly beside it.
 */
static bool is_host(const char *path)
{
	size_t n = strlen(path);
	char assembly[PATH_MAX];

	if (dnp_modules_is(path, "dotnet.exe"))
		return true;
	return n > 4 && n < sizeof(assembly) && !_stricmp(path + n - 4, ".exe") &&
		snprintf(assembly, sizeof(assembly), "%.*s.dll", (int)n - 4, path) > 0 &&
		dnp_file_kind(assembly) == DNP_FILE_REGULAR;
}

int dnp_attach_check_program(struct dnp_attaching *attach, struct dnp_err *err)
{
	auto_free char *path = NULL;
	int ret = dnp_modules_program(attach->target.pid, &path);
	struct dnp_process now;

	/* Into another user's the runtime would load our agent, which could not be asked then. */
	if (ret == -EACCES || (!attach->options->library && !dnp_user_is_own(attach->target.pid)))
		return dnp_target_no_rights(&attach->target, err);
	if (ret < 0 && dnp_target_has_ended(&attach->target, &now))
		return dnp_target_ended(&attach->target, err);
	attach->program.kind = path && is_host(path) ? DNP_PROGRAM_DOTNET : DNP_PROGRAM_OTHER;
	return 0;
}

void dnp_attach_tidy(const struct dnp_attaching *attach)
{
	/* A pipe ends with its process. */
	(void)attach;
}

bool dnp_attach_has_server(const struct dnp_attaching *attach, int *error)
{
	*error = 0;
	return dnp_pipe_is_there(attach->target.pid);
}

int dnp_attach_no_socket(const struct dnp_attach_case *attach, struct dnp_err *err)
{
	auto_free char *variable = dnp_target_switched_off(attach->target);
	int pid = (int)attach->target->pid;

	if (variable)
		return dnp_err(err, -EPERM,
			"cannot attach to process %d: its diagnostics are switched off (%s); start "
			"it without that variable",
			pid, variable);
	return dnp_err(err, -ENOENT,
		"cannot attach to process %d: its runtime has no pipe for diagnostics; they may be "
		"switched off in its runtimeconfig.json: start it without that",
		pid);
}
