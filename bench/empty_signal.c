/* SPDX-License-Identifier: MIT */
/*
 * The price of the signal alone: the same events at the same rate as dnprof's, with a handler that
 * does nothing, in a program that only counts. What dnprof costs beyond it is dnprof's own.
 *
 * empty_signal HZ: prints {"alone_ns":…,"with_ns":…,"signals":…}, CPU time of the same work without
 * and with them, in turns of a tenth of a second, so that both meet the same machine.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS   20
#define AT_ONCE 4 /* signals between two askings for more, as dnprof does */

static int event;
static volatile sig_atomic_t signals;

static void on_signal(int signo)
{
	(void)signo;
	if (++signals % AT_ONCE == 0)
		ioctl(event, PERF_EVENT_IOC_REFRESH, AT_ONCE);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t work(void)
{
	uint64_t begin = cpu_ns();
	volatile double x = 1;

	for (int i = 0; i < 40000000; i++)
		x = x * 1.0000001;
	return cpu_ns() - begin;
}

static int open_event(uint64_t hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000u / hz,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
		.wakeup_events = 1,
	};
	struct f_owner_ex self = {F_OWNER_TID, (int)syscall(SYS_gettid)};

	event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return event < 0 || fcntl(event, F_SETFL, O_ASYNC) || fcntl(event, F_SETSIG, SIGRTMIN) ||
			fcntl(event, F_SETOWN_EX, &self)
		? -1
		: 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	uint64_t alone = 0, with = 0;
	long hz = argc == 2 ? atol(argv[1]) : 0;

	if (hz <= 0) {
		fprintf(stderr, "usage: empty_signal HZ\n");
		return 2;
	}
	if (sigaction(SIGRTMIN, &action, NULL) || open_event((uint64_t)hz)) {
		perror("empty_signal");
		return 1;
	}
	for (int turn = 0; turn < TURNS; turn++) {
		alone += work();
		ioctl(event, PERF_EVENT_IOC_REFRESH, 2 * AT_ONCE);
		with += work();
		ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
	}
	printf("{\"alone_ns\":%llu,\"with_ns\":%llu,\"signals\":%d}\n", (unsigned long long)alone,
		(unsigned long long)with, (int)signals);
	return 0;
}
