/* SPDX-License-Identifier: MIT */
/* What who listens asks of the agent's thread (os/watch.h) besides. */
#ifndef DNP_OS_LINUX_WATCH_H
#define DNP_OS_LINUX_WATCH_H

#include <stdint.h>

/*
 * One of the descriptors that were added ends no wait until then (CLOCK_MONOTONIC), whatever is to
 * be read: nothing can be done about it now. One at a time. On the watch's thread.
 */
void dnp_watch_rest(int fd, uint64_t until_ns);

#endif
