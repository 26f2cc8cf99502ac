/* SPDX-License-Identifier: MIT */
/*
 * One clock for all threads of the process: an event of the kernel on each processor, cpu-clock,
 * that threads inherit from those that make them. Each thread is interrupted when it has used so
 * much CPU time, from its first instruction on; nothing is opened, armed or closed for it, and the
 * kernel can go from one thread to the next without a timer being stopped and started, which is
 * what makes an event for each thread dear (perf_event_open(2): inherit_thread, sigtrap).
 *
 * It comes as SIGTRAP with a code of its own. Other signals of that number go to whom they went
 * before, as if nobody had come between. Where the sampling signal is kept off (the runtime's
 * alternative stack is small), a trap is sent on as that, and comes when it may.
 *
 * The kernel holds back traps while a thread is in a system call, and lets one come for all of
 * them: how much time one stands for is a question for the thread's clock.
 */
#ifndef DNP_OS_TRAPS_H
#define DNP_OS_TRAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/sampling_signal.h"
#include "os/watch.h"

/*
 * Begins, for the calling thread and all that come of it. `handler` is called as one of
 * os/sampling_signal.h, which has to be shared with it for traps that are sent on. 0 or -errno:
 * -ENOSYS: the kernel is too old; -E2BIG: too many processors; -EPERM, too, where a debugger is
 * there; -ENOTSUP: nobody handles SIGTRAP here; -EBUSY: somebody has put a handler over ours. Not
 * in handlers.
 */
int dnp_traps_open(uint64_t interval_ns, dnp_signal_handler handler);

/* Also for another thread that is there, and all that will come of it. 0 or -errno. */
int dnp_traps_add(int tid);

/*
 * Threads that begin from now on have another interval on some processor, `ns`: those that all do
 * the same are seen at different places. To be called again and again.
 */
void dnp_traps_vary(uint64_t ns);

/*
 * What the kernel has told since the last time of threads that have begun with it, as
 * dnp_watch_wait does: so that none of them needs other events besides. False: some of it was
 * overwritten before it was read, and threads are to be looked for. By one thread.
 */
bool dnp_traps_read(dnp_watch_begun begun);

/*
 * Whether traps still go where they should: 0; -EBUSY: somebody has put a handler over ours;
 * -EPERM: a debugger has come, which would be told of each.
 */
int dnp_traps_state(void);

/* No trap is sent any more; one that was held back may still come. */
void dnp_traps_off(void);
/* And what they need goes. No handler may look at kernel frames any more. */
void dnp_traps_close(void);

/* In the handler: whether it is one; and one that was sent on. */
SIGSAFE bool dnp_trap_is(const struct dnp_signal_info *info);
SIGSAFE bool dnp_trap_is_late(const struct dnp_signal_info *info);

/* In the handler of one that was not sent on: what it is for dnp_trap_kernel_frames. */
SIGSAFE const void *dnp_trap_ring(const struct dnp_signal_info *info);

/*
 * In the handler: where the thread was in the kernel when this trap was due, and others that were
 * held back with it, since a time (CLOCK_MONOTONIC). How often that is known, the instruction where
 * it goes on being `pc`; and the frames then, leaf first, `back` times before the last. Returns how
 * many.
 */
SIGSAFE unsigned dnp_trap_kernel_records(const void *ring, uintptr_t pc, uint64_t since_ns);
SIGSAFE size_t dnp_trap_kernel_frames(const void *ring, uintptr_t pc, uint64_t since_ns,
	unsigned back, uint64_t *frames, size_t max);

#endif
