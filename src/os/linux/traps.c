/* SPDX-License-Identifier: MIT */
#include "os/traps.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "os/linux/kernel_frames.h"
#include "os/linux/no_room.h"
#include "os/linux/perf.h"
#include "os/linux/trap_signal.h"
#include "os/thread.h"

#define CPUS_MAX   1024
#define PAGE_BYTES 4096u
#define RING_BYTES (16 * PAGE_BYTES) /* 120 samples of the deepest stacks, or 600 of usual ones */
#define RING_MASK  (RING_BYTES / 8 - 1)
#define LOOK_MAX   64               /* samples that are looked at for that of one thread … */
#define LOOK_BYTES (RING_BYTES / 4) /* … and what they and others take */
#define WRITE_MAX  PAGE_BYTES       /* of records that are being written */

/* Versions of Linux as 100 * major + minor. */
#define TRAPS_COME_FROM 601 /* before, traps could go missing ("perf: Fix missing SIGTRAPs") */
#define CLOSES_FROM     615 /* before, closing could wait for one that was held back */

/* Words before the kernel's frames: the header, the process and thread, the time. */
#define HEAD_WORDS 3

static struct {
	uint64_t interval_ns;
	unsigned n_cpus;
	struct perf_event_mmap_page *rings[CPUS_MAX]; /* of each processor; NULL: none */
	int firsts[CPUS_MAX];                         /* the events that have them */
	uint64_t read_to[CPUS_MAX];                   /* the head of each when it was read last */
	int *fds;                                     /* all events */
	size_t n_fds, room;
	size_t next; /* to be varied */
} traps;

static int open_event(int tid, unsigned cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.disabled = 1,
		.inherit = 1,
		.inherit_thread = 1, /* not to other processes */
		.task = 1,
		.sigtrap = 1,
		.remove_on_exec = 1,
		.sig_data = cpu,
		.exclude_hv = 1,
		.write_backward = 1, /* so that the newest is found first, and nobody has to read */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	dnp_kernel_frames_ask(&attr);
	return dnp_perf_open(&attr, tid, (int)cpu);
}

static int keep(int fd)
{
	if (traps.n_fds == traps.room) {
		size_t room = traps.room ? 2 * traps.room : 16;
		int *fds = realloc(traps.fds, room * sizeof(*fds));

		if (!fds) {
			close(fd);
			return -ENOMEM;
		}
		traps.fds = fds;
		traps.room = room;
	}
	traps.fds[traps.n_fds++] = fd;
	return 0;
}

/* Where the samples of a processor go. */
static int map_ring(unsigned cpu, int fd)
{
	void *ring = mmap(NULL, PAGE_BYTES + RING_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (ring == MAP_FAILED)
		return -errno;
	traps.rings[cpu] = ring;
	traps.firsts[cpu] = fd;
	return 0;
}

/* On one processor; 0 as well where it is switched off. */
static int add_on(int tid, unsigned cpu)
{
	int fd = open_event(tid, cpu, traps.interval_ns), failed;

	if (fd == -ENODEV)
		return 0;
	if (fd < 0)
		return fd;
	failed = keep(fd);
	if (failed)
		return failed;
	if (!traps.rings[cpu])
		failed = map_ring(cpu, fd);
	else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, traps.firsts[cpu]))
		failed = -errno;
	return failed;
}

static void switch_from(size_t first, unsigned long how)
{
	for (size_t i = first; i < traps.n_fds; i++)
		ioctl(traps.fds[i], how, 0);
}

static void close_from(size_t first)
{
	while (traps.n_fds > first)
		dnp_perf_close(traps.fds[--traps.n_fds]);
}

/* On all processors, or on none. */
static int add(int tid)
{
	size_t before = traps.n_fds;

	for (unsigned cpu = 0; cpu < traps.n_cpus; cpu++) {
		int failed = add_on(tid, cpu);

		if (failed) {
			close_from(before);
			return failed;
		}
	}
	switch_from(before, PERF_EVENT_IOC_ENABLE);
	return 0;
}

