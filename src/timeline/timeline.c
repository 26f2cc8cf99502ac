/* SPDX-License-Identifier: MIT */
#include "timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "os/bell.h"
#include "os/clock.h"
#include "os/process.h"

#define MIB       (UINT64_C(1) << 20)
#define SECOND_NS UINT64_C(1000000000)

SIGSAFE uint64_t dnprof_timeline_now(void)
{
	return dnp_now_ns();
}

/* ---- Open */

static int out_of_range(struct dnp_err *err, const char *option)
{
	return dnp_err(err, -EINVAL, "cannot open a time line: %s is out of range", option);
}

static int read_options(struct dnprof_timeline_options *options,
	const struct dnprof_timeline_options *given, struct dnp_err *err)
{
	memset(options, 0, sizeof(*options));
	if (given && given->struct_size < sizeof(given->struct_size))
		return out_of_range(err, "struct_size");
	if (given)
		memcpy(options, given,
			given->struct_size < sizeof(*options) ? given->struct_size
							      : sizeof(*options));
	if (!options->pid)
		options->pid = dnp_process_id();
	if (!options->ring_bytes)
		options->ring_bytes = 256 * 1024;
	if (!options->interval_us)
		options->interval_us = 1000;
	if (!options->memory_bytes)
		options->memory_bytes = 64 * MIB;
	if (options->pid < 0)
		return out_of_range(err, "pid");
	if (options->mode > DNPROF_TIMELINE_RING)
		return out_of_range(err, "mode");
	if (options->backend > DNPROF_TIMELINE_POLL)
		return out_of_range(err, "backend");
	if (options->others > 1)
		return out_of_range(err, "others");
	if (options->ring_bytes < 4096 || options->ring_bytes > 64 * MIB)
		return out_of_range(err, "ring_bytes");
	if (options->interval_us < 100 || options->interval_us > 1000000)
		return out_of_range(err, "interval_us");
	if (options->memory_bytes < MIB)
		return out_of_range(err, "memory_bytes");
	return 0;
}

static int check_process(dnprof_timeline *timeline, struct dnp_err *err)
{
	int pid = timeline->options.pid, failed;

	timeline->store.pid = pid;
	failed = dnp_tasks_allowed(pid, err);
	if (failed)
		return failed;
	timeline->process_ticks = dnp_process_start_ticks(pid);
	if (!timeline->process_ticks)
		return dnp_err(err, -ESRCH, "there is no process %d", pid);
	if (!dnp_process_is_alive(pid))
		return dnp_err(err, -ESRCH, "process %d has ended", pid);
	return 0;
}

static int open_switches(dnprof_timeline *timeline, bool all, struct dnp_err *err)
{
	struct dnp_switches_options options = {
		.pid = timeline->options.pid,
		.all = all,
		.newest = timeline->options.mode == DNPROF_TIMELINE_RING,
		.ring_bytes = timeline->options.ring_bytes,
	};
	int failed = dnp_switches_open(&timeline->switches, &options, err);

	if (!failed)
		timeline->backend = all ? DNPROF_TIMELINE_CPUS : DNPROF_TIMELINE_SWITCHES;
	return failed;
}

#define EVERY_SWITCH "the kernel tells of every switch of the process's threads"

static void give_reason(dnprof_timeline *timeline, const char *what, const char *why)
{
	snprintf(timeline->reason, sizeof(timeline->reason), "%s%s%s", what, why ? ": " : "",
		why ? why : "");
}

static int choose_switches(
	dnprof_timeline *timeline, const struct dnp_err *others, struct dnp_err *err)
{
	int failed = open_switches(timeline, false, err);

	if (!failed && others->code)
		give_reason(timeline, EVERY_SWITCH "; those of others are not told", others->text);
	else if (!failed)
		give_reason(timeline, EVERY_SWITCH, NULL);
	return failed;
}

static int choose_cpus(dnprof_timeline *timeline, struct dnp_err *err)
{
	int failed = open_switches(timeline, true, err);

	if (!failed)
		give_reason(timeline, "the kernel tells of every switch of the machine", NULL);
	return failed;
}

static int choose_poll(dnprof_timeline *timeline, const char *why)
{
	uint64_t step_ns = dnp_task_step_ns();
	char steps[48] = "";

	timeline->backend = DNPROF_TIMELINE_POLL;
	if (step_ns)
		snprintf(steps, sizeof(steps), ", which go by steps of %.1f ms",
			(double)step_ns / 1e6);
	snprintf(timeline->reason, sizeof(timeline->reason),
		"sampled, by looks at the threads' clocks%s: %s", steps, why);
	return 0;
}

