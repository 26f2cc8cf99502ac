/* SPDX-License-Identifier: MIT */
/*
 * The library in the target: what the runtime calls, and the recordings it makes.
 *
 *   entry.c      the exported functions
 *   callbacks.c  the runtime's notifications, handed to those whom they concern
 *   agent.c      how it comes into the process
 *   environment.c  the variables that bring it there
 *   beside.c     whether the runtime knows of it, as one beside the profiler
 *   recorder.c   its thread: sleeps, records, and serves who asks
 *   recording.c  one recording, from its start to its end
 *   engines.c    the sources of events of a recording
 *   events.c     what the runtime is asked to tell
 *   pipe.c       the runtime's own events (EventPipe), delivered in the process
 *   control.c    the socket by which others ask
 *   requests.c   what they can ask for
 *   knowledge.c  managed code and threads that were there before
 *   dump.c       the stacks of all threads, for one who asks
 *   methods.c    managed methods: who they are, their code, their names
 *   thread_names.c  names of managed threads, which come before or after the threads
 *   frames.c     addresses in samples → frames of the recording
 */
#ifndef DNP_AGENT_AGENT_H
#define DNP_AGENT_AGENT_H

#include <stdbool.h>

#include "base/str.h"
#include "clr/info.h"
#include "format/rec.h"
#include "format/session.h"
#include "store/writer.h"

/* All that the agent's parts share. Written before its thread runs, read-only after. */
struct dnp_agent {
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

/*
 * The runtime has loaded us at the program's start, and this is the thread that it initialises on.
 * S_OK: a recording is made. On failure the reason is in the session and, with the option verbose,
 * on stderr.
 */
HRESULT dnp_agent_load(IUnknown *unknown, bool notification);

/*
 * The same for a program that runs already. `data`: as dnp_agent_options_parse_client. On failure
 * the result is all that anybody learns: E_INVALIDARG: the data, DNPROF_E_…: see there.
 */
HRESULT dnp_agent_attach(IUnknown *unknown, bool notification, struct dnp_str data);

/* The runtime says that it has attached us. */
void dnp_agent_attached(void);

/*
 * Whether the runtime tells us nothing and would not survive to let us go, see beside.h: as it was
 * when last looked, and now. The second: while nothing is recorded, recorder.
 */
bool dnp_agent_is_lost(void);
bool dnp_agent_look_lost(void);

/* Whether the runtime has us already, or still. Any thread. */
enum dnp_presence {
	DNP_AWAY,
	DNP_HERE,
	DNP_LEAVING, /* it will unload us in a moment */
};

enum dnp_presence dnp_agent_presence(void);

/* The runtime takes our calls from now on. Recorder. */
void dnp_agent_begin(void);

/*
 * Has the runtime let go of us. S_OK: it will, and the recorder is to call it no more. While
 * nothing is recorded, recorder.
 */
HRESULT dnp_agent_detach(void);

/* It has: nothing of ours is left when this returns. */
void dnp_agent_detached(void);

/* The program ends: ends what is recorded well, and waits for it. */
void dnp_agent_shut_down(void);

/* Writes the record `process` of this one, of a recording that began then. Recorder. */
void dnp_agent_write_process(struct dnp_writer *writer, uint64_t start_ns, uint64_t start_unix_ns);

/*
 * recorder.c: what our thread sleeps on and is asked by, and then the thread. 0 or -errno; without
 * the socket nobody can ask, and all else goes on.
 */
int dnp_recorder_open(void);
int dnp_recorder_start(struct dnp_err *err);
/* It may begin, or may as soon as it has started: the runtime takes calls. Any thread. */
void dnp_recorder_go(void);
/* Ends what is recorded and the thread. Any thread but that; a second call does nothing. */
void dnp_recorder_stop(enum dnp_end_reason reason);

#endif
