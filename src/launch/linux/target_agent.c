/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/socket.h>

#include "base/clean.h"
#include "format/control.h"
#include "launch/target.h"

/* Nobody listens there. Why, as well as it can be known. */
static int no_agent(const struct dnp_target *target, struct dnp_err *err)
{
	if (dnp_process_has_agent(target->pid))
		return dnp_err(err, -ENOENT,
			"cannot ask process %d: the agent in it has no socket in its TMPDIR; it "
			"has been removed, could not be made there, or the program is ending",
			(int)target->pid);
	if (dnp_process_has_runtime(target->pid))
		return dnp_err(err, -ENOENT,
			"cannot ask process %d: the agent is not in it; 'dnprof attach %d' brings "
			"it there",
			(int)target->pid, (int)target->pid);
	return dnp_err(err, -ENOENT,
		"cannot ask process %d: no .NET runtime was seen in it; it has to be a .NET "
		"program",
		(int)target->pid);
}

static int failed_connect(
	const struct dnp_target *target, const char *name, int error, struct dnp_err *err)
{
	if (error == EACCES || error == EPERM)
		return dnp_target_no_rights(target, err);
	if (error == ENOENT || error == ENOTDIR || error == ECONNREFUSED)
		return no_agent(target, err);
	if (error == EBADE)
		return dnp_target_not_own(target, name, err);
	return dnp_err(err, -error, "cannot ask process %d: its socket: %s; try again",
		(int)target->pid, strerror(error));
}

int dnp_target_connect_agent(
	const struct dnp_target *target, uint64_t patience_ns, struct dnp_err *err)
{
	auto_close int folder = dnp_target_open_folder(target);
	char name[64];
	int fd = folder;

	snprintf(name, sizeof(name), DNP_CONTROL_NAME, target->inner_pid,
		(unsigned long long)target->process.start_ticks);
	if (folder >= 0)
		fd = dnp_target_connect(target, folder, name, SOCK_SEQPACKET, patience_ns, -1);
	return fd < 0 ? failed_connect(target, name, -fd, err) : fd;
}
