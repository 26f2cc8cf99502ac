/* SPDX-License-Identifier: MIT */
/*
 * The library in the target: what the runtime calls, and the recordings it makes.
 *
 *   entry.c      the exported functions
 *   callbacks.c  the runtime's notifications, handed to those whom they concern
 *   allowed.c    which of them may do something now
 *   life.c       how it comes into the process, and its end
 *   detach.c     whether it can leave before, and that it does
 *   environment.c  the variables that bring it there
 *   beside.c     whether the runtime knows of it, as one beside the profiler
 *   recorder.c   its thread: sleeps, records, and serves who asks
 *   recording.c  one recording, from its start to its end
 *   engines.c    the sources of events of a recording
 *   events.c     what the runtime is asked to tell
 *   pipe.c       the runtime's own events (EventPipe), delivered in the process
 *   control.c    the socket by which others ask
 *   requests.c   what they can ask for
 *   answer.c     what they are told
 *   knowledge.c  managed code and threads that were there before
 *   dump.c       the stacks of all threads, for one who asks
 *   methods.c    managed methods: who they are, their code, their names
 *   thread_names.c  names of managed threads, which come before or after the threads
 *   frames.c     addresses in samples → frames of the recording
 *   agent.c      what all of these share
 *
 * Of two of them one knows the other, never both (tools/check-layers).
 */
#ifndef DNP_AGENT_AGENT_H
#define DNP_AGENT_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/str.h"
#include "clr/info.h"
#include "format/rec.h"
#include "format/session.h"
#include "store/writer.h"

enum dnp_presence {
	DNP_AWAY,
	DNP_HERE,
	DNP_LEAVING, /* it will unload us in a moment */
};

/* All that the agent's parts share. Written before its thread runs, read-only after, but for: */
struct dnp_agent {
	_Atomic enum dnp_presence presence;
	_Atomic bool complete; /* the runtime said so, ProfilerAttachComplete */
	bool untold;           /* the runtime does not tell us anything, the recorder's */

	struct dnp_info info;
	struct dnp_session *session;   /* borrowed from its mapping; NULL: none */
	struct dnp_session_slot *slot; /* NULL: none */
	char runtime[64];              /* version, as 10.0.12 */
	bool verbose;                  /* says on stderr what it does */
	bool attached;                 /* it came to a program that ran already */
	bool notification;             /* beside the profiler, not as the profiler */
};

extern struct dnp_agent dnp_agent;

/* Which thread of the system one of the runtime's is or was, 0: not known. Any thread. */
static inline int dnp_agent_tid(ThreadID managed)
{
	uint32_t tid = 0;

	if (FAILED(dnp_com(dnp_agent.info.com, GetThreadInfo, managed, &tid)))
		return 0;
	return (int)tid;
}

/* The calling thread, 0: it is none of the runtime's. */
static inline ThreadID dnp_agent_own_id(void)
{
	ThreadID own = 0;

	return SUCCEEDED(dnp_com(dnp_agent.info.com, GetCurrentThreadID, &own)) ? own : 0;
}

/* Whether the runtime has us already, or still. Any thread. */
static inline enum dnp_presence dnp_agent_presence(void)
{
	return atomic_load(&dnp_agent.presence);
}

/* Writes the record `process` of this one, of a recording that began then. Recorder. */
void dnp_agent_write_process(struct dnp_writer *writer, uint64_t start_ns, uint64_t start_unix_ns);

#endif
