/* SPDX-License-Identifier: MIT */
/*
 * perf events that only tell of switches (DNP_PERF_TELLS). Source: perf_event_open(2).
 *
 * An event of a thread is inherited by all threads that it makes. One that is inherited cannot have
 * a ring without being bound to a processor, so each thread has one for each processor, and all of
 * a processor share its ring. A thread that began while the others were being opened may have two:
 * by inheritance and by itself. It tells everything twice then, and so do all that come of it; the
 * event's id says from which thread a record comes by inheritance, its source, and of each thread
 * only the source that told of it first is believed. That is by processor: one that began while the
 * events of its parent were being opened has inherited some of them.
 */
#include "os/switches.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/vec.h"
#include "os/clock.h"
#include "os/linux/bell.h"
#include "os/linux/perf.h"
#include "os/linux/switch_ring.h"
#include "os/tasks.h"

#define MS        UINT64_C(1000000)
#define RING_DATA ((size_t)256 * 1024)
#define REUSE_NS  (100 * MS) /* within it no id of a thread comes again */
#define LATE_NS   MS         /* until when a processor has told everything */
#define SCANS_MAX 1000
#define TOLD_MORE 1024 /* threads that begin until those that have ended are sought */

struct event {
	int fd; /* owned */
	unsigned ring;
};

/* What is known of a thread that several sources may tell of. */
struct told {
	int tid;
	uint32_t life;             /* how many threads had its id before */
	uint64_t begin_ns, end_ns; /* 0: not told of */
};

/* Who is believed of it on one processor. */
struct voice {
	int tid;
	uint16_t cpu;
	uint32_t source;
	uint32_t life;
};

struct dnp_switches {
	struct dnp_switches_options options;
	bool several;     /* records have the id of their event */
	bool with_others; /* the kernel is too old to leave child processes out */
	bool running;
	uint64_t told_ns;              /* newest: up to when */
	struct dnp_switch_ring *rings; /* owned: one for each processor that is on */
	unsigned n_rings;
	struct dnp_vec_of(struct event) events;
	struct pollfd *fds;      /* owned: the bell, and for each ring one of its events */
	struct dnp_map attached; /* tid → its source */
	struct dnp_map sources;  /* id of an event → source */
	struct dnp_map known;    /* tid → index of told */
	struct dnp_vec_of(struct told) told;
	size_t told_most;     /* so many of them, and those that have ended are sought */
	struct dnp_map heard; /* tid and processor → index of voices */
	struct dnp_vec_of(struct voice) voices;
};

/* ---- Events */

static int open_event(struct dnp_switches *switches, int tid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = DNP_PERF_TELLS,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			(switches->several ? PERF_SAMPLE_IDENTIFIER : 0),
		.sample_id_all = 1,
		.disabled = 1,
		.inherit = !switches->options.all,
		.inherit_thread = !switches->options.all && !switches->with_others,
		.context_switch = 1,
		.task = 1,
		.comm = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.write_backward = switches->options.newest,
	};
	int fd = dnp_perf_open(&attr, tid, cpu);

	if (fd == -EINVAL && attr.inherit_thread) {
		switches->with_others = true;
		return open_event(switches, tid, cpu);
	}
	return fd;
}

/* Remembers the event, and where its records come from. */
static int add_event(struct dnp_switches *switches, int fd, unsigned ring, uint32_t source)
{
	uint64_t id;

	if (dnp_vec_push(&switches->events, (struct event){fd, ring})) {
		close(fd);
		return -ENOMEM;
	}
	if (!switches->several)
		return 0;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
		return -errno;
	return dnp_map_set(&switches->sources, id, source);
}

/* Opens the events of one thread (-1: of all), and makes them write into the rings. */
static int attach(struct dnp_switches *switches, int tid)
{
	uint32_t source = (uint32_t)switches->attached.n;
	int failed = dnp_map_set(&switches->attached, (uint64_t)tid, source);

	for (unsigned i = 0; !failed && i < switches->n_rings; i++) {
		int fd = open_event(switches, tid, switches->rings[i].cpu);

		if (fd < 0)
			return fd;
		failed = add_event(switches, fd, i, source);
		if (!failed && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, switches->rings[i].fd))
			failed = -errno;
	}
	return failed;
}

/* ---- The first thread's, whose events own the rings */

