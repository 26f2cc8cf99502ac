/* SPDX-License-Identifier: MIT */
#include "launch/attaching.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clean.h"
#include "launch/agent_file.h"
#include "launch/linux/ipc.h"
#include "launch/library.h"
#include "launch/program.h"
#include "launch/stale.h"
#include "launch/target.h"

/*
 * The path to a socket has 107 bytes at most, and the runtime's name takes some 50 of them. Of a
 * longer one it cuts off the end, and with it what tells one process's from another's.
 */
#define TMPDIR_MAX 60u

/* ---- What can be known before anything is asked */

int dnp_attach_find_library(
	const struct dnp_attach_options *options, char path[PATH_MAX], struct dnp_err *err)
{
	const char *library = options->library;
	char why[400];
	int ret;

	if (!library)
		return dnp_agent_file_find(path, err);
	if (!realpath(library, path))
		return dnp_err(err, -errno,
			"cannot read the profiler %s: %s; check --profiler-path", library,
			strerror(errno));
	ret = dnp_program_check_library(path, err);
	if (ret)
		return ret;
	ret = dnp_library_try(path, why, sizeof(why));
	if (ret)
		dnp_err(err, ret,
			"the profiler cannot load: %s; build it for this system, or check "
			"--profiler-path",
			why);
	return ret;
}

int dnp_attach_check_program(struct dnp_attaching *attach, struct dnp_err *err)
{
	struct dnp_program *program = &attach->program;
	struct dnp_err unseen;
	char path[32];
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)attach->target.pid);
	ret = dnp_program_find(program, path, &unseen);
	if (ret == -EACCES || ret == -EPERM)
		return dnp_target_no_rights(&attach->target, err);
	if (program->kind != DNP_PROGRAM_FOREIGN &&
		!dnp_process_maps(attach->target.pid, "ld-musl"))
		return 0;
	return dnp_err(err, -ENOEXEC,
		"cannot attach to process %d: it is %s; the agent is for 64-bit programs of its "
		"own processor with glibc",
		(int)attach->target.pid,
		program->kind == DNP_PROGRAM_FOREIGN ? program->what
						     : "a program for the C library musl");
}

/* ---- The runtime's socket */

bool dnp_attach_has_server(const struct dnp_attaching *attach, int *error)
{
	char name[DNP_IPC_NAME_ROOM];
	auto_close int folder = dnp_ipc_folder(&attach->target, name);
	struct stat st;

	*error = folder < 0 ? -folder : 0;
	return folder >= 0 && !fstatat(folder, name, &st, 0) && S_ISSOCK(st.st_mode);
}

int dnp_attach_no_socket(const struct dnp_attach_case *attach, struct dnp_err *err)
{
	auto_free char *variable = dnp_target_switched_off(attach->target);
	auto_free char *folder = dnp_target_variable(attach->target, "TMPDIR");

	if (variable)
		return dnp_err(err, -EPERM,
			"cannot attach to process %d: its diagnostics are switched off (%s); start "
			"it without that variable",
			(int)attach->target->pid, variable);
	if (folder && strlen(folder) > TMPDIR_MAX)
		return dnp_err(err, -ENOENT,
			"cannot attach to process %d: its TMPDIR, of %zu bytes, is too long for "
			"the "
			"runtime's socket; start it with one of %u at most",
			(int)attach->target->pid, strlen(folder), TMPDIR_MAX);
	return dnp_err(err, -ENOENT,
		"cannot attach to process %d: its runtime has no socket in %s; it has been "
		"removed, or could not be made there: start the program again",
		(int)attach->target->pid, folder && *folder ? folder : "/tmp");
}

void dnp_attach_tidy(const struct dnp_attaching *attach)
{
	auto_close int folder = dnp_target_open_folder(&attach->target);

	if (folder >= 0)
		dnp_stale_remove(folder);
}
