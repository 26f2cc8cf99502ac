/* SPDX-License-Identifier: MIT */
/* The launcher's end of format/session.h. Single-threaded. */
#ifndef DNP_LAUNCH_SESSION_FILE_H
#define DNP_LAUNCH_SESSION_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "format/session.h"

/* What the agents say of themselves, all slots together. */
struct dnp_session_sum {
	uint64_t samples, lost;
	unsigned processes; /* slots taken */
	unsigned recording; /* LOADED or RECORDING, and the process lives */
	unsigned cut;       /* LOADED or RECORDING, but the process has ended */
	unsigned ended;
	unsigned failed;
};

/* Makes the file at `path` and maps it. 0 or -errno. */
int dnp_session_new(struct dnp_session **session, const char *path, struct dnp_err *err);
void dnp_session_free(struct dnp_session *session);

/* Asks all agents to end their recordings. */
void dnp_session_stop(struct dnp_session *session);

void dnp_session_sum(const struct dnp_session *session, struct dnp_session_sum *sum);

/* The slot of process `pid`, NULL: it has none. */
const struct dnp_session_slot *dnp_session_find(const struct dnp_session *session, pid_t pid);

/* The first slot whose agent gave up; NULL: none has. */
const struct dnp_session_slot *dnp_session_failed(const struct dnp_session *session);

/* Whether one gave up and said why: "what: why; what to do". */
bool dnp_session_failure(const struct dnp_session *session, char reason[DNP_SESSION_REASON]);

/* Copies a slot's reason, made printable: out is one line. */
void dnp_session_reason(const struct dnp_session_slot *slot, char out[DNP_SESSION_REASON]);

#endif