static void unmap_rings(struct dnp_switches *switches)
{
	for (unsigned i = 0; i < switches->n_rings; i++)
		dnp_switch_ring_done(&switches->rings[i]);
}

static int map_rings(struct dnp_switches *switches, size_t bytes)
{
	for (unsigned i = 0; i < switches->n_rings; i++) {
		int failed = dnp_switch_ring_init(
			&switches->rings[i], bytes, switches->options.newest, switches->several);

		if (failed) {
			unmap_rings(switches);
			return failed;
		}
	}
	switches->options.ring_bytes = bytes;
	return 0;
}

/* As large as wanted, or as the system allows: it books them to the user, all of his together. */
static int map_largest_rings(struct dnp_switches *switches, struct dnp_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = page;
	int failed = -ENOMEM;

	while (bytes < switches->options.ring_bytes)
		bytes *= 2;
	for (; failed && bytes >= page; bytes /= 2) {
		failed = map_rings(switches, bytes);
		if (failed && failed != -EPERM && failed != -ENOMEM)
			break;
	}
	if (failed)
		return dnp_err(err, -ENOMEM,
			"the kernel gives no memory for records of switches: %s; raise `ulimit -l` "
			"or kernel.perf_event_mlock_kb, or end the user's other recordings",
			strerror(-failed));
	return 0;
}

static int open_on_cpus(struct dnp_switches *switches, int tid)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd = open_event(switches, tid, cpu), failed;

		if (fd == -ENODEV) /* the processor is switched off */
			continue;
		if (fd < 0)
			return fd;
		switches->rings[switches->n_rings].fd = fd;
		switches->rings[switches->n_rings].cpu = (uint16_t)cpu;
		failed = add_event(switches, fd, switches->n_rings++, 0);
		if (failed)
			return failed;
	}
	return switches->n_rings ? 0 : -ENODEV;
}

/* The first one that is not about to end: 1, it is open. */
static int open_first(int tid, void *context)
{
	struct dnp_switches *switches = context;
	int failed = open_on_cpus(switches, tid);

	if (failed == -ESRCH) {
		for (size_t i = 0; i < switches->events.n; i++)
			dnp_perf_close(switches->events.p[i].fd);
		switches->events.n = 0;
		switches->n_rings = 0;
		return 0;
	}
	if (!failed)
		failed = dnp_map_set(&switches->attached, (uint64_t)tid, 0);
	return failed ? failed : 1;
}

static int open_first_of(struct dnp_switches *switches)
{
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	int result;

	switches->rings = calloc(cpus, sizeof(*switches->rings));
	switches->fds = calloc(cpus + 1, sizeof(*switches->fds));
	if (!switches->rings || !switches->fds)
		return -ENOMEM;
	if (switches->options.all)
		result = open_first(-1, switches);
	else
		do
			result = dnp_tasks_each(switches->options.pid, open_first, switches);
		while (result == -EAGAIN);
	return result == 1 ? 0 : result ? result : -ESRCH;
}

/* ---- All threads of a process */

struct scan {
	struct dnp_switches *switches;
	bool fresh; /* a thread was found that was not there before */
};

static int attach_new(int tid, void *context)
{
	struct scan *scan = context;
	int failed;

	if (dnp_map_get(&scan->switches->attached, (uint64_t)tid) != DNP_NONE)
		return 0;
	failed = attach(scan->switches, tid);
	scan->fresh |= !failed;
	return failed == -ESRCH ? 0 : failed; /* that one has ended meanwhile */
}

/*
 * Until a whole list has nothing new: then all that were there when it was made had been attached
 * before, and what they make since then is inherited.
 */
static int attach_all(struct dnp_switches *switches)
{
	for (int scans = 0; scans < SCANS_MAX; scans++) {
		struct scan scan = {switches, false};
		int result = dnp_tasks_each(switches->options.pid, attach_new, &scan);

		if (result && result != -EAGAIN)
			return result;
		if (!result && !scan.fresh)
			return 0;
	}
	return -EAGAIN;
}

/* ---- Open and close */

static int count_one(int tid, void *context)
{
	(void)tid;
	++*(unsigned *)context;
	return 0;
}

/* Nobody but the caller could make a thread while it is being attached. */
static bool is_alone(int pid)
{
	unsigned threads = 0;

	return pid == getpid() && !dnp_tasks_each(pid, count_one, &threads) && threads == 1;
}

