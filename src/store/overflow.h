/* SPDX-License-Identifier: MIT */
/*
 * Samples of what happened on threads whose own rings were full then, on their way to the drain
 * thread. Samples of time come all the while and may fill a ring while that thread gets no turn;
 * what happens is counted one by one, so it has room of its own besides.
 *
 * All threads share it, outside of handlers, with a leaf lock that is held for a copy. It is there
 * from the time that a drain is opened until it is closed, and takes no memory where nobody needs
 * it.
 */
#ifndef DNP_STORE_OVERFLOW_H
#define DNP_STORE_OVERFLOW_H

#include <stddef.h>
#include <stdint.h>

#include "store/sample.h"
#include "unwind/walk.h"

/* Some 10,000 stacks of 40 frames; or, in half of it, 128 that are to be walked (16 KiB each). */
#define DNP_OVERFLOW_WORDS ((size_t)1 << 19)

/*
 * What there is of a sample besides its frames. Of one that is not walked (DNP_SAMPLE_UNWALKED) the
 * words behind are its frames and what is left, as in a thread's ring, and `n_frames` of them are
 * frames. What the sample shares and has written means nothing.
 */
struct dnp_overflow {
	struct dnp_sample sample;
	uint64_t walk_ns;
	uint32_t thread; /* index in the recording */
	int32_t tid;
	uint32_t n; /* words */
	uint32_t n_frames;
	uint64_t stop; /* enum dnp_walk_stop; of one that is not walked it means nothing */
};

/* 0 or -ENOMEM. One drain at a time. */
int dnp_overflow_open(void);
/* What is in there is gone, and there is no room any more. */
void dnp_overflow_close(void);

/* Whether so many words that are not walked yet have room. Any thread; another may be faster. */
int dnp_overflow_has_room(uint32_t words);

/* 0: there is no room. Any thread, outside of handlers. */
int dnp_overflow_put(const struct dnp_overflow *one, const uint64_t *behind);

/* Where those end that are in there now: one that is put later is taken in another round. */
uint64_t dnp_overflow_end(void);

/*
 * Takes the oldest before `end` out; `behind` has room for the greatest depth. 0: none is left.
 * Drain thread.
 */
int dnp_overflow_take(struct dnp_overflow *one, uint64_t *behind, uint64_t end);

/* Memory that was ever used of it. */
size_t dnp_overflow_bytes(void);

#endif
