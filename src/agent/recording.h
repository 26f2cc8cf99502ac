/* SPDX-License-Identifier: MIT */
/*
 * What is recorded in this process, from its start to its end: one recording at a time, any number
 * one after another. All is the recorder's, but for a start before the recorder runs.
 */
#ifndef DNP_AGENT_RECORDING_H
#define DNP_AGENT_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/losses.h"
#include "base/err.h"
#include "base/str.h"
#include "format/agent_options.h"
#include "format/rec.h"
#include "store/drain.h"
#include "store/threads.h"

/* Who wants what recorded. */
struct dnp_recording_order {
	const struct dnp_agent_options *options; /* copied */
	int fd;          /* the file, empty; taken over, also when the start fails */
	bool at_startup; /* before the program's first method: all that the runtime has is allowed
			  */
	int client;      /* process that asked, 0: not known */
};

/* 0: samples are taken from now on; or -errno, and nothing is left of it. */
int dnp_recording_start(const struct dnp_recording_order *order, struct dnp_err *err);

bool dnp_recording_is_on(void);

/* Why it should end now by itself; 0: it should not. */
enum dnp_end_reason dnp_recording_end_wanted(void);

/*
 * Ends it. 0: it is whole and closed; or -errno, and err says what it lacks. What was recorded
 * stays at hand until the next start (dnp_recording_file).
 */
int dnp_recording_end(enum dnp_end_reason reason, struct dnp_err *err);

/* Of so many ticks one is enough while it is calm. */
#define DNP_CALM_TICKS 5

/* Whether little is to be expected before the next sample fills a ring or somebody calls. */
bool dnp_recording_is_calm(void);

/* What it does all the time. */
void dnp_recording_tick(unsigned tick);
/* A thread of this process was seen; `context`: points to whether it was there before. */
int dnp_recording_see_thread(int tid, void *context);
/* The kernel tells that one has begun. */
void dnp_recording_thread_begun(int tid, uint64_t begun_ns);
/* A time such that every walk that was going on then has ended. */
uint64_t dnp_recording_quiet_since(void);
/* Has all that was seen until now in the file. 0 or the -errno of a write. */
int dnp_recording_flush(void);

/* A descriptor of the present or the last recording, borrowed; -1: there is none. */
int dnp_recording_file(void);
void dnp_recording_file_close(void);

/*
 * While nothing is recorded: code is known from now on, for a dump (0 or -errno), until the second;
 * which also undoes what a first that fails leaves.
 */
int dnp_recording_look(struct dnp_err *err);
void dnp_recording_look_away(void);

/* How it stands. */
struct dnp_recording_status {
	const char *events;
	uint64_t since_unix_ns, since_ns;
	uint64_t samples, bytes;
	struct dnp_losses losses;
	int client;
	bool awaited; /* by the launcher that it began with */
};
void dnp_recording_status(struct dnp_recording_status *status);

#endif
