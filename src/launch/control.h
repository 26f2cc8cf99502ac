/* SPDX-License-Identifier: MIT */
/*
 * Asks the agent in a process (format/control.h), whoever has brought it there. The process may
 * have its own view of the file system and its own process ids; it is found through them.
 */
#ifndef DNP_LAUNCH_CONTROL_H
#define DNP_LAUNCH_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "format/agent_options.h"
#include "format/control.h"
#include "launch/status.h"

struct dnp_control;

/*
 * Connects to the agent in process `pid`. Neither that nor any answer takes longer than
 * `patience_ns`. 0 or -errno: -ESRCH no such process, -ENOENT no agent in it, -EACCES it is another
 * user's, …
 *
 * All that ask return 0 or -errno: what the agent refused with, -ETIMEDOUT no answer within that
 * time, -ESRCH it ended meanwhile, -EPROTONOSUPPORT its agent is of another version, -EINTR the
 * caller was interrupted (see below), -ECONNRESET, …
 */
int dnp_control_open(
	struct dnp_control **control, pid_t pid, uint64_t patience_ns, struct dnp_err *err);
void dnp_control_close(struct dnp_control *control);

/* Whoever waits for an answer gives up when this descriptor, borrowed, becomes readable. */
void dnp_control_interrupt_by(struct dnp_control *control, int fd);

/*
 * Begins a recording into the file `fd`, with flags of enum dnp_control_start. One that is not held
 * and has failed here does not begin later: the agent learns that nobody waits for it.
 */
int dnp_control_start(struct dnp_control *control, int fd, const struct dnp_agent_options *options,
	unsigned flags, struct dnp_err *err);

/* How a recording has ended. */
struct dnp_control_ended {
	bool by_itself;  /* nobody asked for it by this connection */
	bool whole;      /* its end is there */
	bool awaited;    /* asked for here, and awaited by the command that began it */
	unsigned reason; /* enum dnp_end_reason; 0: not told */
	char why[256];   /* it went wrong; empty: it did not */
};

/* Ends the recording. *fd: the file that it was made into, the caller's. */
int dnp_control_stop(
	struct dnp_control *control, int *fd, struct dnp_control_ended *ended, struct dnp_err *err);

/* Has all in the file that was seen until now; the offset of *fd, the caller's, is not to be moved.
 */
int dnp_control_flush(struct dnp_control *control, int *fd, struct dnp_err *err);

/*
 * Ends what is recorded, and has the agent leave the process, with flags of enum
 * dnp_control_detach. -EBUSY: they keep it from that.
 */
int dnp_control_detach(struct dnp_control *control, unsigned flags, struct dnp_err *err);

/*
 * After that: waits until the process has the agent's library no more, and some seconds more for
 * what becomes of that of an agent that has left. 0 or -errno; -EBUSY: the process keeps it.
 */
int dnp_control_wait_gone(pid_t pid, uint64_t patience_ns, struct dnp_err *err);

/*
 * What dnp_interrupt_await waits for until something comes that nobody has asked for, and whether
 * something has.
 */
int dnp_control_fd(const struct dnp_control *control);
bool dnp_control_has_news(const struct dnp_control *control);

/* Whether a recording that this connection held has ended, as far as was heard. */
bool dnp_control_has_ended(const struct dnp_control *control, struct dnp_control_ended *ended);

/*
 * What came there: 0 and *ended, if a recording that this connection held has ended. -ESRCH: the
 * process has, and the agent said nothing; -ECONNRESET: the connection has; or another -errno.
 */
int dnp_control_listen(
	struct dnp_control *control, struct dnp_control_ended *ended, struct dnp_err *err);

/*
 * Has the stacks of all threads of a process taken, now. *fd: a file (dnp_file_in_memory) with the
 * recording of them, the caller's; it is open wherever it was written last. `interrupt` as of
 * dnp_control_interrupt_by, -1: none. 0 or -errno as above.
 */
int dnp_control_stack(pid_t pid, uint64_t patience_ns, int interrupt, int *fd, struct dnp_err *err);

/* How things stand in a process that has the agent. 0 or -errno as above. */
int dnp_control_status(
	pid_t pid, uint64_t patience_ns, struct dnp_status *status, struct dnp_err *err);

enum dnp_presence { DNP_AWAY, DNP_HERE, DNP_LEAVING };

/* Whether the agent is in a process, by its socket; one that is silent for a second is. */
enum dnp_presence dnp_control_presence(pid_t pid);

#endif
