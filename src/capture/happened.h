/* SPDX-License-Identifier: MIT */
/*
 * Something happened on a thread of the program, and the thread itself says so, in a callback of
 * the runtime: its stack is taken and stored as a sample. What the engines of such events have in
 * common.
 */
#ifndef DNP_CAPTURE_HAPPENED_H
#define DNP_CAPTURE_HAPPENED_H

#include "capture/engine.h"
#include "store/labels.h"

struct dnp_happening {
	unsigned event;   /* index */
	uint32_t label;   /* what it is about: the leaf of the stack (dnp_label) */
	uint64_t time_ns; /* when it began */
	uint64_t weight;  /* in the event's unit */
	uint64_t value;   /* as in the record `sample` */
	/*
	 * Told of the stack, its label on top, before it is stored and the thread goes on; of no
	 * frames where it could not be taken. May call what of the CLR may be called where it
	 * happened. NULL: nobody is.
	 */
	void (*walked)(struct dnp_thread *thread, const struct dnp_happening *happening,
		const struct dnp_walked *walked);
	const void *about; /* what it happened to, for `walked`; borrowed */
	/* Whether a managed frame is what tells of it (dnp_self_walk); NULL: none is. */
	bool (*tells)(dnp_frame_word frame);
};

/*
 * The record of the calling thread, made when there is none. NULL: it is the profiler's own, or
 * there is no memory.
 */
struct dnp_thread *dnp_happened_on(const struct dnp_engine_setting *setting);

/*
 * On the thread that it happened on, outside of handlers. Calls nothing of the CLR itself, and
 * waits for nobody but leaf locks that are held for a moment. What cannot be stored is counted as
 * lost.
 */
void dnp_happened(const struct dnp_engine_setting *setting, const struct dnp_happening *happening);

/*
 * Recorder: the frames of a stack of n_words words, of which n are frames and the others what was
 * left to be walked (dnp_self_walk), if there are more: by now it may be known what code that is.
 * How many, at most max; *stop is set where some were left.
 */
uint32_t dnp_happened_rest(const struct dnp_engine_setting *setting, const dnp_frame_word *words,
	uint32_t n, uint32_t n_words, dnp_frame_word *to, uint32_t max, enum dnp_walk_stop *stop);

#endif
