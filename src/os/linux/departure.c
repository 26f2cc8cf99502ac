/* SPDX-License-Identifier: MIT */
#include "os/linux/departure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/tasks.h"
#include "os/thread.h"
#include "os/thread_state.h"

/*
 * CPU time in which a thread gets past a few instructions and page faults. Ample, since an
 * interrupt may be booked to it.
 */
#define PASSED_NS UINT64_C(2000000)
#define REST_NS   UINT64_C(500000)

enum step { COUNT_THREADS, PAST_ENTRY, NOBODY_INSIDE, PAST_EXIT, ALL_OUT };

/* ---- One thread */

struct status {
	char letter; /* as in proc(5) */
	bool blocked;
};

static bool read_status(int tid, int signo, struct status *status)
{
	char path[64], buffer[4096];
	const char *state, *mask;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buffer, sizeof(buffer) - 1);
	if (n <= 0)
		return false;
	buffer[n] = '\0';
	state = strstr(buffer, "\nState:\t");
	mask = strstr(buffer, "\nSigBlk:\t");
	status->letter = '?';
	if (state)
		status->letter = state[strlen("\nState:\t")];
	/* Cut off by a list of many groups: it may be blocked. */
	status->blocked =
		!mask || (strtoull(mask + strlen("\nSigBlk:\t"), NULL, 16) >> (signo - 1) & 1);
	return true;
}

/* Whether a sleeping thread is in a system call, and not in a page fault. */
static bool is_in_call(int tid)
{
	struct dnp_thread_state state;
	int failed = dnp_thread_state(tid, &state);

	/* Where the system does not tell, a sleep that signals end is taken for one. */
	return failed ? failed != -ESRCH : state.asleep && state.syscall >= 0;
}

struct look {
	bool gone;
	bool passed; /* it sleeps in a system call, or has run for long enough */
	bool blocked;
};

static struct look look_at(const struct dnp_departing *thread, int signo)
{
	uint64_t cpu_ns = dnp_thread_cpu_ns(thread->tid);
	struct look look = {0};
	struct status status;

	if (!cpu_ns || !read_status(thread->tid, signo, &status)) {
		look.gone = !dnp_thread_exists(thread->tid);
		look.blocked = true;
		return look;
	}
	look.gone = cpu_ns < thread->cpu_ns || status.letter == 'Z' || status.letter == 'X';
	look.blocked = status.blocked;
	look.passed = cpu_ns - thread->cpu_ns >= PASSED_NS ||
		(status.letter == 'S' && is_in_call(thread->tid) &&
			/* It has not run between one answer and the other. */
			dnp_thread_cpu_ns(thread->tid) == cpu_ns);
	return look;
}

/* ---- All of them */

static int count_thread(int tid, void *context)
{
	struct dnp_departure *departure = context;

	if (tid == dnp_thread_id() || dnp_thread_is_own(tid))
		return 0;
	return dnp_vec_push(&departure->threads,
		(struct dnp_departing){.tid = tid, .cpu_ns = dnp_thread_cpu_ns(tid)});
}

/* Whether what /proc tells is of this process, and not of one in another name space. */
static bool proc_is_ours(void)
{
	char target[32] = "";

	return readlink("/proc/self", target, sizeof(target) - 1) > 0 && atoi(target) == getpid();
}

/* Threads that begin later never had the handler. */
static bool count_threads(struct dnp_departure *departure)
{
	departure->threads.n = 0;
	return proc_is_ours() && !dnp_tasks_each(getpid(), count_thread, departure);
}

static void drop(struct dnp_departure *departure, size_t i)
{
	departure->threads.p[i] = departure->threads.p[--departure->threads.n];
}

/* True: all that are left have the signal blocked, and are past the handler's beginning. */
static bool are_past_entry(struct dnp_departure *departure, int signo)
{
	bool all = true;

	for (size_t i = departure->threads.n; i-- > 0;) {
		struct dnp_departing *thread = &departure->threads.p[i];
		struct look look;

		if (thread->passed)
			continue;
		look = look_at(thread, signo);
		if (look.gone || (look.passed && !look.blocked))
			drop(departure, i);
		else if (look.passed)
			thread->passed = true;
		else
			all = false;
	}
	return all;
}

static void begin_exit(struct dnp_departure *departure)
{
	for (size_t i = 0; i < departure->threads.n; i++)
		departure->threads.p[i].cpu_ns = dnp_thread_cpu_ns(departure->threads.p[i].tid);
}

static bool are_past_exit(struct dnp_departure *departure, int signo)
{
	for (size_t i = departure->threads.n; i-- > 0;) {
		struct look look = look_at(&departure->threads.p[i], signo);

		if (look.gone || look.passed || !look.blocked)
			drop(departure, i);
	}
	return !departure->threads.n;
}

/* Whether the next step is reached. */
static bool advance(struct dnp_departure *departure, int signo, const _Atomic uint32_t *inside)
{
	switch ((enum step)departure->step) {
	case COUNT_THREADS: return count_threads(departure);
	case PAST_ENTRY: return are_past_entry(departure, signo);
	case NOBODY_INSIDE:
		/* Pairs with the release of those who leave. */
		if (atomic_load_explicit(inside, memory_order_acquire))
			return false;
		begin_exit(departure);
		return true;
	case PAST_EXIT: return are_past_exit(departure, signo);
	default: return false;
	}
}

bool dnp_departure_wait(struct dnp_departure *departure, int signo, const _Atomic uint32_t *inside,
	uint64_t deadline_ns)
{
	while (departure->step != ALL_OUT) {
		if (advance(departure, signo, inside)) {
			departure->step++;
			continue;
		}
		if (dnp_now_ns() >= deadline_ns)
			return false;
		dnp_sleep_until_ns(dnp_now_ns() + REST_NS);
	}
	dnp_vec_done(&departure->threads);
	return true;
}

void dnp_departure_done(struct dnp_departure *departure)
{
	dnp_vec_done(&departure->threads);
	departure->step = COUNT_THREADS;
}
