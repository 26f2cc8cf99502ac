/* SPDX-License-Identifier: MIT */
/*
 * Work on bytes that somebody hostile may have chosen: in a process of its own, which can compute,
 * read the files that it is given, and answer. It has no other descriptor, asks the system for
 * nothing else, whoever's it is, and ends after some seconds of computing; what goes wrong in it
 * ends it alone.
 */
#ifndef DNP_OS_CONFINED_H
#define DNP_OS_CONFINED_H

#include "base/sink.h"
#include "os/file.h"

/* What one is: its files are descriptors 0 to DNP_CONFINED_FILES - 1 there, -1: is not. */
#define DNP_CONFINED_FILES 2
struct dnp_confined_work {
	int files[DNP_CONFINED_FILES];                      /* borrowed */
	int (*run)(void *context, struct dnp_sink *answer); /* there; 0: the answer is good */
	void *context;
};

/*
 * Waits for the answer, the caller's to free and to be trusted no more than the files. 0,
 * -EBADMSG: there is none, or -errno: it could not be asked.
 */
int dnp_confined_run(const struct dnp_confined_work *work, struct dnp_file_bytes *answer);

#endif
