/* SPDX-License-Identifier: MIT */
/*
 * A running process: who it is, and how it is reached. It may have its own view of the file system
 * and its own process ids; it is found through them.
 */
#ifndef DNP_LAUNCH_TARGET_H
#define DNP_LAUNCH_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/process.h"

struct dnp_target {
	pid_t pid;
	int inner_pid;              /* as the process itself knows it */
	struct dnp_process process; /* when it was found */
};

/* 0, or -ESRCH with err: there is no such process, it has ended, that is a thread. */
int dnp_target_find(struct dnp_target *target, pid_t pid, struct dnp_err *err);

/* A variable of the environment that it was started with; the caller's. NULL: none, no rights. */
char *dnp_target_variable(const struct dnp_target *target, const char *name);

/*
 * The variable by which its diagnostics were switched off, as NAME=VALUE; the caller's. NULL: none
 * was.
 */
char *dnp_target_switched_off(const struct dnp_target *target);

/*
 * Opens a file by the path that it has for the target, links and all; relative ones begin in the
 * target's current folder. A descriptor, or -errno.
 */
int dnp_target_open(const struct dnp_target *target, const char *path, int flags);

/* The folder that sockets of it and its runtime lie in, TMPDIR: an O_PATH descriptor, or -errno. */
int dnp_target_open_folder(const struct dnp_target *target);

/*
 * Connects to a socket of its own in a folder. `type` as of socket(2); neither connecting nor any
 * later call on the socket takes longer than `patience_ns`, it then fails with EAGAIN. To connect
 * ends also when `interrupt` is readable, -1: never. Returns the descriptor or -errno: -ENOENT,
 * -ECONNREFUSED: nobody listens there; -EACCES: no rights; -EAGAIN: too many ask at once; -EINTR;
 * -EBADE: some other process made that socket.
 */
int dnp_target_connect(const struct dnp_target *target, int folder, const char *name, int type,
	uint64_t patience_ns, int interrupt);

/*
 * Connects to the agent in it: a connection (os/channel.h), or -errno with err. -ENOENT: it is not
 * there; -EACCES: the process is another user's; -EPERM: somebody else listens by its name.
 */
int dnp_target_connect_agent(
	const struct dnp_target *target, uint64_t patience_ns, struct dnp_err *err);

/* Whether it has ended since it was found; *now: what it is. */
bool dnp_target_has_ended(const struct dnp_target *target, struct dnp_process *now);

/* The same, where its sockets were closed: a process that ends does that a moment before. */
bool dnp_target_has_ended_soon(const struct dnp_target *target, struct dnp_process *now);

/* "it belongs to another user": fills err, returns -EACCES. */
int dnp_target_no_rights(const struct dnp_target *target, struct dnp_err *err);

/* Its socket NAME is not its own: fills err, returns -EPERM. */
int dnp_target_not_own(const struct dnp_target *target, const char *name, struct dnp_err *err);

/* "it ended meanwhile": fills err, returns -ESRCH. */
int dnp_target_ended(const struct dnp_target *target, struct dnp_err *err);

/* No answer within `patience_ns`, of a process that is `now`: fills err, returns -ETIMEDOUT. */
int dnp_target_timed_out(const struct dnp_target *target, const struct dnp_process *now,
	uint64_t patience_ns, struct dnp_err *err);

#endif