static int explain(int failed, const struct dnp_switches_options *options, struct dnp_err *err)
{
	switch (failed) {
	case -EACCES:
		if (options->all)
			return dnp_err(err, failed,
				"perf events of all processes are not allowed; that needs "
				"CAP_PERFMON or kernel.perf_event_paranoid=0");
		return dnp_err(err, failed,
			"perf events of process %d are not allowed; they need the process's own "
			"user and kernel.perf_event_paranoid of at most 2, or CAP_PERFMON",
			options->pid);
	case -EXDEV:
		return dnp_err(err, failed,
			"process ids are this container's own, and of who runs outside of it the "
			"kernel tells none here; record outside of it");
	case -EPERM:
	case -ENOSYS:
		return dnp_err(err, failed,
			"perf events are forbidden here, most likely by the filter of a container "
			"(%s); allow the system call perf_event_open",
			strerror(-failed));
	case -EMFILE:
	case -ENFILE:
		return dnp_err(err, failed,
			"process %d has more threads than there may be open files; raise `ulimit "
			"-n` to the number of its threads times that of processors",
			options->pid);
	case -ESRCH: return dnp_err(err, failed, "there is no process %d", options->pid);
	default:
		return dnp_err(err, failed, "cannot watch the threads of process %d: %s",
			options->pid, strerror(-failed));
	}
}

int dnp_switches_open(
	struct dnp_switches **out, const struct dnp_switches_options *options, struct dnp_err *err)
{
	struct dnp_switches *switches = calloc(1, sizeof(*switches));
	int failed;

	if (!switches)
		return dnp_err(err, -ENOMEM, "%s", strerror(ENOMEM));
	switches->options = *options;
	if (!switches->options.ring_bytes)
		switches->options.ring_bytes = RING_DATA;
	switches->several = !options->all && !is_alone(options->pid);
	failed = options->all && !dnp_perf_has_system_ids() ? -EXDEV : open_first_of(switches);
	if (failed) {
		explain(failed, options, err);
	} else {
		failed = map_largest_rings(switches, err);
		if (!failed && switches->several) {
			failed = attach_all(switches);
			if (failed)
				explain(failed, options, err);
		}
	}
	if (failed) {
		dnp_switches_close(switches);
		return failed;
	}
	*out = switches;
	return 0;
}

void dnp_switches_close(struct dnp_switches *switches)
{
	if (!switches)
		return;
	unmap_rings(switches);
	for (size_t i = 0; i < switches->events.n; i++)
		dnp_perf_close(switches->events.p[i].fd);
	dnp_vec_done(&switches->events);
	dnp_vec_done(&switches->told);
	dnp_map_done(&switches->attached);
	dnp_map_done(&switches->sources);
	dnp_map_done(&switches->known);
	dnp_map_done(&switches->heard);
	dnp_vec_done(&switches->voices);
	free(switches->rings);
	free(switches->fds);
	free(switches);
}

static void tell_all(struct dnp_switches *switches, unsigned long request)
{
	for (size_t i = 0; i < switches->events.n; i++)
		ioctl(switches->events.p[i].fd, request, 0);
}

/* When something is missing: threads may have ended and begun, with ids that we know. */
static void forget_voices(struct dnp_switches *switches)
{
	dnp_map_done(&switches->known);
	dnp_map_done(&switches->heard);
	switches->told.n = switches->voices.n = 0;
	switches->told_most = TOLD_MORE;
}

static uint64_t place_of(int tid, uint16_t cpu)
{
	return (uint64_t)tid << 16 | cpu;
}

/* Leaves those of which something may come still. 0 or -ENOMEM, as the next. */
static int keep_told(struct dnp_switches *switches, uint64_t now_ns)
{
	size_t n = switches->told.n;
	int failed = 0;

	dnp_map_done(&switches->known);
	switches->told.n = 0;
	for (size_t i = 0; i < n && !failed; i++) {
		struct told told = switches->told.p[i];

		if (told.end_ns && told.end_ns + REUSE_NS < now_ns)
			continue;
		failed = dnp_map_set(
			&switches->known, (uint64_t)told.tid, (uint32_t)switches->told.n);
		switches->told.p[switches->told.n++] = told;
	}
	return failed;
}

