/* SPDX-License-Identifier: MIT */
/*
 * Threads that run: each is interrupted each time it has used so much CPU time, and walks its own
 * stack in the handler. What the engines that show where CPU time goes have in common; each that
 * wants the samples gets them as its own event, with the same weights. All are called as the
 * entries of an engine are (capture/engine.h).
 */
#ifndef DNP_CAPTURE_RUNNING_H
#define DNP_CAPTURE_RUNNING_H

#include "capture/engine.h"

/* From now on samples are taken for this event, too. 0 or -errno; err says why. */
int dnp_running_start(
	const struct dnp_engine_setting *setting, unsigned event, struct dnp_err *err);

/* How they are taken, and what is to be known of it. After start. */
const char *dnp_running_source(void);
const char *dnp_running_note(void);

/* Whether each thread has a sampler of its own, which is to begin with it. After start. */
bool dnp_running_at_once(void);

/* Whether the recorder hears of each thread that begins, by dnp_running_look. After start. */
bool dnp_running_tells_threads(void);

/* By each engine, with its event. */
void dnp_running_thread_begin(struct dnp_thread *thread, unsigned event);
void dnp_running_look(unsigned event);
void dnp_running_thread_end(struct dnp_thread *thread, unsigned event);

/* No more for this event. Those of the last one end. */
void dnp_running_stop(unsigned event);

#endif
