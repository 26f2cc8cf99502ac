/* SPDX-License-Identifier: MIT */
/*
 * A dump: the stacks of all threads of this process at this moment, as a small recording of its
 * own. Threads that sleep are read from outside and do not notice; those that run are stopped one
 * by one for the microseconds of their walk. It needs no help of the runtime, so it works while
 * that is suspended or hangs.
 */
#ifndef DNP_AGENT_DUMP_H
#define DNP_AGENT_DUMP_H

#include <stdbool.h>

/*
 * Writes the recording and closes fd, whatever comes of it. `go_on` is asked after each thread;
 * false ends the dump. No code may be reclaimed (dnp_frames_reclaim) meanwhile. Recorder. Returns
 * the number of threads, or -errno; -ECANCELED: as go_on wished.
 */
int dnp_dump_write(int fd, bool (*go_on)(void *context), void *context);

#endif
