/* SPDX-License-Identifier: MIT */
/*
 * The trace point sched:sched_waking, which fires on the processor, and in the thread, that wakes
 * another one. Source: perf_event_open(2); Documentation/trace/events.rst of the kernel.
 */
#include "os/wakeups.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clean.h"
#include "os/linux/perf.h"

#define RING_BYTES ((size_t)1 << 20)
#define RECORD_MAX 512

/* In the data of every trace point: in what the processor was (TRACE_FLAG_HARDIRQ). */
#define FLAGS_OFFSET 2
#define IN_INTERRUPT 0x08

struct ring {
	int fd;
	void *pages;   /* owned: a control page, then the data */
	uint64_t told; /* records of it, ever */
};

struct dnp_wakeups {
	size_t pid_offset; /* in the raw data */
	size_t n;
	struct ring rings[]; /* one a processor */
};

#define SAMPLE_BYTES offsetof(struct sample, raw)

struct sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t raw_bytes;
	char raw[];
};

/* ---- The trace point */

static const char *const folders[] = {
	"/sys/kernel/tracing/events/sched/sched_waking",
	"/sys/kernel/debug/tracing/events/sched/sched_waking",
};

/* Bytes of a file of the trace point, or -errno. */
static ssize_t read_file(const char *name, char *text, size_t capacity)
{
	int failed = -ENOENT;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(folders); i++) {
		char path[128];
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			if (errno != ENOENT)
				failed = -errno;
			continue;
		}
		n = read(fd, text, capacity - 1);
		close(fd);
		if (n > 0) {
			text[n] = '\0';
			return n;
		}
	}
	return failed;
}

/* Its number for perf events, and where the woken thread stands in its data. 0 or -errno. */
static int find_point(uint64_t *id, size_t *pid_offset)
{
	static const char field[] = "field:pid_t pid;\toffset:";
	char text[4096];
	const char *at;
	ssize_t n = read_file("id", text, sizeof(text));

	if (n < 0)
		return (int)n;
	*id = strtoull(text, NULL, 10);
	n = read_file("format", text, sizeof(text));
	if (n < 0)
		return (int)n;
	at = strstr(text, field);
	if (!at)
		return -ENOTSUP;
	*pid_offset = strtoull(at + sizeof(field) - 1, NULL, 10);
	return 0;
}

