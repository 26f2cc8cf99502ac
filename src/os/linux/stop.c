/* SPDX-License-Identifier: MIT */
/*
 * One word says how far the stop that is wanted has come: a phase, and a number that each stop has
 * for itself, so that a thread that comes late for one cannot answer the next by mistake.
 *
 *   IDLE ──▶ WANTED ──▶ CAME ──▶ PARKED ──▶ IDLE   the usual way: stopper, thread (2), stopper
 *              │                    └─────▶ LEFT   the thread did not wait for the stopper
 *              └─────▶ IDLE                        the stopper did not wait for the thread
 *
 * Each change is a compare-and-swap of the whole word, so both see who was first. From CAME to
 * PARKED the rest of the record is the thread's.
 */
#include "os/stop.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/sampling_signal.h"
#include "os/thread.h"

enum phase { IDLE, WANTED, CAME, PARKED, LEFT };

#define PHASE_BITS 3
#define PHASE_MASK ((1U << PHASE_BITS) - 1)

/* Between two looks whether a thread that does not come is there at all. */
#define LOOK_EVERY_NS UINT64_C(2000000)

static struct {
	_Atomic uint32_t word;
	_Atomic int tid; /* written before WANTED */
	/*
	 * The next two: written between CAME and PARKED. The registers are a copy: a thread that
	 * has LEFT takes its own along, and perhaps the stack that they are on.
	 */
	ucontext_t registers;
	_Atomic uint64_t parked_ns;
	_Atomic uint64_t last_ns;
} stop;

static SIGSAFE uint32_t in_phase(uint32_t word, enum phase phase)
{
	return (word & ~PHASE_MASK) | phase;
}

/* From one phase of a stop to another; false when the other side was first. */
static SIGSAFE int change(uint32_t word, enum phase from, enum phase to)
{
	uint32_t expected = in_phase(word, from);

	/* Acquire and release: what either side wrote before is seen by the other. */
	return atomic_compare_exchange_strong_explicit(&stop.word, &expected, in_phase(word, to),
		memory_order_acq_rel, memory_order_acquire);
}

/* Sleeps while the word is `word`, until a time at the longest. */
static SIGSAFE void sleep_while(uint32_t word, uint64_t deadline_ns)
{
	uint64_t now = dnp_now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
	struct timespec patience = {
		(time_t)(left / UINT64_C(1000000000)), (long)(left % UINT64_C(1000000000))};

	if (left)
		syscall(SYS_futex, &stop.word, FUTEX_WAIT_PRIVATE, word, &patience, NULL, 0);
}

static SIGSAFE void wake(void)
{
	syscall(SYS_futex, &stop.word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- The thread that is stopped */

static SIGSAFE void park(uint32_t word, const void *context)
{
	uint64_t now = dnp_now_ns(), deadline = now + DNP_STOP_CAP_NS;
	uint32_t parked = in_phase(word, PARKED);

	stop.registers.uc_mcontext = ((const ucontext_t *)context)->uc_mcontext;
	atomic_store_explicit(&stop.parked_ns, now, memory_order_relaxed);
	change(word, CAME, PARKED);
	wake();
	while (atomic_load_explicit(&stop.word, memory_order_acquire) == parked &&
		dnp_now_ns() < deadline)
		sleep_while(parked, deadline);
	change(word, PARKED, LEFT);
}

static SIGSAFE int on_signal(const struct dnp_signal_info *info, void *context)
{
	uint32_t word;

	if (!dnp_signal_is_sent(info, DNP_SIGNAL_STOP))
		return 0;
	word = atomic_load_explicit(&stop.word, memory_order_acquire);
	if ((word & PHASE_MASK) != WANTED ||
		atomic_load_explicit(&stop.tid, memory_order_relaxed) != dnp_thread_id())
		return 1; /* too late */
	if (change(word, WANTED, CAME))
		park(word, context);
	return 1;
}

/* ---- The thread that stops it */

static unsigned n_open;

int dnp_stop_open(struct dnp_err *err)
{
	int failed = dnp_signal_share(on_signal, err);

	n_open += !failed;
	return failed;
}

int dnp_stop_close(void)
{
	n_open -= n_open > 0;
	return n_open ? 0 : dnp_signal_unshare(on_signal);
}

/* 0: it is parked. */
static int wait_for(int tid, uint32_t word, uint64_t patience_ns)
{
	uint64_t now = dnp_now_ns(), deadline = now + patience_ns;
	uint32_t wanted = in_phase(word, WANTED);
	int result = -ETIMEDOUT;

	while (atomic_load_explicit(&stop.word, memory_order_acquire) == wanted && now < deadline) {
		sleep_while(
			wanted, now + LOOK_EVERY_NS < deadline ? now + LOOK_EVERY_NS : deadline);
		if (!dnp_thread_exists(tid)) {
			result = -ESRCH;
			break;
		}
		now = dnp_now_ns();
	}
	if (change(word, WANTED, IDLE))
		return result;
	while (atomic_load_explicit(&stop.word, memory_order_acquire) == in_phase(word, CAME))
		sleep_while(in_phase(word, CAME), dnp_now_ns() + LOOK_EVERY_NS);
	return 0;
}

int dnp_stop_while(int tid, uint64_t patience_ns, dnp_stop_look look, void *arg)
{
	uint32_t word = atomic_load_explicit(&stop.word, memory_order_relaxed);
	int result;

	if (tid == dnp_thread_id())
		return -EDEADLK;
	word = in_phase(word + (1U << PHASE_BITS), WANTED);
	atomic_store_explicit(&stop.tid, tid, memory_order_relaxed);
	atomic_store_explicit(&stop.word, word, memory_order_release);
	result = dnp_signal_send(tid, DNP_SIGNAL_STOP);
	if (result) {
		change(word, WANTED, IDLE);
		return result;
	}
	result = wait_for(tid, word, patience_ns);
	if (result)
		return result;
	look(&stop.registers, arg);
	result = change(word, PARKED, IDLE) ? 0 : -EAGAIN;
	wake();
	atomic_store_explicit(&stop.last_ns,
		dnp_now_ns() - atomic_load_explicit(&stop.parked_ns, memory_order_relaxed),
		memory_order_relaxed);
	return result;
}

bool dnp_stop_keeps(const struct dnp_thread_state *state)
{
	return dnp_thread_waits_at_word(state) && state->argument[0] == (uintptr_t)&stop.word;
}

uint64_t dnp_stop_last_ns(void)
{
	return atomic_load_explicit(&stop.last_ns, memory_order_relaxed);
}
