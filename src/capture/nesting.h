/* SPDX-License-Identifier: MIT */
/*
 * What is going on on a thread and takes time, in one another: compilations, calls across the
 * border of managed code. The time of one that is within another is that one's alone, so that sums
 * are right.
 *
 * One thread at a time; allocates nothing and waits for nobody.
 */
#ifndef DNP_CAPTURE_NESTING_H
#define DNP_CAPTURE_NESTING_H

#include <stdbool.h>
#include <stdint.h>

struct dnp_nested {
	uint64_t what; /* by which its end is known */
	uint64_t begin_ns;
	uint64_t others_ns; /* of those in it that are over */
	uintptr_t sp;       /* of who told of its begin; where nobody asks for it 0 */
	uint32_t about;     /* the caller's */
};

/* Zeroed it is empty; `open` has room for `room` of them, the outermost first. */
struct dnp_nesting {
	uint32_t *n; /* borrowed, as the next */
	struct dnp_nested *open;
	uint32_t room;
};

/* One begins. If there is no room left, the outermost one has no beginning any more. */
void dnp_nesting_begin(struct dnp_nesting nesting, struct dnp_nested begun);

/*
 * The innermost one of that kind ends: it is taken out, with those that began after it, which came
 * to nothing. False: there is none.
 */
bool dnp_nesting_take(struct dnp_nesting nesting, uint64_t what, struct dnp_nested *taken);

/* The innermost one, NULL: there is none. */
const struct dnp_nested *dnp_nesting_innermost(struct dnp_nesting nesting);

/* The innermost one, which there is, came to nothing; what was in it and is over was in the one
 * around it. */
void dnp_nesting_drop(struct dnp_nesting nesting);

/* What one that has been taken had of the time until now, without that of others. */
static inline uint64_t dnp_nested_own_ns(const struct dnp_nested *taken, uint64_t now_ns)
{
	uint64_t ns = now_ns - taken->begin_ns;

	return ns > taken->others_ns ? ns - taken->others_ns : 0;
}

/* … and all until now is no time of the one around it, if there is any. */
void dnp_nesting_over(struct dnp_nesting nesting, const struct dnp_nested *taken, uint64_t now_ns);

#endif