/* ---- Rings */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int open_ring(struct ring *ring, uint64_t id, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.sample_period = 1,
		.disabled = 1, /* nothing is counted that has no ring yet */
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)RING_BYTES,
	};
	void *pages;

	ring->fd = dnp_perf_open(&attr, -1, cpu);
	if (ring->fd < 0)
		return ring->fd;
	pages = mmap(
		NULL, page_bytes() + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (pages == MAP_FAILED)
		return -errno;
	ring->pages = pages;
	return ioctl(ring->fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

static void close_ring(struct ring *ring)
{
	if (ring->pages)
		munmap(ring->pages, page_bytes() + RING_BYTES);
	if (ring->fd >= 0)
		dnp_perf_close(ring->fd);
}

void dnp_wakeups_close(struct dnp_wakeups *wakeups)
{
	if (!wakeups)
		return;
	for (size_t i = 0; i < wakeups->n; i++)
		close_ring(&wakeups->rings[i]);
	free(wakeups);
}

/* Processors that are offline have none. */
static int open_rings(struct dnp_wakeups *wakeups, uint64_t id, int n_cpus)
{
	for (int cpu = 0; cpu < n_cpus; cpu++) {
		struct ring *ring = &wakeups->rings[wakeups->n];
		int failed;

		*ring = (struct ring){.fd = -1};
		failed = open_ring(ring, id, cpu);
		if (failed)
			close_ring(ring);
		if (failed && failed != -ENODEV)
			return failed;
		wakeups->n += !failed;
	}
	return wakeups->n ? 0 : -ENODEV;
}

int dnp_wakeups_open(struct dnp_wakeups **out, struct dnp_err *err)
{
	int n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF), failed;
	struct dnp_wakeups *wakeups;
	uint64_t id = 0;

	if (!dnp_perf_has_system_ids())
		return dnp_err(err, -ENOTSUP,
			"cannot record wake-ups, so nothing is recorded: the kernel tells of "
			"threads by ids that they do not have in this container; record outside "
			"of it, or leave --wakeups away");
	wakeups = calloc(1, sizeof(*wakeups) + (size_t)n_cpus * sizeof(struct ring));
	failed = wakeups ? find_point(&id, &wakeups->pid_offset) : -ENOMEM;
	if (!failed)
		failed = open_rings(wakeups, id, n_cpus);
	if (!failed) {
		*out = wakeups;
		return 0;
	}
	dnp_wakeups_close(wakeups);
	return dnp_err(err, failed,
		"cannot record wake-ups, so nothing is recorded: the kernel's trace points: %s; "
		"%s, "
		"or leave --wakeups away",
		strerror(-failed),
		failed == -ENOENT ? "mount them (mount -t tracefs tracefs /sys/kernel/tracing)"
				  : "be root");
}

/* ---- Reading */

static void copy_out(const struct ring *ring, uint64_t at, void *to, size_t n)
{
	const char *data = (const char *)ring->pages + page_bytes();
	size_t begin = (size_t)at & (RING_BYTES - 1), first = RING_BYTES - begin;

	if (first > n)
		first = n;
	memcpy(to, data + begin, first);
	memcpy((char *)to + first, data, n - first);
}

/* False: it is none of these. */
static bool decode(const struct dnp_wakeups *wakeups, const char *bytes, struct dnp_wakeup *out)
{
	struct sample sample;
	bool interrupt;
	int32_t tid;

	memcpy(&sample, bytes, SAMPLE_BYTES);
	if (sample.header.type != PERF_RECORD_SAMPLE || sample.header.size < SAMPLE_BYTES ||
		sample.raw_bytes > sample.header.size - SAMPLE_BYTES ||
		wakeups->pid_offset + sizeof(tid) > sample.raw_bytes)
		return false;
	memcpy(&tid, bytes + SAMPLE_BYTES + wakeups->pid_offset, sizeof(tid));
	/* A timer, say: who ran then has nothing to do with it. */
	interrupt = bytes[SAMPLE_BYTES + FLAGS_OFFSET] & IN_INTERRUPT;
	*out = (struct dnp_wakeup){
		.time_ns = sample.time,
		.tid = tid,
		.by_pid = interrupt ? 0 : (int)sample.pid,
		.by_tid = interrupt ? 0 : (int)sample.tid,
	};
	return true;
}

static void read_ring(const struct dnp_wakeups *wakeups, struct ring *ring,
	void (*visit)(const struct dnp_wakeup *wakeup, void *context), void *context)
{
	struct perf_event_mmap_page *page = ring->pages;
	/* Pairs with the kernel's barrier between its data and its head. */
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = page->data_tail;

	while (head - at >= sizeof(struct perf_event_header)) {
		char bytes[RECORD_MAX];
		struct perf_event_header header;
		struct dnp_wakeup wakeup;

		copy_out(ring, at, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - at)
			break;
		ring->told += header.type == PERF_RECORD_SAMPLE;
		if (header.size <= sizeof(bytes) && header.size >= SAMPLE_BYTES) {
			copy_out(ring, at, bytes, header.size);
			if (decode(wakeups, bytes, &wakeup))
				visit(&wakeup, context);
		}
		at += header.size;
	}
	__atomic_store_n(&page->data_tail, at, __ATOMIC_RELEASE);
}

void dnp_wakeups_read(struct dnp_wakeups *wakeups,
	void (*visit)(const struct dnp_wakeup *wakeup, void *context), void *context)
{
	for (size_t i = 0; i < wakeups->n; i++)
		read_ring(wakeups, &wakeups->rings[i], visit, context);
}

/* Each record is one that the event has counted; not each that it counts becomes one. */
uint64_t dnp_wakeups_end(struct dnp_wakeups *wakeups,
	void (*visit)(const struct dnp_wakeup *wakeup, void *context), void *context)
{
	uint64_t missing = 0, count;

	for (size_t i = 0; i < wakeups->n; i++)
		ioctl(wakeups->rings[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	dnp_wakeups_read(wakeups, visit, context);
	for (size_t i = 0; i < wakeups->n; i++) {
		const struct ring *ring = &wakeups->rings[i];

		if (read(ring->fd, &count, sizeof(count)) == (ssize_t)sizeof(count) &&
			count > ring->told)
			missing += count - ring->told;
	}
	return missing;
}
