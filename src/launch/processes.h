/* SPDX-License-Identifier: MIT */
/*
 * The .NET processes that the caller can see, and what each of them says of the agent in it.
 *
 * Looking does not disturb them. Only those that have the agent are asked, and each only for a
 * short time: the agent answers by a thread of its own, whatever the program does.
 */
#ifndef DNP_LAUNCH_PROCESSES_H
#define DNP_LAUNCH_PROCESSES_H

#include "base/err.h"
#include "base/vec.h"
#include "launch/runtime.h"
#include "launch/status.h"

struct dnp_seen {
	pid_t pid;
	int64_t uid;   /* -1: users have no numbers */
	char user[33]; /* its name, or number */
	char state;    /* of the process, as in /proc/PID/stat */
	char *command; /* owned: its arguments, each ended by a zero byte */
	size_t command_bytes;
	struct dnp_runtime runtime;
	bool asked; /* its agent has answered */
	struct dnp_status status;
	char why[256]; /* that may not be asked, or did not answer: why */
};

struct dnp_processes {
	struct dnp_vec_of(struct dnp_seen) list; /* by their ids */
};

/* All of them; others than the caller's own as well, as far as they can be seen. 0 or -errno. */
int dnp_processes_find(struct dnp_processes *processes, uint64_t patience_ns, struct dnp_err *err);

/* That one alone; -ENOENT: it is not .NET. 0 or -errno with err. */
int dnp_processes_find_one(
	struct dnp_processes *processes, pid_t pid, uint64_t patience_ns, struct dnp_err *err);

void dnp_processes_done(struct dnp_processes *processes);

/*
 * Of one, what is known without rights: whose it is, and its command line. -ESRCH: it has gone. Why
 * the rest is not. By system.
 */
int dnp_seen_read(struct dnp_seen *seen);
const char *dnp_seen_unreadable(const struct dnp_seen *seen);

/* What a person would call it: the program's file, or its assembly where it is `dotnet X.dll`. */
struct dnp_str dnp_seen_name(const struct dnp_seen *seen);

#endif
