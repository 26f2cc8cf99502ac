/* SPDX-License-Identifier: MIT */
/*
 * How often a sampler with a thread of its own looks at others: each once an interval, as long as
 * that costs little enough (capture/wall.c).
 */
#ifndef DNP_CAPTURE_PACE_H
#define DNP_CAPTURE_PACE_H

#include <stdint.h>

/*
 * Of one sampler, whose thread alone uses it. How much CPU time a look takes is an average over the
 * last ones. Over many: were there a longer pause after each costly look, then what follows costly
 * ones would have more weight than its due.
 */
struct dnp_pace {
	uint64_t interval_ns; /* wanted for each thread */
	uint64_t cpu_ns;      /* the sampler's, so far */
	uint64_t look_ns;     /* of which a look takes so much */
	uint64_t random;
};

void dnp_pace_begin(struct dnp_pace *pace, uint64_t interval_ns);

/* Time between two looks at any of so many threads. */
uint64_t dnp_pace_slot(const struct dnp_pace *pace, uint32_t n_threads);

/* How long to rest when a look is due every slot_ns: at random, so as not to march in step. */
uint64_t dnp_pace_rest(struct dnp_pace *pace, uint64_t slot_ns);

/* What is due after `passed_ns`, rounded at random; looks that were missed are not made up for. */
uint32_t dnp_pace_due(
	struct dnp_pace *pace, uint64_t passed_ns, uint64_t slot_ns, uint32_t n_threads);

/* So many looks were made since it was last called. */
void dnp_pace_looked(struct dnp_pace *pace, uint32_t looks);

#endif
