/* SPDX-License-Identifier: MIT */
/* What the launcher itself adds to the recordings that agents have made. */
#ifndef DNP_LAUNCH_RECORD_H
#define DNP_LAUNCH_RECORD_H

#include <sys/types.h>

#include "base/err.h"

/*
 * Adds the record `exit` to process `pid`'s recording in the file: how it ended, as of waitpid. 0,
 * -ENODATA when the file holds no recording of it, or -errno.
 */
int dnp_record_exit(const char *path, pid_t pid, int status, struct dnp_err *err);

/* Appends all recordings of a folder (its files NAME.dnp) to the file. 0 or -errno. */
int dnp_record_gather(const char *path, const char *folder, struct dnp_err *err);

#endif
