/* SPDX-License-Identifier: MIT */
#include "os/sampler.h"

#include <assert.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "os/clock.h"
#include "os/linux/clock_id.h"
#include "os/linux/kernel_frames.h"
#include "os/linux/perf.h"
#include "os/linux/signal_info.h"
#include "os/linux/spared.h"
#include "os/traps.h"

/* What the interrupt and the signal take themselves, about: no time of the program's. */
#define DELIVERY_NS 8000u

#define PAGE_BYTES 4096u
#define RING_BYTES                                                                                 \
	(2 * PAGE_BYTES) /* data behind the control page; holds all that can be pending */

/*
 * Signals that may be pending at once: what the kernel is asked for each time, and never before it
 * has told the last of them. More would be lost samples after a long system call, were they not
 * made up for by weight; all that a thread may not take at once counts against the limit of pending
 * signals, and where that is reached the kernel sends SIGIO, which ends programs.
 */
#define PENDING_MAX 8
static_assert(
	PENDING_MAX * (DNP_KERNEL_STACK_MAX + 6) * 8 <= RING_BYTES, "the ring holds them all");

/* perf tells its handler a descriptor, no pointer: the owner of each. */
#define FD_HIGH 65536
static _Atomic(void *) fd_owner[FD_HIGH];

/* Timers that were started: whoever is interrupted by one sees what was written before. */
static _Atomic uint32_t timers;

static int perf_open(int tid, uint64_t period_ns, int kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = kernel ? 0 : PERF_SAMPLE_IP,
		.disabled = 1,
		.exclude_hv = 1,
		.wakeup_events = 1,
	};

	if (kernel)
		dnp_kernel_frames_ask(&attr);
	return dnp_perf_open(&attr, tid, -1);
}

enum dnp_sampler_source dnp_sampler_probe(
	enum dnp_sampler_source wanted, int *kernel, struct dnp_err *err)
{
	int fd;

	*kernel = 0;
	if (wanted == DNP_SAMPLER_TIMER)
		return DNP_SAMPLER_TIMER;
	fd = perf_open(0, 1000000, 1);
	if (fd >= 0) {
		close(fd);
		*kernel = 1;
		return DNP_SAMPLER_PERF;
	}
	/*
	 * Without the right to count in the kernel, perf leaves out the CPU time that a thread
	 * spends there; the timer counts all of it. So it is the better source then.
	 */
	dnp_err(err, fd,
		"perf events of the kernel are not allowed here: %s; samples come from a timer "
		"that the "
		"kernel's tick bounds (kernel.perf_event_paranoid=1 or CAP_PERFMON allows them)",
		strerror(-fd));
	return wanted == DNP_SAMPLER_PERF ? DNP_SAMPLER_AUTO : DNP_SAMPLER_TIMER;
}

/* What the coarse clocks count by. */
uint64_t dnp_sampler_tick_ns(void)
{
	struct timespec t;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &t))
		return 10000000; /* the slowest tick that kernels have */
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static int perf_start(
	struct dnp_sampler *sampler, int kernel, int tid, int signo, uint64_t first_ns, void *owner)
{
	struct f_owner_ex target = {F_OWNER_TID, tid};
	int fd = perf_open(tid, first_ns, kernel);

