/* SPDX-License-Identifier: MIT */
/* What who listens asks of the agent's thread (os/watch.h) besides. */
#ifndef DNP_OS_LINUX_WATCH_H
#define DNP_OS_LINUX_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One of the descriptors that were added ends no wait until then (CLOCK_MONOTONIC), whatever is to
 * be read: nothing can be done about it now. One at a time. On the watch's thread.
 */
void dnp_watch_rest(int fd, uint64_t until_ns);

/*
 * Whether the program has closed one that was added, and has another file there, perhaps: nobody
 * may read from it, write to it or close it. On the watch's thread.
 */
bool dnp_watch_has_lost(int fd);

#endif
