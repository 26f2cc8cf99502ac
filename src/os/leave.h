/* SPDX-License-Identifier: MIT */
/* What is asked before this library is unloaded. */
#ifndef DNP_OS_LEAVE_H
#define DNP_OS_LEAVE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether no thread is in our handler or about to enter it, and none ever will be: this library's
 * code may go. Waits for that, but not longer than patience_ns; a later call goes on where this one
 * gave up. Nobody is disturbed: threads are seen to sleep in system calls, or to have run for a
 * while since the runtime's handler is back. False as well while the handler is shared. One thread
 * at a time; allocates.
 */
bool dnp_signal_left(uint64_t patience_ns);

#endif