	if (fd < 0)
		return fd;
	if (fd >= FD_HIGH) {
		close(fd);
		return -EMFILE;
	}
	sampler->fd = fd;
	sampler->source = DNP_SAMPLER_PERF;
	if (kernel) {
		void *ring = mmap(
			NULL, PAGE_BYTES + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		sampler->ring = ring == MAP_FAILED ? NULL : ring;
	}
	sampler->random = first_ns ^ (uint64_t)tid << 32;
	sampler->period_ns = first_ns;
	sampler->expected_ns = dnp_thread_cpu_ns(tid) + first_ns;
	atomic_store_explicit(&fd_owner[fd], owner, memory_order_release);
	if (fcntl(fd, F_SETFL, O_ASYNC) || fcntl(fd, F_SETSIG, signo) ||
		fcntl(fd, F_SETOWN_EX, &target) || ioctl(fd, PERF_EVENT_IOC_REFRESH, 1)) {
		int failed = -errno;

		dnp_sampler_stop(sampler);
		return failed;
	}
	return 0;
}

static int timer_start(
	struct dnp_sampler *sampler, int tid, int signo, uint64_t first_ns, void *owner)
{
	struct sigevent event = {
		.sigev_signo = signo,
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_value.sival_ptr = owner,
		._sigev_un._tid = tid,
	};
	struct itimerspec spec = {
		.it_value = {(time_t)(first_ns / 1000000000), (long)(first_ns % 1000000000)},
		.it_interval = {(time_t)(sampler->interval_ns / 1000000000),
			(long)(sampler->interval_ns % 1000000000)},
	};

