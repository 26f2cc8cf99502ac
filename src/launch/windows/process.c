/* SPDX-License-Identifier: MIT */
#include "launch/process.h"

#include <errno.h>
#include <windows.h>

#include <tlhelp32.h> /* does not stand alone */

#include "launch/windows/modules.h"
#include "launch/windows/pipe.h"
#include "os/process.h"
#include "os/tasks.h"

const char dnp_process_list[] = "the system's list", dnp_process_list_remedy[] = "try again";

int dnp_process_read(struct dnp_process *process, pid_t pid)
{
	*process = (struct dnp_process){
		.state = 'R',
		.cpu_ns = dnp_process_cpu_ns((int)pid),
		.start_ticks = dnp_process_start_ticks((int)pid),
	};
	return process->start_ticks ? 0 : -ESRCH;
}

int dnp_process_each(int (*visit)(pid_t pid, void *context), void *context)
{
	HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};
	int ret = 0;

	if (all == INVALID_HANDLE_VALUE)
		return -EIO;
	for (BOOL more = Process32FirstW(all, &entry); more && !ret;
		more = Process32NextW(all, &entry))
		if (entry.th32ProcessID)
			ret = visit((pid_t)entry.th32ProcessID, context);
	CloseHandle(all);
	return ret;
}

static int is_named(const char *path, void *name)
{
	return dnp_modules_is(path, name) ? 1 : 0;
}

bool dnp_process_has_agent(pid_t pid)
{
	char name[] = "dnprof.dll";

	return dnp_modules_each(pid, is_named, name) > 0;
}

bool dnp_process_has_runtime_library(pid_t pid)
{
	char name[] = "coreclr.dll";

	return dnp_modules_each(pid, is_named, name) > 0;
}

bool dnp_process_has_runtime(pid_t pid)
{
	return dnp_process_has_runtime_library(pid) || dnp_pipe_is_there(pid);
}

/* All see the same. */
int dnp_process_open_root(pid_t pid)
{
	(void)pid;
	return -1;
}
