/* SPDX-License-Identifier: MIT */
#include "capture/call_times.h"

#include <pthread.h>

#include "os/clock.h"
#include "os/thread.h"

#define PERIOD_NS      UINT64_C(1000000)
#define IDLE_PERIOD_NS UINT64_C(10000000) /* once nobody has run for IDLE_ROUNDS */
#define IDLE_ROUNDS    100
#define IDLE_LOOKS     4  /* looks at the clock of a thread that seems not to run … */
#define IDLE_EVERY     64 /* … and then each so manieth */

static struct dnp_own_thread sampler;
static _Atomic int stopping;

/* With it held no other is taken but the one of calls.c. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void dnp_call_times_lock(void)
{
	pthread_mutex_lock(&lock);
}

void dnp_call_times_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void charge(struct dnp_calls *calls, uint64_t cpu_ns)
{
	/* Pairs with the hook's: the frame is whole when it is the innermost (x86 keeps the order).
	 */
	struct dnp_call_frame *top = atomic_load_explicit(&calls->top, memory_order_acquire);
	const struct dnp_call_node *node = atomic_load_explicit(&top->node, memory_order_relaxed);

	dnp_call_told_of(calls, dnp_call_index_of(calls, node))->pending += cpu_ns;
	calls->pending = true;
}

/* 1: the thread has run since it was last looked at. */
static int look(struct dnp_calls *calls)
{
	uint64_t moves = dnp_calls_moves(calls), cpu_ns;

	if (moves == calls->seen_moves && calls->seen_idle++ >= IDLE_LOOKS &&
		calls->seen_idle % IDLE_EVERY)
		return 0;
	cpu_ns = dnp_thread_cpu_ns(atomic_load(&calls->tid));
	if (cpu_ns <= calls->seen_cpu_ns)
		return 0;
	charge(calls, cpu_ns - calls->seen_cpu_ns);
	calls->seen_cpu_ns = cpu_ns;
	calls->seen_moves = moves;
	calls->seen_idle = 0;
	return 1;
}

/* How many have run. */
static unsigned look_at_all(void)
{
	unsigned running = 0;

	dnp_call_times_lock();
	for (struct dnp_calls *calls = dnp_calls_first(); calls; calls = calls->listed)
		if (atomic_load(&calls->tid) && !atomic_load(&calls->gone))
			running += (unsigned)look(calls);
	dnp_call_times_unlock();
	return running;
}

static void *run(void *context)
{
	uint64_t due_ns = dnp_now_ns();
	unsigned idle = 0;

	(void)context;
	dnp_thread_set_name("dnprof-calls");
	while (!atomic_load(&stopping)) {
		uint64_t now_ns = dnp_now_ns();

		due_ns += idle < IDLE_ROUNDS ? PERIOD_NS : IDLE_PERIOD_NS;
		/* When behind, skip: do not run after them. */
		if (due_ns < now_ns)
			due_ns = now_ns + PERIOD_NS;
		dnp_sleep_until_ns(due_ns);
		idle = look_at_all() ? 0 : idle + 1;
	}
	return NULL;
}

int dnp_call_times_start(void)
{
	return dnp_own_thread_start(&sampler, run, NULL);
}

void dnp_call_times_stop(void)
{
	atomic_store(&stopping, 1);
	dnp_own_thread_join(&sampler);
}
