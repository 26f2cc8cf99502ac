/* SPDX-License-Identifier: MIT */
/*
 * What the program itself says it is doing: points and spans, with the thread and the time. A
 * thread puts them into a buffer that the recorder empties. What finds no room is counted as lost.
 */
#ifndef DNP_CAPTURE_SAID_H
#define DNP_CAPTURE_SAID_H

#include <pthread.h>

#include "capture/engine.h"

enum dnp_saying_kind {
	DNP_SAYING_POINT,
	DNP_SAYING_BEGIN,
	DNP_SAYING_END,
	DNP_SAYING_TURN, /* the thread works for something else now: `id` */
};

struct dnp_saying {
	enum dnp_saying_kind kind;
	uint64_t id;         /* of a span */
	struct dnp_str text; /* its name; of an end: the result; borrowed, may be cut */
	/* The trace that a span belongs to; of an end: what it is added up with; may be empty. */
	struct dnp_str more;
};

#define DNP_SAID_BYTES ((size_t)1 << 19)

/* All zero: closed, where nothing can be said. */
struct dnp_said {
	const struct dnp_engine_setting *setting;
	unsigned event;
	pthread_mutex_t lock; /* a leaf; held while one is copied */
	char *buffers[2];     /* owned, DNP_SAID_BYTES each; the first is written to */
	size_t used;
	uint64_t lost;                   /* since the last write, but for turns */
	uint64_t lost_before;            /* … and before that: the recorder's */
	uint64_t lost_turns, told_turns; /* since it was opened; those that are told of */
};

/* 0 or -ENOMEM. */
int dnp_said_open(struct dnp_said *said, const struct dnp_engine_setting *setting, unsigned event);

/* On the thread that says it, outside of handlers; waits for nobody but the leaf lock. */
void dnp_say_so(struct dnp_said *said, const struct dnp_saying *saying);

/* Recorder: what was said since the last time. */
void dnp_said_write(struct dnp_said *said, struct dnp_writer *writer);

/* Recorder: how many were lost of what was said, as far as they are written. */
static inline uint64_t dnp_said_lost(const struct dnp_said *said)
{
	return said->lost_before;
}

/* Nobody says anything any more, and nothing of it is written. */
void dnp_said_close(struct dnp_said *said);

#endif
