/* SPDX-License-Identifier: MIT */
/*
 * The price of being interrupted: by the kernel's timer alone, which no sampler can do without, and
 * by a signal to a handler that does nothing, as dnprof has it sent. What dnprof costs beyond the
 * second is dnprof's own.
 *
 * interrupts HZ: prints {"alone_ns":…,"timer_ns":…,"signal_ns":…,"signals":…}, CPU time of the same
 * work without and with each of them, in turns of a tenth of a second, so that all meet the same
 * machine.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS 20
#define AT_ONCE                                                                                    \
	4 /* signals between two askings for more, where the kernel has no traps: as dnprof does   \
	   */

static int signalling;
static bool traps; /* it sends these */
static volatile sig_atomic_t signals;

static void on_trap(int signo)
{
	(void)signo;
	signals++;
}

static void on_signal(int signo)
{
	(void)signo;
	if (++signals % AT_ONCE == 0)
		ioctl(signalling, PERF_EVENT_IOC_REFRESH, AT_ONCE);
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

static int open_event(uint64_t hz, bool trapping)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000u / hz,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
		.exclude_hv = 1,
		.wakeup_events = 1,
		.sigtrap = trapping,
		.remove_on_exec = trapping,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int handle(int signo, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	return sigaction(signo, &action, NULL);
}

/* By a trap; from kernels before 5.13, by an ordinary signal. */
static int open_signalling(uint64_t hz)
{
	struct f_owner_ex self = {F_OWNER_TID, (int)syscall(SYS_gettid)};

	signalling = open_event(hz, true);
	traps = signalling >= 0;
	if (traps)
		return handle(SIGTRAP, on_trap);
	signalling = open_event(hz, false);
	return signalling < 0 || fcntl(signalling, F_SETFL, O_ASYNC) ||
			fcntl(signalling, F_SETSIG, SIGRTMIN) ||
			fcntl(signalling, F_SETOWN_EX, &self)
		? -1
		: handle(SIGRTMIN, on_signal);
}

static uint64_t work_under(int event, unsigned long how, unsigned long argument)
{
	uint64_t took;

	ioctl(event, how, argument);
	took = work();
	ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
	return took;
}

int main(int argc, char **argv)
{
	uint64_t alone = 0, timer = 0, with_signal = 0;
	long hz = argc == 2 ? atol(argv[1]) : 0;
	int counting;

	if (hz <= 0) {
		fprintf(stderr, "usage: interrupts HZ\n");
		return 2;
	}
	counting = open_event((uint64_t)hz, false);
	if (counting < 0 || open_signalling((uint64_t)hz)) {
		perror("interrupts");
		return 1;
	}
	for (int turn = 0; turn < TURNS; turn++) {
		alone += work();
		timer += work_under(counting, PERF_EVENT_IOC_ENABLE, 0);
		with_signal += traps ? work_under(signalling, PERF_EVENT_IOC_ENABLE, 0)
				     : work_under(signalling, PERF_EVENT_IOC_REFRESH, 2 * AT_ONCE);
	}
	printf("{\"alone_ns\":%llu,\"timer_ns\":%llu,\"signal_ns\":%llu,\"signals\":%d}\n",
		(unsigned long long)alone, (unsigned long long)timer,
		(unsigned long long)with_signal, (int)signals);
	return 0;
}
