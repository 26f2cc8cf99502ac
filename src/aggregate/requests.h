/* SPDX-License-Identifier: MIT */
/*
 * Which requests a filter wants, and when which thread worked for them: read before all else of a
 * recording, since samples come before the end of their request.
 *
 * A thread takes turns (rec.def, `turn`). What it does from one to the next is of the request whose
 * number the turn has: of the span that began on a thread while it had that number for the first
 * time. Where turns were lost nobody knows until a thread's next one, and so it is of no request.
 */
#ifndef DNP_AGGREGATE_REQUESTS_H
#define DNP_AGGREGATE_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"
#include "format/rec.h"

#define DNP_REQUEST_EVENT "request"

struct dnp_filter;
struct dnp_recording;

struct dnp_request_turn {
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t activity; /* 0: none */
	size_t losses;     /* of turns, that were told before it */
	bool wanted;       /* of a request that is */
};

struct dnp_thread_turns {
	struct dnp_vec_of(struct dnp_request_turn) all; /* in their order */
};

struct dnp_known_request {
	struct dnp_str name, trace, group; /* borrowed from the recording; group: once it ended */
	uint64_t id;
	bool wanted;
};

struct dnp_requests {
	bool chosen; /* the filter wants some; else nothing is here */
	uint64_t event;
	bool defined; /* the event was */
	struct dnp_vec_of(struct dnp_known_request) all;
	struct dnp_vec_of(struct dnp_thread_turns) threads;
	struct dnp_map request_of;  /* id → place in all */
	struct dnp_map activity_of; /* number → place in all */
	struct dnp_map thread_of;   /* the recording's index of a thread → place in threads */
	uint64_t newest_ns;         /* of turns */
	struct dnp_vec_of(uint64_t) losses; /* newest_ns when turns were lost: they came later */
	struct dnp_map collections; /* keys of those that wanted requests caused; the loader's */
};

/* Of a collection, by its event and number. */
static inline uint64_t dnp_requests_collection(uint64_t event, uint64_t number)
{
	return number ^ event << 56;
}

/* A name without its method: of "GET /items/7" what stands behind GET. NULL: it has none. */
static inline struct dnp_str dnp_requests_path(struct dnp_str name)
{
	const char *space = name.n ? memchr(name.p, ' ', name.n) : NULL;

	return space ? (struct dnp_str){space + 1, name.n - (size_t)(space + 1 - name.p)}
		     : (struct dnp_str){0};
}

/* 0 or -ENOMEM; to be freed in any case. */
int dnp_requests_init(struct dnp_requests *requests, const struct dnp_recording *recording,
	const struct dnp_filter *filter);
void dnp_requests_done(struct dnp_requests *requests);

/* Whether what a thread did at that moment is wanted: with nothing chosen all is. */
bool dnp_requests_want(const struct dnp_requests *requests, uint64_t thread, uint64_t time_ns);

/* Whether a request is, by the id of its span. */
bool dnp_requests_want_span(const struct dnp_requests *requests, uint64_t id);

/* Whether one of the filter's patterns is the reason, or one of them, why any request is wanted. */
bool dnp_requests_match(const struct dnp_requests *requests, const char *pattern);

#endif