/* Each backend fails for a reason, which is why the next one is used. */
static int choose_best(dnprof_timeline *timeline, struct dnp_err *err)
{
	struct dnp_err others = {0}, own = {0};

	if (timeline->options.others && !choose_cpus(timeline, &others))
		return 0;
	switch (choose_switches(timeline, &others, &own)) {
	case 0: return 0;
	case -ESRCH: return dnp_err(err, -ESRCH, "%s", own.text);
	default: return choose_poll(timeline, own.text);
	}
}

static int choose(dnprof_timeline *timeline, struct dnp_err *err)
{
	static const struct dnp_err nothing;

	switch (timeline->options.backend) {
	case DNPROF_TIMELINE_CPUS: return choose_cpus(timeline, err);
	case DNPROF_TIMELINE_SWITCHES: return choose_switches(timeline, &nothing, err);
	case DNPROF_TIMELINE_POLL: return choose_poll(timeline, "that was asked for");
	default: return choose_best(timeline, err);
	}
}

static void give_error(struct dnprof_timeline_error *to, const struct dnp_err *err, int code)
{
	struct dnprof_timeline_error error = {.code = code};

	if (!to || !code)
		return;
	snprintf(error.text, sizeof(error.text), "%.499s", err->text);
	dnp_tl_give(to, &error, sizeof(error));
}

static int open_new(
	dnprof_timeline *timeline, const struct dnprof_timeline_options *given, struct dnp_err *err)
{
	int failed = read_options(&timeline->options, given, err);

	if (!failed)
		failed = check_process(timeline, err);
	if (failed)
		return failed;
	timeline->bell = dnp_bell_open();
	if (timeline->bell < 0)
		return dnp_err(err, timeline->bell, "cannot open a time line: %s",
			strerror(-timeline->bell));
	timeline->store.bytes_max = timeline->options.memory_bytes;
	timeline->interval_ns = timeline->options.interval_us * UINT64_C(1000);
	return choose(timeline, err);
}

int dnprof_timeline_open(const struct dnprof_timeline_options *options, dnprof_timeline **out,
	struct dnprof_timeline_error *error)
{
	struct dnp_err err = {0};
	dnprof_timeline *timeline;
	int failed;

	if (!out)
		return -EINVAL;
	*out = NULL;
	timeline = calloc(1, sizeof(*timeline));
	if (!timeline) {
		failed = dnp_err(&err, -ENOMEM, "%s", strerror(ENOMEM));
	} else {
		pthread_mutex_init(&timeline->lock, NULL);
		timeline->bell = -1;
		failed = open_new(timeline, options, &err);
	}
	if (failed)
		dnprof_timeline_close(timeline);
	else
		*out = timeline;
	give_error(error, &err, failed);
	return failed;
}

void dnprof_timeline_close(dnprof_timeline *timeline)
{
	if (!timeline)
		return;
	dnprof_timeline_stop(timeline, NULL);
	dnp_switches_close(timeline->switches);
	dnp_tl_store_done(&timeline->store);
	if (timeline->bell >= 0)
		dnp_bell_close(timeline->bell);
	dnp_tasks_let_go();
	pthread_mutex_destroy(&timeline->lock);
	free(timeline);
}

/* ---- Start and stop */

static void take_picture(dnprof_timeline *timeline)
{
	dnp_tl_take_in(timeline);
	timeline->has_picture = true;
	timeline->until_ns = timeline->told_ns;
	timeline->from_ns = timeline->store.from_ns;
	if (timeline->from_ns > timeline->until_ns)
		timeline->from_ns = timeline->until_ns;
}

