/* SPDX-License-Identifier: MIT */
/*
 * A profiler's library where its target can load it: where it is, if the target's file system shows
 * it there and its user may read it; else as a copy in a folder of the target's, for as long as it
 * takes to load it.
 */
#ifndef DNP_LAUNCH_LINUX_PLACE_H
#define DNP_LAUNCH_LINUX_PLACE_H

#include <limits.h>
#include <signal.h>

#include "base/err.h"
#include "launch/target.h"

struct dnp_place {
	char path[PATH_MAX]; /* as the target sees it */
	int folder;          /* where the copy's folder lies, -1: there is no copy */
	int made;            /* that folder, -1: it could not be made */
	char name[24];       /* of that folder */
	const char *file;    /* borrowed: the copy's name in it */
	sigset_t old_mask;   /* signals that end us wait as long as there is a copy */
};

/* 0 or -errno with err. `library` is borrowed until _done. */
int dnp_place_open(struct dnp_place *place, const struct dnp_target *target, const char *library,
	struct dnp_err *err);

/* Removes the copy; what has been loaded stays loaded. */
void dnp_place_done(struct dnp_place *place);

#endif