/* 0: not known. */
static int linux_version(void)
{
	struct utsname name;
	int major, minor;

	if (uname(&name) || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		return 0;
	return 100 * major + minor;
}

static bool is_traced(void)
{
	char buffer[2048];
	FILE *file = fopen("/proc/self/status", "re");
	int pid = 0;

	if (!file)
		return false;
	while (fgets(buffer, sizeof(buffer), file))
		if (sscanf(buffer, "TracerPid: %d", &pid) == 1)
			break;
	fclose(file);
	return pid != 0;
}

int dnp_traps_open(uint64_t interval_ns, dnp_signal_handler handler)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int failed;

#ifdef __SANITIZE_THREAD__
	return -ENOSYS; /* it takes traps for faults */
#endif
	if (cpus < 1 || cpus > CPUS_MAX)
		return -E2BIG;
	if (linux_version() < TRAPS_COME_FROM)
		return -ENOSYS;
	if (is_traced())
		return -EPERM;
	failed = dnp_trap_signal_watch(handler);
	if (!failed)
		failed = dnp_no_room_keep_traps_off();
	if (failed)
		return failed;
	traps.interval_ns = interval_ns;
	traps.n_cpus = (unsigned)cpus;
	failed = add(0);
	if (failed)
		dnp_traps_close();
	return failed;
}

int dnp_traps_add(int tid)
{
	return add(tid);
}

/* One event at a time: the kernel may have to interrupt the processor that it is on. */
void dnp_traps_vary(uint64_t ns)
{
	if (traps.n_fds)
		ioctl(traps.fds[traps.next++ % traps.n_fds], PERF_EVENT_IOC_PERIOD, &ns);
}

/* What was read up to there of a ring is what the kernel had written: it has not come round since.
 */
static bool is_whole(const struct perf_event_mmap_page *page, uint64_t end)
{
	return end - __atomic_load_n(&page->data_head, __ATOMIC_RELAXED) <= RING_BYTES - WRITE_MAX;
}

static void copy_out(const struct perf_event_mmap_page *page, uint64_t at, void *to, size_t n)
{
	const uint64_t *ring = (const void *)((const char *)page + PAGE_BYTES);

	for (size_t i = 0; i < n / 8; i++) {
		/* Acquire: what is read here comes before the head that is looked at then. */
		uint64_t word = __atomic_load_n(&ring[(at / 8 + i) & RING_MASK], __ATOMIC_ACQUIRE);

		memcpy((char *)to + 8 * i, &word, sizeof(word));
	}
}

/* Threads that began, the newest first; more of them do not fit into a ring. */
struct begun {
	size_t n;
	struct dnp_fork_record records[RING_BYTES / sizeof(struct dnp_fork_record)];
};

/* From the newest record to the one that was the newest the last time. False: not so far. */
static bool read_ring(
	const struct perf_event_mmap_page *page, uint64_t *read_to, struct begun *begun)
{
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = head;
	uint64_t last = *read_to;

	*read_to = head;
	begun->n = 0;
	while (at != last && begun->n < DNP_ARRAY_SIZE(begun->records)) {
		struct dnp_fork_record record;

		copy_out(page, at, &record, sizeof(record));
		if (!is_whole(page, at + sizeof(record)) || record.header.size < 8 ||
			record.header.size % 8)
			return false;
		if (record.header.type == PERF_RECORD_FORK && (int)record.pid == getpid())
			begun->records[begun->n++] = record;
		at += record.header.size;
	}
	return at == last;
}

bool dnp_traps_read(dnp_watch_begun tell)
{
	static struct begun begun;
	bool all = true;

	for (unsigned cpu = 0; cpu < traps.n_cpus; cpu++) {
		if (!traps.rings[cpu])
			continue;
		all &= read_ring(traps.rings[cpu], &traps.read_to[cpu], &begun);
		while (begun.n) {
			const struct dnp_fork_record *record = &begun.records[--begun.n];

			tell((int)record->tid, record->time);
		}
	}
	return all;
}

