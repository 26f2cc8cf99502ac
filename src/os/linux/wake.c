/* SPDX-License-Identifier: MIT */
#include "os/wake.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

SIGSAFE void dnp_wake(struct dnp_wake *wake)
{
	/* Release: what the waker did before is seen by the one that wakes up. */
	if (!atomic_exchange_explicit(&wake->pending, 1, memory_order_release))
		syscall(SYS_futex, &wake->pending, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void dnp_wake_wait(struct dnp_wake *wake, uint64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / UINT64_C(1000000000)),
		.tv_nsec = (long)(deadline_ns % UINT64_C(1000000000)),
	};

	/* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time. */
	syscall(SYS_futex, &wake->pending, FUTEX_WAIT_BITSET_PRIVATE, 0, &deadline, NULL,
		FUTEX_BITSET_MATCH_ANY);
	atomic_exchange_explicit(&wake->pending, 0, memory_order_acquire);
}
