/* SPDX-License-Identifier: MIT */
/*
 * A recording of another process's switches, made from outside; of any program.
 *
 *   dnp_switch_file_open, _begin, _write …, _end or _abandon
 *
 * One thread at a time.
 */
#ifndef DNP_SWITCHES_FILE_H
#define DNP_SWITCHES_FILE_H

#include "switches/taker.h"
#include "switches/wakers.h"

struct dnp_switch_file {
	struct dnp_taker taker;
	struct dnp_wakers wakers; /* open where wake-ups are recorded */
	struct dnp_writer writer;
	int pid;
	uint64_t begin_ns;   /* when it began */
	uint64_t flushed_ns; /* when what there is was last put into the file */
};

/* What else is recorded than the process's switches. */
enum dnp_switch_more {
	DNP_SWITCH_OTHERS = 1,  /* the switches of all other processes, where that is allowed */
	DNP_SWITCH_WAKEUPS = 2, /* who wakes its threads; or it fails */
};

/*
 * The process is watched from now on, but for what _begin waits for. Takes fd, of an empty file,
 * over, also when it fails. 0 or -errno.
 */
int dnp_switch_file_open(
	struct dnp_switch_file *file, int fd, int pid, unsigned more, struct dnp_err *err);

/*
 * Recording begins. `command` (ended by NULL): of a process that is about to become that program;
 * NULL: as the process has it.
 */
int dnp_switch_file_begin(struct dnp_switch_file *file, char *const *command, struct dnp_err *err);

/* Every now and then, some ten times a second. 0 or the -errno of a write. */
int dnp_switch_file_write(struct dnp_switch_file *file);

/* Writes all that is left, and closes. 0 or the -errno of a write. */
int dnp_switch_file_end(struct dnp_switch_file *file, enum dnp_end_reason reason);

/* Closes; what was written so far stays. */
void dnp_switch_file_abandon(struct dnp_switch_file *file);

#endif
