/* SPDX-License-Identifier: MIT */
#include "os/clock.h"

#include <errno.h>
#include <unistd.h>

#include "os/linux/clock_id.h"

static uint64_t to_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static SIGSAFE uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) ? 0 : to_ns(t);
}

SIGSAFE uint64_t dnp_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t dnp_unix_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

#define LOOKS 3 /* at two clocks: who is interrupted between them sees them too far apart */

/* How long the machine was suspended: the ticks go on meanwhile, and dnp_now_ns does not. */
static uint64_t read_suspended_ns(void)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < LOOKS; i++) {
		uint64_t now_ns = dnp_now_ns(), boot_ns = read_clock(CLOCK_BOOTTIME);
		uint64_t apart_ns = boot_ns > now_ns ? boot_ns - now_ns : 0;

		if (apart_ns < least_ns)
			least_ns = apart_ns;
	}
	return least_ns;
}

uint64_t dnp_ticks_begin_ns(uint64_t ticks)
{
	uint64_t begin_ns = ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
	uint64_t suspended_ns = read_suspended_ns();

	return begin_ns > suspended_ns ? begin_ns - suspended_ns : 0;
}

SIGSAFE uint64_t dnp_thread_cpu_ns(int tid)
{
	return read_clock(tid ? dnp_clock_of_thread(tid) : CLOCK_THREAD_CPUTIME_ID);
}

SIGSAFE int dnp_thread_cpu_of(int tid, uint64_t *cpu_ns)
{
	struct timespec t;

	if (clock_gettime(dnp_clock_of_thread(tid), &t))
		return -ESRCH;
	*cpu_ns = to_ns(t);
	return 0;
}

bool dnp_unix_text(uint64_t unix_ns, char *out, size_t capacity)
{
	time_t seconds = (time_t)(unix_ns / UINT64_C(1000000000));
	struct tm tm;

	return localtime_r(&seconds, &tm) && strftime(out, capacity, "%Y-%m-%d %H:%M:%S %Z", &tm);
}

void dnp_sleep_until_ns(uint64_t deadline_ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(deadline_ns / UINT64_C(1000000000)),
		.tv_nsec = (long)(deadline_ns % UINT64_C(1000000000)),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}
