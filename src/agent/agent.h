/* SPDX-License-Identifier: MIT */
/*
 * The library in the target: what the runtime calls, and the one recording it makes.
 *
 *   entry.c      the exported functions
 *   callbacks.c  the runtime's notifications, handed to those whom they concern
 *   agent.c      options, start and end of the recording
 *   recorder.c   the thread that drains, looks for threads and modules, and ends the recording
 *   control.c    the socket by which others ask
 *   dump.c       the stacks of all threads, for one who asks
 *   methods.c    managed methods: who they are, their code, their names
 *   thread_names.c  names of managed threads, which come before or after the threads
 *   frames.c     addresses in samples → frames of the recording
 */
#ifndef DNP_AGENT_AGENT_H
#define DNP_AGENT_AGENT_H

#include "capture/engine.h"
#include "clr/callback.h"
#include "format/agent_options.h"
#include "format/rec.h"
#include "format/session.h"
#include "store/writer.h"

/* All that the agent's parts share. Written before recording starts, read-only after. */
struct dnp_agent {
	struct dnp_info info;
	struct dnp_agent_options options;
	const struct dnp_engine *engines[DNP_EVENTS_MAX]; /* by event index */
	unsigned n_engines;
	struct dnp_session *session;   /* borrowed from its mapping; NULL: none */
	struct dnp_session_slot *slot; /* NULL: none */
	char runtime[64];              /* version, as 10.0.12 */
	int fd;                        /* of the recording; the writer takes it over */
};

extern struct dnp_agent dnp_agent;

/* The object that the runtime calls. */
ICorProfilerCallback *dnp_agent_callback(void);

/*
 * Starts recording, on the thread that the runtime initialises on. S_OK also when this process is
 * not meant to be recorded: *recording tells. On failure the reason is in the session and, with
 * the option verbose, on stderr.
 */
HRESULT dnp_agent_start(IUnknown *unknown, int *recording);

/* Ends the recording well and waits for it. Once; any thread but the recorder. */
void dnp_agent_stop(enum dnp_end_reason reason);

/*
 * Makes a thread of the process known and starts sampling it, if it is new. `before`: it was there
 * before recording began, so that what it did until now is not missing.
 */
struct dnp_thread *dnp_agent_thread(int tid, int before);

/*
 * A thread begins to be one of the runtime's, and stops to be one; on that thread. Returns when no
 * walk of it goes on any more.
 */
void dnp_agent_managed_begin(ThreadID id, struct dnp_thread *thread);
void dnp_agent_managed_end(ThreadID id, int tid);

/* Writes the record `process` of this one, as it is now. Recorder. */
void dnp_agent_write_process(struct dnp_writer *writer);

/* recorder.c: the thread of our own. 0 or -errno. */
int dnp_recorder_start(struct dnp_err *err);
void dnp_recorder_stop(enum dnp_end_reason reason);

#endif
