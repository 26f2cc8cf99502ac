/* SPDX-License-Identifier: MIT */
/*
 * Has the runtime of a running process load a profiler: our agent, or any other that can be
 * attached. The process needs nothing for that but a runtime with its diagnostics switched on.
 */
#ifndef DNP_LAUNCH_ATTACH_H
#define DNP_LAUNCH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct dnp_attach_options {
	pid_t pid;
	uint64_t timeout_ns; /* for all of it: until the runtime is up, and until it has answered */
	const char *clsid;   /* the profiler's class, a GUID; NULL: our agent */
	const char *library; /* its library; NULL: our agent */
	const void *data;    /* what the profiler gets as client data; borrowed */
	size_t data_bytes;
	bool notification; /* our agent: beside another profiler, also where none is yet */
	bool passing;      /* our agent, without data: it leaves by itself when nobody uses it */
	int interrupt;     /* ends waiting when it becomes readable; -1: none */
};

struct dnp_attached {
	pid_t pid;
	bool at_start;     /* it waited for a word to begin, and began with the profiler */
	bool notification; /* it stands beside another profiler, with fewer rights */
	bool copied;       /* the library was not visible there and was copied for the moment */
};

/*
 * 0: the profiler is loaded and initialised. Our agent stands beside a profiler that is active
 * already. -errno with err:
 *   -EALREADY   our agent is there already; ask it (launch/control.h)
 *   -ESRCH      no such process, or it ended meanwhile
 *   -ENOEXEC    it is not .NET, or for another C library or processor
 *   -EACCES     it is another user's
 *   -EPERM      diagnostics are switched off there
 *   -EBUSY      another profiler is active there, or too many ask at once
 *   -ETIMEDOUT  it did not come about in time; where an answer was waited for, it may all the same
 *   -ELIBBAD    the library cannot be loaded, by us or by the process
 *   -EPROTO     the profiler or the runtime refused; err has the HRESULT by its name
 *   -EINTR      it was interrupted; where an answer was waited for, it may come about all the same
 */
int dnp_attach(const struct dnp_attach_options *options, struct dnp_attached *attached,
	struct dnp_err *err);

/*
 * The same for the program that comes to the diagnostic port NAME (launch/startup.h), whichever it
 * is: options->pid means nothing. What our agent is given are the options of a start then.
 */
int dnp_attach_at_port(const struct dnp_attach_options *options, const char *name,
	struct dnp_attached *attached, struct dnp_err *err);

#endif
