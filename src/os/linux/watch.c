/* SPDX-License-Identifier: MIT */
#include "os/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/linux/perf.h"
#include "os/linux/watch.h"

/* Each thread is watched on each processor; on larger machines threads are looked for. */
#define CPUS_MAX   16
#define FIRST_RING (1 + DNP_WATCH_FDS)
#define PAGE_BYTES 4096u
#define RING_BYTES (8 * PAGE_BYTES) /* begins and ends of 290 threads */

#define UNCALLED_NS UINT64_C(20000000) /* the longest wait where nobody can call */

static struct {
	/* The first is of calls, then come those that were added, then one a processor. */
	struct pollfd fds[FIRST_RING + CPUS_MAX];
	struct perf_event_mmap_page *rings[FIRST_RING + CPUS_MAX];
	int added[FIRST_RING]; /* which were; -1: a free place. That in fds is -1 when it is lost */
	struct dnp_file_id ids[FIRST_RING]; /* which files; that of calls written before call_fd */
	unsigned n;                         /* of fds that count, 0: not open */
	bool at_once;                       /* records end a wait; else they are not waited for */
	int resting;                        /* one of those that were added, -1: none … */
	uint64_t rests_ns;                  /* … and until when */
	_Atomic int call_fd;                /* of the event that calls go to, plus 1; 0: none */
	_Atomic int called;
} watch = {.resting = -1};

/*
 * Records of threads and code of this thread and its descendants while they run on one processor.
 * To wake us for each costs the thread that does it an interrupt, twice in its life. Where that is
 * not asked for nobody waits for these events at all: whatever the watermark, the kernel wakes who
 * does at the end of each thread that has inherited them, for each event, if only to let him sleep
 * on (kernel/events/core.c, perf_event_exit_event: "Kick perf_poll() for is_event_hup()").
 */
static int open_events(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = DNP_PERF_TELLS,
		.inherit = 1,
		.inherit_thread = 1, /* not to other processes */
		.task = 1,
		.mmap = watch.at_once, /* what comes to no wait's end is looked for without that */
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = watch.at_once ? 1 : RING_BYTES,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return dnp_perf_open(&attr, 0, cpu);
}

static int add_cpu(int cpu)
{
	int fd = open_events(cpu);
	void *ring;

	if (fd < 0)
		return fd;
	ring = mmap(NULL, PAGE_BYTES + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED) {
		int failed = -errno;

		close(fd);
		return failed;
	}
	watch.rings[watch.n] = ring;
	watch.fds[watch.n] = (struct pollfd){.fd = fd, .events = POLLIN};
	watch.n++;
	return 0;
}

static void put(unsigned i, int fd)
{
	watch.fds[i] = (struct pollfd){.fd = fd, .events = POLLIN};
	watch.added[i] = fd;
	watch.ids[i] = dnp_file_id(fd);
}

/* What ends a wait besides time; it stays open from one recording to the next. */
static int open_calls(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	fd = dnp_fd_move_up(fd);
	watch.n = FIRST_RING;
	for (unsigned i = 0; i < FIRST_RING; i++)
		put(i, -1);
	put(0, fd);
	atomic_store_explicit(&watch.called, 0, memory_order_relaxed);
	atomic_store_explicit(&watch.call_fd, fd + 1, memory_order_release);
	return 0;
}

int dnp_watch_open(void)
{
	return watch.n && watch.fds[0].fd >= 0 ? 0 : open_calls();
}

int dnp_watch_threads_open(bool at_once)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!watch.n)
		return -EBADF;
	dnp_watch_threads_close();
	if (cpus > CPUS_MAX)
		return -E2BIG;
	watch.at_once = at_once;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int failed = add_cpu(cpu);

		if (failed && failed != -ENODEV) { /* that: the processor is switched off */
			dnp_watch_threads_close();
			return failed;
		}
	}
	return 0;
}

void dnp_watch_threads_close(void)
{
	while (watch.n > FIRST_RING) {
		watch.n--;
		munmap(watch.rings[watch.n], PAGE_BYTES + RING_BYTES);
		dnp_perf_close(watch.fds[watch.n].fd);
	}
}

static void lose(unsigned i)
{
	watch.fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	if (i == 0)
		atomic_store(&watch.call_fd, 0);
}

/* Where the program has closed one, what it has in its place is not looked at, read, or closed. */
static void keep_ours(void)
{
	for (unsigned i = 0; i < FIRST_RING; i++)
		if (watch.fds[i].fd >= 0 && !dnp_file_is(watch.fds[i].fd, watch.ids[i]))
			lose(i);
	for (unsigned i = FIRST_RING; watch.at_once && i < watch.n; i++)
		if (watch.fds[i].fd >= 0 && !dnp_perf_is_there(watch.fds[i].fd))
			lose(i);
}

void dnp_watch_close(void)
{
	if (!watch.n)
		return;
	dnp_watch_threads_close();
	keep_ours();
	atomic_store(&watch.call_fd, 0);
	if (watch.fds[0].fd >= 0)
		close(watch.fds[0].fd);
	watch.n = 0;
}

