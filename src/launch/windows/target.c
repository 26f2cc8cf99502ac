/* SPDX-License-Identifier: MIT */
#include "launch/target.h"

#include <errno.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/windows/channel.h"
#include "os/windows/peb.h"
#include "os/windows/wide.h"

/* Between two looks whether it is worth waiting for a place. */
#define LOOK_NS UINT64_C(200000000)

/* The process that a thread of that id belongs to; 0: there is no such thread. */
static DWORD owner_of_thread(pid_t tid)
{
	HANDLE thread = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)tid);
	DWORD owner =
		thread && (pid_t)GetThreadId(thread) == tid ? GetProcessIdOfThread(thread) : 0;

	if (thread)
		CloseHandle(thread);
	return owner;
}

static int not_there(pid_t pid, struct dnp_err *err)
{
	DWORD owner = owner_of_thread(pid);

	if (owner)
		return dnp_err(err, -ESRCH,
			"cannot ask process %d: that is a thread of process %d; give that number",
			(int)pid, (int)owner);
	return dnp_err(err, -ESRCH,
		"cannot ask process %d: there is no such process; 'dnprof status' and 'tasklist' "
		"name those that run",
		(int)pid);
}

/* An id is taken for the multiple of four below it by those who open a process. */
int dnp_target_find(struct dnp_target *target, pid_t pid, struct dnp_err *err)
{
	HANDLE process =
		OpenProcess(SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
	bool same = process && (pid_t)GetProcessId(process) == pid;
	bool denied = !process && GetLastError() == ERROR_ACCESS_DENIED;

	*target = (struct dnp_target){.pid = pid, .inner_pid = (int)pid};
	if (process)
		CloseHandle(process);
	if (denied)
		return dnp_target_no_rights(target, err);
	return same && !dnp_process_read(&target->process, pid) ? 0 : not_there(pid, err);
}

/* Names are the same in whatever letters. */
char *dnp_target_variable(const struct dnp_target *target, const char *name)
{
	auto_free wchar_t *all = dnp_peb_environment((int)target->pid);
	auto_free wchar_t *wide = dnp_wide(name);
	size_t n = wide ? wcslen(wide) : 0;

	for (const wchar_t *at = all; wide && at && *at; at += wcslen(at) + 1)
		if (!_wcsnicmp(at, wide, n) && at[n] == L'=')
			return dnp_narrow(at + n + 1);
	return NULL;
}

/* Nobody listens there. Why, as well as it can be known. */
static int no_agent(const struct dnp_target *target, struct dnp_err *err)
{
	int pid = (int)target->pid;

	if (dnp_process_has_agent(target->pid))
		return dnp_err(err, -ENOENT,
			"cannot ask process %d: the agent in it has no pipe; it came this moment, "
			"its name was taken, or the program is ending: try again",
			pid);
	if (dnp_process_has_runtime(target->pid))
		return dnp_err(err, -ENOENT,
			"cannot ask process %d: the agent is not in it; 'dnprof attach %d' brings "
			"it there",
			pid, pid);
	return dnp_err(err, -ENOENT,
		"cannot ask process %d: no .NET runtime was seen in it; it has to be a .NET "
		"program",
		pid);
}

/*
 * As long as all places are taken. A pipe of which others still have their ends looks like that,
 * too, when the agent has left or its process has ended.
 */
static int connect_in_time(
	const struct dnp_target *target, uint64_t until_ns, struct dnp_process *now)
{
	for (;;) {
		uint64_t look_ns = dnp_now_ns() + LOOK_NS;
		int fd = dnp_channel_connect((int)target->pid, target->process.start_ticks,
			look_ns < until_ns ? look_ns : until_ns);

		if (fd != -EAGAIN || dnp_target_has_ended(target, now))
			return fd;
		if (!dnp_process_has_agent(target->pid))
			return -ENOENT;
		if (dnp_now_ns() >= until_ns)
			return -EAGAIN;
	}
}

int dnp_target_connect_agent(
	const struct dnp_target *target, uint64_t patience_ns, struct dnp_err *err)
{
	struct dnp_process now;
	int fd = connect_in_time(target, dnp_now_ns() + patience_ns, &now);

	if (fd < 0 && dnp_target_has_ended(target, &now))
		return dnp_target_ended(target, err);
	switch (-fd) {
	case EACCES: return dnp_target_no_rights(target, err);
	case ENOENT: return no_agent(target, err);
	case EBADE: return dnp_target_not_own(target, "dnprof", err);
	case EAGAIN: return dnp_target_timed_out(target, &now, patience_ns, err);
	default: break;
	}
	if (fd < 0)
		return dnp_err(err, fd, "cannot ask process %d: its pipe: %s; try again",
			(int)target->pid, strerror(-fd));
	return fd;
}

/* One that could be looked at a moment ago may be ending: it lets nobody in any more then. */
int dnp_target_no_rights(const struct dnp_target *target, struct dnp_err *err)
{
	struct dnp_process now;

	if (target->process.start_ticks && dnp_target_has_ended_soon(target, &now))
		return dnp_target_ended(target, err);
	return dnp_err(err, -EACCES,
		"cannot ask process %d: it belongs to another user, or has rights that you have "
		"not; ask from a console of that user, or of an administrator where it was started "
		"by one",
		(int)target->pid);
}

int dnp_target_not_own(const struct dnp_target *target, const char *name, struct dnp_err *err)
{
	return dnp_err(err, -EPERM,
		"cannot ask process %d: its pipe %s was made by another process; end that one",
		(int)target->pid, name);
}