/* Those of the threads that are left. */
static int keep_voices(struct dnp_switches *switches)
{
	size_t n = switches->voices.n;
	int failed = 0;

	dnp_map_done(&switches->heard);
	switches->voices.n = 0;
	for (size_t i = 0; i < n && !failed; i++) {
		struct voice voice = switches->voices.p[i];

		if (dnp_map_get(&switches->known, (uint64_t)voice.tid) == DNP_NONE)
			continue;
		failed = dnp_map_set(&switches->heard, place_of(voice.tid, voice.cpu),
			(uint32_t)switches->voices.n);
		switches->voices.p[switches->voices.n++] = voice;
	}
	return failed;
}

/*
 * Of a thread that has ended long ago nobody tells any more, and its id may be another's. So memory
 * is for the threads that there are at once, however many come and go.
 */
static void forget_ended(struct dnp_switches *switches, uint64_t now_ns)
{
	if (keep_told(switches, now_ns) || keep_voices(switches))
		forget_voices(switches);
	switches->told_most = 2 * switches->told.n + TOLD_MORE;
}

void dnp_switches_start(struct dnp_switches *switches)
{
	forget_voices(switches);
	for (unsigned i = 0; i < switches->n_rings; i++)
		switches->fds[i + 1] = (struct pollfd){switches->rings[i].fd, POLLIN, 0};
	switches->running = true;
	switches->told_ns = dnp_now_ns();
	tell_all(switches, PERF_EVENT_IOC_ENABLE);
}

void dnp_switches_stop(struct dnp_switches *switches)
{
	tell_all(switches, PERF_EVENT_IOC_DISABLE);
	switches->running = false;
}

size_t dnp_switches_ring_bytes(const struct dnp_switches *switches)
{
	return switches->options.ring_bytes;
}

/* ---- Waiting */

/*
 * An event whose threads have all ended ends every wait at once, as may what the program has in the
 * place of one that it has closed; another one of the same ring waits as well. -1: there is none,
 * so time has to do.
 */
static int living_event(const struct dnp_switches *switches, unsigned ring)
{
	for (size_t i = 0; i < switches->events.n; i++) {
		const struct event *event = &switches->events.p[i];
		struct pollfd fd = {.fd = event->fd};

		if (event->ring == ring && dnp_perf_is_there(event->fd) && poll(&fd, 1, 0) <= 0)
			return event->fd;
	}
	return -1;
}

static void keep_ours(struct dnp_switches *switches)
{
	for (unsigned i = 0; i < switches->n_rings; i++) {
		struct pollfd *polled = &switches->fds[i + 1];

		if (polled->fd >= 0 && !dnp_perf_is_there(polled->fd))
			polled->fd = living_event(switches, i);
	}
}

void dnp_switches_wait(struct dnp_switches *switches, int bell, uint64_t deadline_ns)
{
	uint64_t now = dnp_now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
	struct timespec patience = {
		(time_t)(left / UINT64_C(1000000000)), (long)(left % UINT64_C(1000000000))};

	switches->fds[0] = (struct pollfd){dnp_bell_polled(bell), POLLIN, 0};
	keep_ours(switches);
	if (ppoll(switches->fds, switches->n_rings + 1, &patience, NULL) <= 0)
		return;
	for (unsigned i = 0; i < switches->n_rings; i++)
		if (switches->fds[i + 1].revents & (POLLHUP | POLLERR))
			switches->fds[i + 1].fd = living_event(switches, i);
}

/* ---- Reading */

/* Begins and ends come once from each source, at the same time. */
static bool is_news(struct told *told, const struct dnp_switch *it)
{
	if (it->kind == DNP_SWITCH_END) {
		bool news = !told->end_ns;

		told->end_ns = it->time_ns;
		return news;
	}
	if (it->kind != DNP_SWITCH_BEGIN)
		return true;
	if (!told->end_ns && told->begin_ns && it->time_ns < told->begin_ns + REUSE_NS)
		return false;
	*told = (struct told){.tid = it->tid, .life = told->life + 1, .begin_ns = it->time_ns};
	return true;
}

/* Whether a switch comes from the source that was the first to tell of the thread there. */
static bool is_first(struct dnp_switches *switches, const struct told *told,
	const struct dnp_switch *it, uint64_t id)
{
	uint64_t place = place_of(it->tid, it->cpu);
	uint32_t source = dnp_map_get(&switches->sources, id);
	uint32_t index = dnp_map_get(&switches->heard, place);
	struct voice first = {it->tid, it->cpu, source, told->life};

	if (index == DNP_NONE) {
		index = (uint32_t)switches->voices.n;
		if (dnp_vec_push(&switches->voices, first))
			return false;
		return !dnp_map_set(&switches->heard, place, index);
	}
	if (switches->voices.p[index].life != told->life)
		switches->voices.p[index] = first;
	return switches->voices.p[index].source == source;
}