	if (!dnp_spared_has_more())
		return -EAGAIN;
	if (syscall(SYS_timer_create, dnp_clock_of_thread(tid), &event, &sampler->timer)) {
		int failed = -errno;

		if (failed == -EAGAIN)
			dnp_spared_give_back();
		return failed;
	}
	sampler->source = DNP_SAMPLER_TIMER;
	sampler->expected_ns = dnp_thread_cpu_ns(tid) + first_ns;
	/* Pairs with dnp_sampler_owner. */
	atomic_fetch_add_explicit(&timers, 1, memory_order_release);
	if (syscall(SYS_timer_settime, sampler->timer, 0, &spec, NULL)) {
		int failed = -errno;

		dnp_sampler_stop(sampler);
		return failed;
	}
	return 0;
}

int dnp_sampler_start(struct dnp_sampler *sampler, enum dnp_sampler_source source, int kernel,
	int tid, int signo, uint64_t first_ns, uint64_t interval_ns, void *owner)
{
	memset(sampler, 0, sizeof(*sampler));
	sampler->interval_ns = interval_ns;
	if (first_ns == 0)
		first_ns = 1;
	if (source == DNP_SAMPLER_PERF)
		return perf_start(sampler, kernel, tid, signo, first_ns, owner);
	return timer_start(sampler, tid, signo, first_ns, owner);
}

void dnp_sampler_follow(
	struct dnp_sampler *sampler, uint64_t used_ns, uint64_t first_ns, uint64_t interval_ns)
{
	memset(sampler, 0, sizeof(*sampler));
	sampler->interval_ns = interval_ns;
	sampler->expected_ns = used_ns + first_ns;
	/* A trap may come at any moment. */
	atomic_signal_fence(memory_order_seq_cst);
	sampler->source = DNP_SAMPLER_TRAPS;
}

bool dnp_sampler_tells_kernel(const struct dnp_sampler *sampler)
{
	return sampler->ring;
}

void dnp_sampler_pause(struct dnp_sampler *sampler)
{
	static const struct itimerspec off;

	if (sampler->source == DNP_SAMPLER_PERF)
		ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	else if (sampler->source == DNP_SAMPLER_TIMER)
		syscall(SYS_timer_settime, sampler->timer, 0, &off, NULL);
}

void dnp_sampler_stop(struct dnp_sampler *sampler)
{
	if (sampler->source == DNP_SAMPLER_PERF) {
		atomic_store_explicit(&fd_owner[sampler->fd], NULL, memory_order_release);
		dnp_perf_close(sampler->fd);
		if (sampler->ring)
			munmap(sampler->ring, PAGE_BYTES + RING_BYTES);
	} else if (sampler->source == DNP_SAMPLER_TIMER) {
		syscall(SYS_timer_delete, sampler->timer);
	}
	memset(sampler, 0, sizeof(*sampler));
}

void dnp_sampler_end(void)
{
	dnp_spared_end();
}

SIGSAFE void *dnp_sampler_owner(const struct dnp_signal_info *info)
{
	switch (info->system.si_code) {
	case SI_TIMER:
		return atomic_load_explicit(&timers, memory_order_acquire)
			? info->system.si_value.sival_ptr
			: NULL;
	case POLL_IN:
	case POLL_HUP:
		if (info->system.si_fd >= 0 && info->system.si_fd < FD_HIGH)
			return atomic_load_explicit(
				&fd_owner[info->system.si_fd], memory_order_acquire);
		return NULL;
	default: return NULL;
	}
}

SIGSAFE int dnp_sampler_is_ours(const struct dnp_signal_info *info)
{
	return info->system.si_code == SI_TIMER || info->system.si_code == POLL_IN ||
		info->system.si_code == POLL_HUP;
}

/* Of what is due at fixed times of a thread's clock. */
static SIGSAFE uint32_t due(const struct dnp_sampler *sampler, uint64_t used_ns)
{
	/* Read once: it may be being stopped, for a thread that has gone and left its number to
	 * this one. */
	uint64_t interval_ns = __atomic_load_n(&sampler->interval_ns, __ATOMIC_RELAXED), units;

	if (!interval_ns || used_ns < sampler->expected_ns)
		return 0;
	units = 1 + (used_ns - sampler->expected_ns) / interval_ns;
	return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

uint32_t dnp_sampler_unseen(const struct dnp_sampler *sampler, uint64_t used_ns)
{
	bool fixed = sampler->source == DNP_SAMPLER_TRAPS || sampler->source == DNP_SAMPLER_TIMER;

	return fixed ? due(sampler, used_ns) : 0;
}

/* A thread's clock is exact, whichever processors it ran on and however long it was held back. */
static SIGSAFE uint32_t trap_weight(struct dnp_sampler *sampler, const struct dnp_signal_info *info)
{
	uint64_t now = dnp_thread_cpu_ns(0);
	uint32_t units = due(sampler, now);

	sampler->trap = dnp_trap_is(info) ? dnp_trap_ring(info) : NULL;
	sampler->begun_ns = now;
	sampler->since_ns = sampler->now_ns;
	sampler->now_ns = dnp_now_ns();
	sampler->expected_ns += units * sampler->interval_ns;
	return units;
}

static SIGSAFE uint32_t timer_weight(
	struct dnp_sampler *sampler, const struct dnp_signal_info *info)
{
	uint32_t units = 1 + (info->system.si_overrun > 0 ? (uint32_t)info->system.si_overrun : 0);

	sampler->expected_ns += units * sampler->interval_ns;
	return units;
}

static SIGSAFE uint32_t perf_weight(struct dnp_sampler *sampler, const struct dnp_signal_info *info)
{
	uint64_t now, late;

	if (info->system.si_code != POLL_HUP)
		return 1;
	/*
	 * The last of those that the kernel was asked for: time may have passed uncounted since it
	 * was due.
	 */
	sampler->exhausted = 1;
	now = dnp_thread_cpu_ns(0);
	late = now > sampler->expected_ns ? now - sampler->expected_ns : 0;
	late += dnp_random_below(&sampler->random, sampler->interval_ns);
	return 1 + (uint32_t)(late / sampler->interval_ns);
}

SIGSAFE uint32_t dnp_sampler_weight(struct dnp_sampler *sampler, const struct dnp_signal_info *info)
{
	switch (sampler->source) {
	case DNP_SAMPLER_TRAPS: return trap_weight(sampler, info);
	case DNP_SAMPLER_TIMER: return timer_weight(sampler, info);
	case DNP_SAMPLER_PERF: return perf_weight(sampler, info);
	/*
	 * It has been stopped, for a thread that has gone and left its number to this one, which a
	 * trap finds by that (TRAP_PERF is the same number as POLL_HUP).
	 */
	default: return 0;
	}
}

/*
 * The ring holds PERF_RECORD_SAMPLE {header, nr, ips[nr], abi, user pc}, one for each sample in
 * their order. Not each has a signal: of two that come close together only one may be told. So a
 * record is of this signal if the thread goes on where it says; those before it have none any more.
 */
static SIGSAFE size_t next_kernel_frames(
	struct dnp_sampler *sampler, uintptr_t pc, uint64_t *frames, size_t max)
{
	struct perf_event_mmap_page *page = sampler->ring;
	uint64_t head, tail;
	int found = 0;
	size_t n = 0;

	if (!page)
		return 0;
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	tail = page->data_tail;
	while (tail + 16 <= head && !found) {
		struct dnp_kernel_record record = {
			.ring = (const void *)((const char *)page + PAGE_BYTES),
			.mask = RING_BYTES / 8 - 1,
			.at = tail / 8 + 1,
		};
		struct perf_event_header header;

		memcpy(&header, &record.ring[tail / 8 & record.mask], sizeof(header));
		if (header.size < 16 || tail + header.size > head) {
			tail = head; /* not what we know: start afresh */
			break;
		}
		tail += header.size;
		record.words = header.size / 8 - 1;
		/* Others tell what the kernel could not keep. */
		found = header.type == PERF_RECORD_SAMPLE && dnp_kernel_record_is_at(&record, pc);
		if (found)
			n = dnp_kernel_record_frames(&record, frames, max);
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return n;
}

SIGSAFE size_t dnp_sampler_kernel_frames(
	struct dnp_sampler *sampler, uintptr_t pc, unsigned back, uint64_t *frames, size_t max)
{
	if (sampler->source == DNP_SAMPLER_TRAPS)
		return dnp_trap_kernel_frames(
			sampler->trap, pc, sampler->since_ns, back, frames, max);
	return back ? 0 : next_kernel_frames(sampler, pc, frames, max);
}

SIGSAFE unsigned dnp_sampler_kernel_moments(const struct dnp_sampler *sampler, uintptr_t pc)
{
	return sampler->source == DNP_SAMPLER_TRAPS
		? dnp_trap_kernel_records(sampler->trap, pc, sampler->since_ns)
		: 1;
}

SIGSAFE void dnp_sampler_rearm(struct dnp_sampler *sampler, uint64_t spent_ns)
{
	int slow = spent_ns >= sampler->interval_ns / 2;

	/* Not the time that has passed: the thread may have had to wait for a processor. */
	if (sampler->source == DNP_SAMPLER_TRAPS)
		sampler->expected_ns += dnp_thread_cpu_ns(0) - sampler->begun_ns + DELIVERY_NS;
	if (sampler->source != DNP_SAMPLER_PERF)
		return;
	if (!sampler->exhausted) {
		sampler->expected_ns += sampler->period_ns + spent_ns + DELIVERY_NS;
		return;
	}
	sampler->exhausted = 0;
	sampler->period_ns =
		sampler->interval_ns / 2 + dnp_random_below(&sampler->random, sampler->interval_ns);
	/* From the clock: the small errors of the samples before must not add up. */
	sampler->expected_ns = dnp_thread_cpu_ns(0) + sampler->period_ns + DELIVERY_NS;
	ioctl(sampler->fd, PERF_EVENT_IOC_PERIOD, &sampler->period_ns);
	/* A handler that is slower than its clock must let the program go on between two samples.
	 */
	ioctl(sampler->fd, PERF_EVENT_IOC_REFRESH, slow ? 1 : PENDING_MAX);
}

SIGSAFE uint32_t dnp_sampler_rearm_lost(struct dnp_sampler *sampler)
{
	uint32_t units = 1;

	if (sampler->source == DNP_SAMPLER_TRAPS)
		units = due(sampler, dnp_thread_cpu_ns(0));
	if (sampler->source == DNP_SAMPLER_TRAPS || sampler->source == DNP_SAMPLER_TIMER)
		sampler->expected_ns += units * sampler->interval_ns;
	if (sampler->source != DNP_SAMPLER_PERF)
		return units;
	/* It may have been the last of those that the kernel was asked for. */
	sampler->expected_ns = dnp_thread_cpu_ns(0) + sampler->period_ns + DELIVERY_NS;
	ioctl(sampler->fd, PERF_EVENT_IOC_REFRESH, 1);
	return units;
}