/* The library's own thread, where there is something to do between pictures. */
static int start_thread(dnprof_timeline *timeline)
{
	struct dnp_tl_store *store = &timeline->store;
	struct dnp_tl_thread *thread;
	int failed;

	if (timeline->switches && timeline->options.mode == DNPROF_TIMELINE_RING)
		return 0;
	atomic_store(&timeline->end, false);
	failed = dnp_own_thread_start(&timeline->recorder,
		timeline->switches ? dnp_tl_run_recorder : dnp_tl_run_poller, timeline);
	if (failed)
		return failed;
	dnp_task_set_name(timeline->recorder.tid, DNP_TL_THREAD_NAME);
	if (store->pid != dnp_process_id())
		return 0;
	/* Before it is told: it has its name from the start. */
	thread = dnp_tl_store_add(store, store->pid, timeline->recorder.tid, dnp_now_ns());
	if (thread) {
		thread->seen_ns = dnp_now_ns();
		thread->own = thread->named = true;
		snprintf(thread->name, sizeof(thread->name), "%s", DNP_TL_THREAD_NAME);
	}
	return 0;
}

static void stop_thread(dnprof_timeline *timeline)
{
	atomic_store(&timeline->end, true);
	dnp_bell_ring(timeline->bell);
	dnp_own_thread_join(&timeline->recorder);
	dnp_bell_take(timeline->bell);
}

/* A name that was given is the thread's for as long as it lives. */
static void keep_name(struct dnp_tl_store *store, const struct dnp_tl_thread *before)
{
	struct dnp_tl_thread *thread;

	if (!before->named || before->own || before->state == DNP_TL_ENDED ||
		dnp_task_start_ticks(before->pid, before->tid) != before->named_ticks)
		return;
	thread = dnp_tl_store_add(store, before->pid, before->tid, dnp_now_ns());
	if (!thread)
		return; /* the store says so */
	thread->named = true;
	thread->named_ticks = before->named_ticks;
	memcpy(thread->name, before->name, sizeof(thread->name));
}

static void forget_all(dnprof_timeline *timeline)
{
	struct dnp_tl_store *store = &timeline->store, before = *store;

	*store = (struct dnp_tl_store){.pid = before.pid, .bytes_max = before.bytes_max};
	for (size_t i = 0; i < before.threads.n; i++)
		keep_name(store, before.threads.p[i]);
	dnp_tl_store_done(&before);
	timeline->has_picture = false;
	timeline->ended_ns = 0;
	timeline->notes.read = atomic_load(&timeline->notes.next);
	atomic_store(&timeline->notes.lost, 0);
}

/* Under the lock. */
static int change(dnprof_timeline *timeline,
	int (*how)(dnprof_timeline *timeline, struct dnp_err *err),
	struct dnprof_timeline_error *error)
{
	struct dnp_err err = {0};
	int failed;

	if (!timeline)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	failed = how(timeline, &err);
	pthread_mutex_unlock(&timeline->lock);
	give_error(error, &err, failed);
	return failed;
}

static int start(dnprof_timeline *timeline, struct dnp_err *err)
{
	int failed;

	if (timeline->phase == DNP_TL_STARTED || timeline->phase == DNP_TL_STOPPING)
		return dnp_err(err, -EALREADY, "the time line has been started already");
	failed = check_process(timeline, err);
	if (failed)
		return failed;
	forget_all(timeline);
	if (timeline->switches)
		dnp_switches_start(timeline->switches);
	timeline->store.from_ns = timeline->told_ns = dnp_now_ns();
	timeline->listed_ns = timeline->listed_before_ns = timeline->told_ns;
	timeline->start_cpu_ns = timeline->last_cpu_ns = dnp_process_cpu_ns(timeline->store.pid);
	dnp_tl_look_at_threads(timeline);
	atomic_store(&timeline->recording, true);
	failed = start_thread(timeline);
	if (failed) {
		atomic_store(&timeline->recording, false);
		if (timeline->switches)
			dnp_switches_stop(timeline->switches);
		return dnp_err(
			err, -EAGAIN, "cannot start the time line's thread: %s", strerror(-failed));
	}
	timeline->phase = DNP_TL_STARTED;
	return 0;
}

int dnprof_timeline_start(dnprof_timeline *timeline, struct dnprof_timeline_error *error)
{
	return change(timeline, start, error);
}

static int is_recording(const dnprof_timeline *timeline, struct dnp_err *err)
{
	switch (timeline->phase) {
	case DNP_TL_OPEN: return dnp_err(err, -ENODATA, "the time line has not been started");
	case DNP_TL_STOPPING:
	case DNP_TL_STOPPED: return dnp_err(err, -ENODATA, "the time line has been stopped");
	default: return 0;
	}
}

