/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "launch/finding.h"
#include "launch/windows/modules.h"
#include "launch/windows/pipe.h"
#include "launch/windows/user.h"
#include "os/file.h"
#include "os/process.h"
#include "os/tasks.h"
#include "os/windows/mapped_code.h"
#include "os/windows/nt.h"
#include "os/windows/wide.h"

/* ---- The machine */

static void read_version(struct dnp_facts *facts)
{
	OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof(version)};

	if (NT_SUCCESS(RtlGetVersion(&version)))
		snprintf(facts->kernel, sizeof(facts->kernel), "%lu.%lu.%lu",
			version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber);
}

/* Wine tells who asks for this. */
static void read_wine(struct dnp_facts *facts)
{
	const char *(*version)(void) = NULL;
	FARPROC found = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version");

	memcpy(&version, &found, sizeof(version));
	if (version)
		snprintf(facts->wine, sizeof(facts->wine), "%.31s", version());
}

/* Of the processor, which may run programs that were made for another one. */
static void read_processor(struct dnp_facts *facts)
{
	SYSTEM_INFO system;
	const char *name = "unknown";

	GetNativeSystemInfo(&system);
	if (system.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_AMD64)
		name = "x86_64";
	else if (system.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_ARM64)
		name = "aarch64";
	snprintf(facts->machine, sizeof(facts->machine), "%s", name);
}

/* By a file as it will be made there. */
static void try_folder(struct dnp_facts *facts)
{
	wchar_t wide[MAX_PATH + 1] = L"";
	struct dnp_err err = {0};
	int fd = dnp_file_in_memory(&err);
	auto_free char *path = NULL;

	GetTempPathW(DNP_ARRAY_SIZE(wide), wide);
	path = dnp_narrow(wide);
	snprintf(facts->folder_path, sizeof(facts->folder_path), "%.255s", path ? path : "");
	if (fd < 0)
		dnp_find_keep(facts->folder, &err);
	else
		close(fd);
}

void dnp_find_machine(struct dnp_facts *facts)
{
	read_version(facts);
	read_wine(facts);
	read_processor(facts);
	try_folder(facts);
	facts->step_ns = dnp_task_step_ns();
	dnp_user_name((pid_t)dnp_process_id(), facts->caller_user);
}

void dnp_find_own(struct dnp_facts *facts)
{
	memcpy(facts->user, facts->caller_user, sizeof(facts->user));
	facts->runtime.readable = true;
}

/* ---- Of a process that runs */

/* Which libraries are profilers does not show (launch/windows/runtime.c), but which was wanted. */
static void find_other(struct dnp_facts *facts, const struct dnp_target *target)
{
	auto_free char *enabled = dnp_target_variable(target, "CORECLR_ENABLE_PROFILING");
	auto_free char *path = dnp_target_variable(target, "CORECLR_PROFILER_PATH_64");

	if (!enabled || !strtoul(enabled, NULL, 16) || facts->runtime.agent)
		return;
	if (!path)
		path = dnp_target_variable(target, "CORECLR_PROFILER_PATH");
	if (!path)
		path = dnp_target_variable(target, "CORECLR_PROFILER");
	snprintf(facts->other, sizeof(facts->other), "%.255s",
		path && *path ? path : "none by its name");
}

static void find_rest(
	struct dnp_facts *facts, const struct dnp_target *target, uint64_t patience_ns)
{
	struct dnp_err err = {0};

	facts->has_socket = dnp_pipe_is_there(facts->pid);
	dnp_find_switched_off(facts, target);
	find_other(facts, target);
	facts->low_code = dnp_mapped_code_is_below((int)facts->pid, DNP_LOW_CODE_END);
	if (dnp_tasks_allowed((int)facts->pid, &err))
		dnp_find_keep(facts->threads_shut, &err);
	dnp_find_answer(facts, patience_ns);
}

int dnp_find_process(
	struct dnp_facts *facts, const char *library, uint64_t patience_ns, struct dnp_err *err)
{
	struct dnp_target target;
	auto_free char *program = NULL;
	int failed = dnp_target_find(&target, facts->pid, err);

	(void)library; /* all see the same files */
	/* Who may not open it may still be told whose it is. */
	if (failed && failed != -EACCES)
		return failed;
	dnp_user_name(facts->pid, facts->user);
	if (dnp_runtime_look(&facts->runtime, facts->pid))
		return dnp_target_ended(&target, err);
	if (!facts->runtime.readable)
		return 0;
	dnp_modules_program(facts->pid, &program);
	if (program)
		dnp_find_kind(facts, program);
	find_rest(facts, &target, patience_ns);
	return 0;
}
