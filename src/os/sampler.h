/* SPDX-License-Identifier: MIT */
/*
 * A clock that interrupts one thread each time it has used so much CPU.
 *
 * Intervals are random, spread evenly between half and one and a half times the mean: a program
 * that does the same thing every few milliseconds would else be seen at always the same places.
 *
 * Three sources: `traps`, one event for all threads (os/traps.h), of which this keeps a thread's
 * account; `perf`, the kernel's cpu-clock event with a signal (both exact at any rate, and tell the
 * kernel's frames); and `timer`, a POSIX timer on the thread's CPU clock (allowed everywhere, bound
 * to the kernel's tick, at even intervals; what comes late is told by the overrun count).
 */
#ifndef DNP_OS_SAMPLER_H
#define DNP_OS_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/err.h"
#include "os/sampler_state.h"
#include "os/sampling_signal.h"

/*
 * Which source for single threads works here, best first: asks the kernel. *kernel tells whether
 * kernel frames can be read. DNP_SAMPLER_AUTO when none works; err says why perf is not used.
 */
enum dnp_sampler_source dnp_sampler_probe(
	enum dnp_sampler_source wanted, int *kernel, struct dnp_err *err);

/* Nanoseconds between two ticks of the kernel, and so at least between two signals of a timer. */
uint64_t dnp_sampler_tick_ns(void);

/*
 * Starts sampling thread `tid` of this process by signal `signo`. The first interval is `first_ns`
 * (random below interval_ns, so that short threads get their share). The handler finds
 * `owner` again by dnp_sampler_owner. Any thread; 0 or -errno, -ESRCH: the thread ends or has.
 */
int dnp_sampler_start(struct dnp_sampler *sampler, enum dnp_sampler_source source, int kernel,
	int tid, int signo, uint64_t first_ns, uint64_t interval_ns, void *owner);

/* All samplers have been stopped. Not in handlers. */
void dnp_sampler_end(void);

/* Of the signals that may be pending for the user's processes, which timers take one each of, so
 * many are left to others: then dnp_sampler_start gives -EAGAIN. */
#define DNP_SAMPLER_SPARED 64

/*
 * The thread, which has used `used_ns` of CPU time, is sampled by traps: the first one that counts
 * comes when it has used first_ns more.
 */
void dnp_sampler_follow(
	struct dnp_sampler *sampler, uint64_t used_ns, uint64_t first_ns, uint64_t interval_ns);

/*
 * Whether it tells the kernel's frames: where they were asked for, that takes some memory which is
 * locked, of which the system may give a user only so much (perf_event_open(2)).
 */
bool dnp_sampler_tells_kernel(const struct dnp_sampler *sampler);

/*
 * No further signal is sent, unless a handler that runs now arms it again; one may be pending
 * still. Any thread.
 */
void dnp_sampler_pause(struct dnp_sampler *sampler);

/*
 * Intervals that a thread which has gone, or is stopped, had used when its clock said `used_ns`,
 * and of which no signal came: it had used less than one since the last, or since it began. Of perf
 * 0: its intervals are random ones, and the mean is right without.
 */
uint32_t dnp_sampler_unseen(const struct dnp_sampler *sampler, uint64_t used_ns);

/* In the handler: whether the signal comes from a sampler, and not from another sender. */
SIGSAFE int dnp_sampler_is_ours(const struct dnp_signal_info *info);

/* In the handler: the owner given at start, NULL when its sampler has been stopped. */
SIGSAFE void *dnp_sampler_owner(const struct dnp_signal_info *info);

/*
 * In the handler, first: intervals that this signal stands for. One, and those for which the kernel
 * has held signals back: a thread gets them when it leaves the kernel, and only a few wait for it.
 * Rounded at random, so that the mean is right. Of a trap also 0: the thread's clock says that it
 * has not used so much since the last one, or this is not its account, which may have been stopped.
 */
SIGSAFE uint32_t dnp_sampler_weight(
	struct dnp_sampler *sampler, const struct dnp_signal_info *info);

/*
 * In the handler: kernel frames of this sample, leaf first; returns their number. `pc` is where the
 * thread was interrupted, by which they are known. A trap may stand for several moments of a system
 * call, of which `back` counts from the last; others have one.
 */
SIGSAFE size_t dnp_sampler_kernel_frames(
	struct dnp_sampler *sampler, uintptr_t pc, unsigned back, uint64_t *frames, size_t max);

/* In the handler: at how many moments the kernel frames of this sample are known. */
SIGSAFE unsigned dnp_sampler_kernel_moments(const struct dnp_sampler *sampler, uintptr_t pc);

/* In the handler, last: lets the next signal come. The handler took spent_ns of CPU time. */
SIGSAFE void dnp_sampler_rearm(struct dnp_sampler *sampler, uint64_t spent_ns);

/*
 * In a handler, on its thread, in place of dnp_sampler_weight and dnp_sampler_rearm: a signal of it
 * came to nothing. How many intervals are lost with it, which no later one tells of: of traps by
 * the thread's clock, of others one.
 */
SIGSAFE uint32_t dnp_sampler_rearm_lost(struct dnp_sampler *sampler);

#endif