/* All that was recorded until now, and the clocks at this moment. */
static void finish(dnprof_timeline *timeline)
{
	/* Without switches each look tells what was since the one before: the last is
	 * take_picture's. */
	if (timeline->switches && !timeline->ended_ns)
		dnp_tl_look_at_threads(timeline);
	atomic_store(&timeline->recording, false);
	if (timeline->switches)
		dnp_switches_stop(timeline->switches);
	take_picture(timeline);
	timeline->clocks_until_ns = UINT64_MAX; /* no more will come */
	timeline->phase = DNP_TL_STOPPED;
}

static int stop(dnprof_timeline *timeline, struct dnp_err *err)
{
	int failed = is_recording(timeline, err);

	if (failed)
		return failed;
	timeline->phase = DNP_TL_STOPPING;
	pthread_mutex_unlock(&timeline->lock);
	stop_thread(timeline); /* it takes the lock */
	pthread_mutex_lock(&timeline->lock);
	finish(timeline);
	return 0;
}

int dnprof_timeline_stop(dnprof_timeline *timeline, struct dnprof_timeline_error *error)
{
	return change(timeline, stop, error);
}

/* ---- Snapshot */

static void count_switches(const dnprof_timeline *timeline, const struct dnp_tl_thread *thread,
	uint64_t since_ns, struct dnprof_picture *picture)
{
	uint32_t n = 0;

	for (size_t i = dnp_tl_slice_behind(thread, since_ns); i < thread->slices.n; i++)
		n += thread->slices.p[i].how <= DNPROF_SLICE_PREEMPTED &&
			thread->slices.p[i].end_ns <= timeline->until_ns;
	for (size_t i = thread->checkpoints.n; !timeline->switches && i-- > 1;) {
		const struct dnp_task_clock *clock = &thread->checkpoints.p[i];

		if (clock->time_ns <= since_ns)
			break;
		n += (uint32_t)(clock->runs - clock[-1].runs);
	}
	if (thread->pid == timeline->store.pid)
		picture->switches_per_s += n;
	picture->all_switches_per_s += n;
}

static void describe(const dnprof_timeline *timeline, struct dnprof_picture *picture)
{
	const struct dnp_tl_store *store = &timeline->store;
	uint64_t length_ns = timeline->until_ns - timeline->from_ns;

	if (length_ns > SECOND_NS)
		length_ns = SECOND_NS;
	picture->from_ns = timeline->from_ns;
	picture->until_ns = timeline->until_ns;
	picture->ended_ns = timeline->ended_ns;
	picture->lost = store->lost;
	picture->disordered = store->disordered;
	picture->lost_marks = atomic_load(&timeline->notes.lost);
	picture->cpu_ns = timeline->last_cpu_ns - timeline->start_cpu_ns;
	picture->threads = (uint32_t)store->threads.n;
	for (size_t i = 0; length_ns && i < store->threads.n; i++)
		count_switches(
			timeline, store->threads.p[i], timeline->until_ns - length_ns, picture);
	if (length_ns && length_ns < SECOND_NS) {
		double per_s = (double)SECOND_NS / (double)length_ns;

		picture->switches_per_s = (uint32_t)(picture->switches_per_s * per_s);
		picture->all_switches_per_s = (uint32_t)(picture->all_switches_per_s * per_s);
	}
	if (timeline->backend != DNPROF_TIMELINE_CPUS)
		picture->all_switches_per_s = 0;
}

int dnprof_timeline_snapshot(
	dnprof_timeline *timeline, struct dnprof_picture *out, struct dnprof_timeline_error *error)
{
	struct dnprof_picture picture = {0};
	struct dnp_err err = {0};
	int failed;

	if (!timeline)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	failed = is_recording(timeline, &err);
	if (!failed) {
		take_picture(timeline);
		if (timeline->switches && !timeline->ended_ns)
			dnp_tl_look_at_threads(timeline);
		timeline->clocks_until_ns = dnp_now_ns();
		describe(timeline, &picture);
		if (timeline->store.failed)
			failed = dnp_err(&err, -ENOMEM,
				"there is no memory for what the threads did; the picture lacks "
				"some "
				"of it");
		timeline->store.failed = 0;
	}
	pthread_mutex_unlock(&timeline->lock);
	if (out && (!failed || failed == -ENOMEM) && dnp_tl_give(out, &picture, sizeof(picture)))
		failed = dnp_err(&err, -EINVAL, "the picture's struct_size is not set");
	give_error(error, &err, failed);
	return failed;
}