static bool is_believed(struct dnp_switches *switches, const struct dnp_switch *it, uint64_t id)
{
	uint32_t index = dnp_map_get(&switches->known, (uint64_t)it->tid);

	if (index == DNP_NONE) {
		if (switches->told.n >= switches->told_most)
			forget_ended(switches, it->time_ns);
		index = (uint32_t)switches->told.n;
		if (dnp_vec_push(&switches->told, (struct told){.tid = it->tid}) ||
			dnp_map_set(&switches->known, (uint64_t)it->tid, index))
			return false;
	}
	if (!is_news(&switches->told.p[index], it))
		return false;
	return it->kind > DNP_SWITCH_PREEMPTED ||
		is_first(switches, &switches->told.p[index], it, id);
}

static void pass_on(struct dnp_switches *switches, const struct dnp_switch_record *record,
	dnp_switch_visit *visit, void *context)
{
	const struct dnp_switch *it = &record->it;

	if (it->kind == DNP_SWITCH_LOST)
		forget_voices(switches);
	else if (!switches->options.all && it->pid != switches->options.pid)
		return;
	else if (switches->several && !is_believed(switches, it, record->id))
		return;
	visit(it, context);
}

static struct dnp_switch_ring *oldest(struct dnp_switches *switches)
{
	struct dnp_switch_ring *first = NULL;

	for (unsigned i = 0; i < switches->n_rings; i++) {
		struct dnp_switch_ring *ring = &switches->rings[i];

		if (dnp_switch_ring_peek(ring) &&
			(!first || ring->next.it.time_ns < first->next.it.time_ns))
			first = ring;
	}
	return first;
}

/* Takes over where the rings end now. Returns since when nothing in them is missing. */
static uint64_t look_at_rings(struct dnp_switches *switches)
{
	uint64_t whole_ns = 0;

	for (unsigned i = 0; i < switches->n_rings; i++)
		dnp_switch_ring_pause(&switches->rings[i], true);
	for (unsigned i = 0; i < switches->n_rings; i++) {
		uint64_t since_ns = dnp_switch_ring_begin(&switches->rings[i]);

		whole_ns = since_ns > whole_ns ? since_ns : whole_ns;
	}
	for (unsigned i = 0; i < switches->n_rings; i++)
		dnp_switch_ring_pause(&switches->rings[i], false);
	return whole_ns;
}

/* The kernel tells of a loss with the record that fits again; here none comes any more. */
static void tell_last_losses(
	struct dnp_switches *switches, uint64_t now_ns, dnp_switch_visit *visit, void *context)
{
	for (unsigned i = 0; i < switches->n_rings; i++) {
		struct dnp_switch_ring *ring = &switches->rings[i];
		struct dnp_switch lost = {.kind = DNP_SWITCH_LOST,
			.time_ns = now_ns,
			.since_ns = ring->last_ns,
			.count = 1,
			.cpu = ring->cpu};

		if (ring->full)
			visit(&lost, context);
		ring->full = false;
	}
}

uint64_t dnp_switches_read(struct dnp_switches *switches, dnp_switch_visit *visit, void *context)
{
	uint64_t until_ns = dnp_now_ns() - (switches->running ? LATE_NS : 0);
	uint64_t told_ns = switches->told_ns;
	struct dnp_switch gap = {.kind = DNP_SWITCH_GAP};
	struct dnp_switch_ring *ring;

	gap.time_ns = look_at_rings(switches);
	if (gap.time_ns > told_ns) {
		forget_voices(switches);
		visit(&gap, context);
		told_ns = gap.time_ns;
	}
	while ((ring = oldest(switches)) && ring->next.it.time_ns <= until_ns) {
		if (!switches->options.newest || ring->next.it.time_ns > told_ns)
			pass_on(switches, &ring->next, visit, context);
		ring->have = false;
	}
	for (unsigned i = 0; i < switches->n_rings; i++)
		dnp_switch_ring_end(&switches->rings[i]);
	if (!switches->running)
		tell_last_losses(switches, until_ns, visit, context);
	switches->told_ns = until_ns;
	return until_ns;
}
