/* SPDX-License-Identifier: MIT */
/*
 * Stops one other thread of this process at an instruction, looks at it, and lets it run.
 *
 * The thread is sent the shared sampling signal (os/sampling_signal.h); its handler tells where the
 * thread was and sleeps until it is let go, or until it has slept long enough by its own clock: a
 * thread never hangs for us. One thread is stopped at a time.
 */
#ifndef DNP_OS_STOP_H
#define DNP_OS_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/err.h"
#include "os/thread_state.h"

/* After so long a stopped thread goes on by itself. */
#define DNP_STOP_CAP_NS UINT64_C(1000000000)

/*
 * Takes a share of the sampling signal; see dnp_signal_share for what may fail. Each that succeeds
 * wants a close. Both by one thread at a time.
 */
int dnp_stop_open(struct dnp_err *err);
/* The last one gives the share back (dnp_signal_unshare): nobody stops a thread any more. */
int dnp_stop_close(void);

/*
 * What is done while the thread is stopped; a function marked STOPPED. `context` has the registers
 * that the thread stopped with, as the machine context of a ucontext_t; to be read only now. It can
 * be read even if the thread goes on meanwhile, and ends, which cannot be said of its stack.
 */
typedef void (*dnp_stop_look)(const void *context, void *arg);

/*
 * Stops thread `tid` and calls look(context, arg) meanwhile; the longer that takes, the longer the
 * thread stands still. 0; -ESRCH: there is no such thread (any more); -ETIMEDOUT: it did not come
 * within patience_ns (it blocks the signal, or is in the kernel for so long); -EAGAIN: no signal
 * could be sent now, or the thread went on before `look` was through, so that what that read may be
 * of a moving thread; -ENOTSUP: the signal's handler is not ours any more (CoreCLR 8 that aborts);
 * -EDEADLK: it is the caller.
 *
 * A thread that comes too late goes on at once. One that slept in a system call sleeps it anew from
 * the start if the call can be made again, else that fails with EINTR: look before you stop
 * (os/thread_state.h). One caller at a time.
 */
int dnp_stop_while(int tid, uint64_t patience_ns, dnp_stop_look look, void *arg);

/*
 * Whether a thread sleeps because it is stopped, or because it was: one that was let go stays so
 * until a processor has taken notice. Any thread.
 */
bool dnp_stop_keeps(const struct dnp_thread_state *state);

/* How long the last thread that was stopped stood still, from its handler's point of view. */
uint64_t dnp_stop_last_ns(void);

#endif