int dnp_traps_state(void)
{
	if (!dnp_trap_signal_is_on_top() || !dnp_no_room_keeps_traps_off())
		return -EBUSY;
	return is_traced() ? -EPERM : 0;
}

void dnp_traps_off(void)
{
	switch_from(0, PERF_EVENT_IOC_DISABLE);
}

void dnp_traps_close(void)
{
	/* See CLOSES_FROM: they stay, switched off. */
	if (linux_version() >= CLOSES_FROM)
		close_from(0);
	free(traps.fds);
	for (unsigned cpu = 0; cpu < traps.n_cpus; cpu++)
		if (traps.rings[cpu])
			munmap(traps.rings[cpu], PAGE_BYTES + RING_BYTES);
	memset(&traps, 0, sizeof(traps));
}

/* ---- In the handler */

SIGSAFE const void *dnp_trap_ring(const struct dnp_signal_info *info)
{
	uint64_t cpu = dnp_trap_data(info);

	return cpu < traps.n_cpus ? traps.rings[cpu] : NULL;
}

/* A place among the records of a ring, and the one before it. */
struct cursor {
	const uint64_t *ring;
	uint64_t head, at;
	unsigned seen;
	struct dnp_kernel_record record;
};

/*
 * The kernel writes towards lower addresses: from the head on stand PERF_RECORD_SAMPLE {header,
 * pid, tid, time, nr, ips[nr], abi, user pc} of all threads, the newest first, until what it has
 * overwritten. Finds the next one of a thread that goes on at that instruction, if it is not older.
 */
static SIGSAFE bool find_next(struct cursor *cursor, uint64_t tid, uintptr_t pc, uint64_t since_ns)
{
	while (cursor->seen < LOOK_MAX && cursor->at - cursor->head < LOOK_BYTES) {
		uint64_t words[HEAD_WORDS], at = cursor->at / 8;
		struct perf_event_header header;

		for (unsigned i = 0; i < HEAD_WORDS; i++)
			words[i] = cursor->ring[(at + i) & RING_MASK];
		memcpy(&header, words, sizeof(header));
		if (header.size < 8 * HEAD_WORDS || header.size > RING_BYTES / 8)
			return false;
		cursor->at += header.size;
		cursor->record = (struct dnp_kernel_record){
			cursor->ring, RING_MASK, at + HEAD_WORDS, header.size / 8 - HEAD_WORDS};
		if (header.type != PERF_RECORD_SAMPLE)
			continue;
		cursor->seen++;
		if (words[2] <= since_ns)
			return false;
		if (words[1] >> 32 == tid && dnp_kernel_record_is_at(&cursor->record, pc))
			return true;
	}
	return false;
}

static SIGSAFE struct cursor newest(const void *ring)
{
	const struct perf_event_mmap_page *page = ring;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

	return (struct cursor){
		.ring = (const void *)((const char *)page + PAGE_BYTES), .head = head, .at = head};
}

SIGSAFE unsigned dnp_trap_kernel_records(const void *ring, uintptr_t pc, uint64_t since_ns)
{
	uint64_t tid = (uint64_t)dnp_thread_id();
	struct cursor cursor;
	unsigned n = 0;

	if (!ring)
		return 0;
	cursor = newest(ring);
	while (find_next(&cursor, tid, pc, since_ns))
		n++;
	return n;
}

SIGSAFE size_t dnp_trap_kernel_frames(const void *ring, uintptr_t pc, uint64_t since_ns,
	unsigned back, uint64_t *frames, size_t max)
{
	uint64_t tid = (uint64_t)dnp_thread_id();
	struct cursor cursor;

	if (!ring)
		return 0;
	cursor = newest(ring);
	for (unsigned i = 0; i <= back; i++)
		if (!find_next(&cursor, tid, pc, since_ns))
			return 0;
	return dnp_kernel_record_frames(&cursor.record, frames, max);
}
