/* SPDX-License-Identifier: MIT */
#include "launch/attaching.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clean.h"
#include "format/agent_options.h"
#include "launch/agent_file.h"
#include "launch/linux/ipc.h"
#include "launch/library.h"
#include "launch/linux/place.h"
#include "launch/program.h"
#include "launch/stale.h"
#include "launch/linux/startup.h"
#include "launch/target.h"

/*
 * The path to a socket has 107 bytes at most, and the runtime's name takes some 50 of them. Of a
 * longer one it cuts off the end, and with it what tells one process's from another's.
 */
#define TMPDIR_MAX 60u

static struct dnp_place place;

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

/* ---- Asking */

/* What a profiler that comes at the start of a program is told: ours its options, others nothing.
 */
static int prepare_startup(const struct dnp_attach_options *options, const char *clsid,
	const char *library, struct dnp_startup *startup, struct dnp_err *err)
{
	if (options->library && options->data_bytes)
		return dnp_err(err, -EINVAL,
			"cannot attach with client data: a profiler that comes at the start of a "
			"program is given none; leave --client-data away");
	*startup = (struct dnp_startup){
		.clsid = clsid,
		.library = library,
		.options = options->library   ? NULL
			: options->data_bytes ? options->data
					      : DNP_OPTIONS_IDLE,
		.agent = !options->library,
	};
	return 0;
}

/* It has stopped before its start, and goes on as soon as somebody says so. */
static bool waits_for_us(const struct dnp_attaching *attach, HRESULT result)
{
	return result == CORPROF_E_NOT_YET_AVAILABLE && dnp_startup_waits(&attach->target);
}

static int begin_with(struct dnp_attaching *attach, struct dnp_err *err)
{
	const struct dnp_attach_options *options = attach->options;
	struct dnp_startup startup;
	int ret = prepare_startup(options, attach->c.clsid, attach->library, &startup, err);

	if (ret)
		return ret;
	ret = dnp_startup_waiting(
		&startup, &attach->target, attach->deadline_ns, options->interrupt, err);
	attach->at_start = !ret;
	return ret;
}

int dnp_attach_at_start(struct dnp_attaching *attach, HRESULT result, struct dnp_err *err)
{
	return waits_for_us(attach, result) ? begin_with(attach, err) : -EALREADY;
}

int dnp_attach_ask(struct dnp_attaching *attach, uint64_t patience_ns, HRESULT *result)
{
	return dnp_ipc_ask(
		&attach->target, &attach->request, patience_ns, attach->options->interrupt, result);
}

void dnp_attach_tidy(const struct dnp_attaching *attach)
{
	auto_close int folder = dnp_target_open_folder(&attach->target);

	if (folder >= 0)
		dnp_stale_remove(folder);
}

int dnp_attach_place(struct dnp_attaching *attach, bool *copied, struct dnp_err *err)
{
	int ret = dnp_place_open(&place, &attach->target, attach->library, err);

	if (ret)
		return ret;
	*copied = place.folder >= 0;
	snprintf(attach->seen, sizeof(attach->seen), "%s", place.path);
	return 0;
}

void dnp_attach_unplace(void)
{
	dnp_place_done(&place);
}

/* ---- At a port */

int dnp_attach_at_port(const struct dnp_attach_options *options, const char *file,
	struct dnp_attached *attached, struct dnp_err *err)
{
	char library[PATH_MAX];
	struct dnp_startup startup;
	int ret = dnp_attach_find_library(options, library, err);

	*attached = (struct dnp_attached){.at_start = true};
	if (!ret)
		ret = prepare_startup(options, options->library ? options->clsid : DNP_AGENT_CLSID,
			library, &startup, err);
	if (!ret)
		ret = dnp_startup_at_port(&startup, file, options->timeout_ns, options->interrupt,
			&attached->pid, err);
	return ret;
}