/* The place of one that was added, or, for -1, a free one; 0: there is none. */
static unsigned find(int fd)
{
	for (unsigned i = 1; watch.n && i < FIRST_RING; i++)
		if (watch.added[i] == fd)
			return i;
	return 0;
}

static int replace(int from, int to)
{
	unsigned i = find(from);

	if (!i)
		return -E2BIG;
	put(i, to);
	return 0;
}

int dnp_watch_add(int fd)
{
	return replace(-1, fd);
}

void dnp_watch_remove(int fd)
{
	replace(fd, -1);
	if (watch.resting == fd)
		watch.resting = -1;
}

void dnp_watch_rest(int fd, uint64_t until_ns)
{
	unsigned i = find(fd);

	if (!i)
		return;
	watch.fds[i].events = 0;
	watch.resting = fd;
	watch.rests_ns = until_ns;
}

bool dnp_watch_has_lost(int fd)
{
	unsigned i = find(fd);

	return i && !dnp_file_is(fd, watch.ids[i]);
}

SIGSAFE void dnp_watch_call(void)
{
	static const uint64_t one = 1;
	int fd = atomic_load_explicit(&watch.call_fd, memory_order_acquire) - 1;

	/* Release: what the caller did before is seen by the one that wakes up. */
	if (fd >= 0 && !atomic_exchange_explicit(&watch.called, 1, memory_order_release) &&
		dnp_file_is(fd, watch.ids[0]) && write(fd, &one, sizeof(one)) < 0)
		return; /* it is not asleep, or will be woken by time */
}

static void copy_out(const void *ring, uint64_t at, void *to, size_t n)
{
	const char *data = (const char *)ring + PAGE_BYTES;

	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = data[(at + i) % RING_BYTES];
}

/* Whether there was anything in it but that threads have ended. */
static bool read_ring(struct perf_event_mmap_page *ring, dnp_watch_begun begun)
{
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->data_tail;
	bool any = false;

	while (tail + sizeof(struct perf_event_header) <= head) {
		struct dnp_fork_record record;

		copy_out(ring, tail, &record.header, sizeof(record.header));
		if (record.header.size < sizeof(record.header) || tail + record.header.size > head)
			break;
		any |= record.header.type != PERF_RECORD_EXIT;
		if (record.header.type == PERF_RECORD_FORK &&
			record.header.size >= sizeof(record)) {
			copy_out(ring, tail, &record, sizeof(record));
			if ((int)record.pid == getpid())
				begun((int)record.tid, record.time);
		}
		tail += record.header.size;
	}
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
	return any;
}

/* When the wait ends at the latest. The one that rests is looked at again when its time is over. */
static uint64_t end_rest(uint64_t deadline_ns)
{
	unsigned i = watch.resting >= 0 ? find(watch.resting) : 0;

	if (!i)
		return deadline_ns;
	if (dnp_now_ns() < watch.rests_ns)
		return deadline_ns < watch.rests_ns ? deadline_ns : watch.rests_ns;
	watch.fds[i].events = POLLIN;
	watch.resting = -1;
	return deadline_ns;
}

/* How long to sleep; not at all where the time has come. */
static struct timespec patience(uint64_t deadline_ns)
{
	uint64_t now = dnp_now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;

	if ((!watch.n || watch.fds[0].fd < 0) && left > UNCALLED_NS)
		left = UNCALLED_NS;
	return (struct timespec){
		(time_t)(left / UINT64_C(1000000000)), (long)(left % UINT64_C(1000000000))};
}

/* The program has closed them: each would end every wait from now on. */
static void forget_closed(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (watch.fds[i].revents & POLLNVAL)
			lose(i);
}

/* What those say that are not of rings. */
static unsigned look_at_firsts(void)
{
	unsigned news = 0;
	uint64_t drained;

	if (watch.fds[0].revents) {
		news |= DNP_WATCH_CALLED;
		if (read(watch.fds[0].fd, &drained, sizeof(drained)) > 0)
			atomic_exchange_explicit(&watch.called, 0, memory_order_acquire);
	}
	for (unsigned i = 1; i < FIRST_RING; i++)
		if (watch.fds[i].revents)
			news |= DNP_WATCH_READABLE;
	return news;
}

unsigned dnp_watch_wait(uint64_t deadline_ns, dnp_watch_begun begun)
{
	/* Where it is not open there is nothing but time. */
	unsigned firsts = watch.n ? FIRST_RING : 0, n = begun ? watch.n : firsts, news;
	unsigned looked_at = watch.at_once ? n : firsts;
	struct timespec left;

	if (watch.n)
		keep_ours();
	left = patience(end_rest(deadline_ns));
	if (ppoll(watch.fds, looked_at, &left, NULL) < 0 || !watch.n)
		return 0;
	forget_closed(looked_at);
	news = look_at_firsts();
	for (unsigned i = FIRST_RING; i < n; i++)
		if (read_ring(watch.rings[i], begun))
			news |= DNP_WATCH_CALLED;
	return news;
}
