/* SPDX-License-Identifier: MIT */
/*
 * What was named on the command line and is not in the recordings: a thread, a function. What is
 * shown of it is nothing, which may be the truth or a slip of the pen; so it is told, with what may
 * have been meant.
 */
#ifndef DNP_AGGREGATE_CHOSEN_H
#define DNP_AGGREGATE_CHOSEN_H

#include "aggregate/profile.h"
#include "base/near.h"

/*
 * Whether each thread and each included function that the profile's filter names is in what was
 * recorded; no word on those of a profile without any. 0, or -ENOENT with a sentence on the first
 * that is not.
 */
int dnp_chosen_exist(const struct dnp_profile *profile, struct dnp_err *err);

/* The names that one pattern is looked for in, one after the other; all-zero but for these. */
struct dnp_search {
	const char *option, *pattern;
	const char *kind; /* what they are names of, in the plural */
	size_t names;
	bool found;
	struct dnp_nearest nearest;
};

/* The name is borrowed until the search has ended. */
void dnp_search_see(struct dnp_search *search, const char *name);

/* 0 where it was found, or there was nothing to search; else -ENOENT with a sentence. */
int dnp_search_end(const struct dnp_search *search, struct dnp_err *err);

#endif
