/* SPDX-License-Identifier: MIT */
#include "os/forks.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

/* The longest that a fork waits for us, and that we wait for a fork. */
#define PATIENCE_NS UINT64_C(1000000000)

static struct {
	_Atomic uint32_t holds; /* going on; this and the next are futexes */
	_Atomic uint32_t forks; /* going on */
	void (*child)(void);
} forks;

/* Sleeps until the number is 0; false: it took too long. */
static bool wait_for_none(_Atomic uint32_t *number)
{
	uint64_t deadline_ns = dnp_now_ns() + PATIENCE_NS, now_ns;
	uint32_t n;

	while ((n = atomic_load(number))) {
		struct timespec patience;

		now_ns = dnp_now_ns();
		if (now_ns >= deadline_ns)
			return false;
		patience =
			(struct timespec){.tv_sec = (time_t)((deadline_ns - now_ns) / 1000000000),
				.tv_nsec = (long)((deadline_ns - now_ns) % 1000000000)};
		syscall(SYS_futex, number, FUTEX_WAIT_PRIVATE, n, &patience, NULL, 0);
	}
	return true;
}

static void leave(_Atomic uint32_t *number)
{
	if (atomic_fetch_sub(number, 1) == 1)
		syscall(SYS_futex, number, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- Around a fork, on the thread that forks; perhaps in the runtime's handler of a crash */

/* Sequentially consistent with dnp_forks_hold: either we see its hold, or it sees our fork. */
static void before(void)
{
	int saved = errno;

	atomic_fetch_add(&forks.forks, 1);
	wait_for_none(&forks.holds);
	errno = saved;
}

static void after(void)
{
	int saved = errno;

	leave(&forks.forks);
	errno = saved;
}

static void in_child(void)
{
	atomic_store(&forks.holds, 0);
	atomic_store(&forks.forks, 0);
	forks.child();
}

int dnp_forks_watch(void (*child)(void))
{
	int failed;

	if (forks.child)
		return 0;
	forks.child = child;
	/* The thread library forgets them when this library is unloaded. */
	failed = pthread_atfork(before, after, in_child);
	if (failed)
		forks.child = NULL;
	return -failed;
}

bool dnp_forks_over(void)
{
	return wait_for_none(&forks.forks);
}

/* ---- Threads of ours */

void dnp_forks_hold(void)
{
	for (;;) {
		atomic_fetch_add(&forks.holds, 1);
		if (!atomic_load(&forks.forks))
			return;
		leave(&forks.holds);
		if (!wait_for_none(&forks.forks))
			break;
	}
	atomic_fetch_add(&forks.holds, 1);
}

void dnp_forks_release(void)
{
	leave(&forks.holds);
}
