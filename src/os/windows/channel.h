/* SPDX-License-Identifier: MIT */
/* How a channel is reached here; os/channel.h has the rest. */
#ifndef DNP_OS_WINDOWS_CHANNEL_H
#define DNP_OS_WINDOWS_CHANNEL_H

#include <stdint.h>

/*
 * Connects to the process that listens, of that id and start time. Where all its places are taken,
 * waits until then (dnp_now_ns()) for one. A connection or -errno: -ENOENT: nobody listens there;
 * -EACCES: it is another user's; -EBADE: another process has that name; -EAGAIN: no place.
 */
int dnp_channel_connect(int pid, uint64_t start_ticks, uint64_t until_ns);

/* The handle of an event that is set when something is there to be received. */
int dnp_channel_event(int connection);

#endif
