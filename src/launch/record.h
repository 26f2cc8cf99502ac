/* SPDX-License-Identifier: MIT */
/* What the launcher itself adds to the recordings that agents have made. */
#ifndef DNP_LAUNCH_RECORD_H
#define DNP_LAUNCH_RECORD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* How a process ended. */
struct dnp_ended {
	uint64_t status; /* its exit status, where it exited */
	uint64_t signal; /* that killed it; 0: none */
};

/*
 * Adds the record `exit` to process `pid`'s recording in the file. 0, -ENODATA when the file holds
 * no recording of it, or -errno.
 */
int dnp_record_exit(const char *path, pid_t pid, struct dnp_ended ended, struct dnp_err *err);

/*
 * Copies the whole chunks of a recording, which may still be written, to a new file. Neither's
 * offset is used or moved but `to`'s, from 0. 0 or -errno.
 */
int dnp_record_copy(int from, int to, const char *path, struct dnp_err *err);

/* Adds the record `end` (DNP_END_DUMP) to the file's recording. 0 or -errno. */
int dnp_record_dumped(const char *path, struct dnp_err *err);

/*
 * Appends all recordings of a folder (its files NAME.dnp) to the file, in the order in which they
 * began. 0 or -errno.
 */
int dnp_record_gather(const char *path, const char *folder, struct dnp_err *err);

#endif
