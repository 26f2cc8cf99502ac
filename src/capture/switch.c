/* SPDX-License-Identifier: MIT */
/*
 * When each thread had a processor: every switch, as the kernel tells it. The kernel is asked on
 * the thread that the runtime initialises on, and what comes of that is told of without being asked
 * for. Where it must not be asked, the threads' clocks are looked at.
 */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "capture/engine.h"
#include "capture/wait.h"
#include "os/clock.h"
#include "os/thread.h"
#include "switches/taker.h"

#define GONE_MAX 4096 /* threads that have gone, and of which switches may still come */
#define REUSE_NS UINT64_C(100000000) /* within it no id of a thread comes again */

#define STATS_EVERY 50 /* writes between two tellings of counters */

/* A thread whose record is used for others by now. */
struct gone {
	int tid;
	uint32_t index;
	uint64_t start_ns, end_ns;
	bool named; /* by the runtime, or as the system told in time */
};

/* The recorder's, but for start and stop, which do not overlap with it. */
static struct {
	const struct dnp_engine_setting *setting;
	struct dnp_taker taker;
	struct gone gone[GONE_MAX]; /* in a circle */
	size_t n_gone;
	unsigned writes;
	uint64_t since_ns; /* the recording's begin */
} switches;

/* ---- Which thread of the recording it is */

/* The kernel lists a thread a moment before it tells that it begins: it may have been met then. */
static bool was_then(uint64_t start_ns, uint64_t begin_ns, uint64_t end_ns)
{
	return start_ns + REUSE_NS >= begin_ns && (!end_ns || start_ns <= end_ns);
}

/* By a moment of its life. */
static bool find_gone(int tid, uint64_t begin_ns, uint64_t end_ns, uint64_t *index)
{
	size_t n = switches.n_gone < GONE_MAX ? switches.n_gone : GONE_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct gone *gone = &switches.gone[(switches.n_gone - 1 - i) % GONE_MAX];

		if (gone->tid == tid && was_then(gone->start_ns, begin_ns, end_ns)) {
			*index = gone->index;
			return true;
		}
	}
	return false;
}

static bool is_ours(int tid, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t since_ns = begin_ns > switches.since_ns ? begin_ns : switches.since_ns;

	return switches.setting->is_ours(tid) || dnp_thread_was_own(tid, since_ns, end_ns);
}

static bool known(int tid, uint64_t begin_ns, uint64_t end_ns, uint64_t *index)
{
	const struct dnp_engine_setting *setting = switches.setting;
	struct dnp_thread *thread;

	if (is_ours(tid, begin_ns, end_ns))
		return false;
	thread = dnp_thread_find(tid);
	if (!thread && !end_ns && dnp_thread_exists(tid))
		thread = setting->thread(tid, !begin_ns);
	if (!thread || !was_then(thread->start_ns, begin_ns, end_ns))
		return find_gone(tid, begin_ns, end_ns, index);
	setting->announce(thread);
	*index = thread->index;
	return true;
}

static void switch_thread_end(struct dnp_thread *thread)
{
	switches.gone[switches.n_gone++ % GONE_MAX] = (struct gone){
		.tid = thread->tid,
		.index = thread->index,
		.start_ns = thread->start_ns,
		.end_ns = dnp_now_ns(),
		.named = thread->last_name[0] || dnp_thread_given_name(thread),
	};
}

/* Its record, if that is still its own, is told of with its end; else the recording hears now. */
static void was_called(uint64_t index, int tid, const char *name, struct dnp_writer *writer)
{
	struct dnp_thread *thread = dnp_thread_find(tid);
	size_t n = switches.n_gone < GONE_MAX ? switches.n_gone : GONE_MAX;

	if (thread && thread->index == index) {
		snprintf(thread->last_name, sizeof(thread->last_name), "%s", name);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct gone *gone = &switches.gone[(switches.n_gone - 1 - i) % GONE_MAX];

		if (gone->index != index)
			continue;
		if (!gone->named)
			dnp_write_thread_name(writer,
				&(struct dnp_rec_thread_name){
					.thread = index, .name = dnp_str(name)});
		return;
	}
}

struct dnp_taker *dnp_switch_taker(void)
{
	return &switches.taker;
}

/* ---- The engine */

static int switch_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	int failed;

	(void)index;
	dnp_taker_close(&switches.taker); /* of a recording that was never begun */
	switches.setting = setting;
	switches.n_gone = 0;
	switches.since_ns = dnp_now_ns();
	failed = dnp_taker_open(&switches.taker, 0, false, err);
	if (failed)
		return failed;
	switches.taker.known = known;
	switches.taker.was_called = was_called;
	switches.taker.is_ours = is_ours;
	failed = dnp_taker_start(&switches.taker, err);
	if (failed)
		dnp_taker_close(&switches.taker);
	return failed;
}

static void switch_write(struct dnp_writer *writer, int last)
{
	if (!switches.taker.timeline)
		return;
	dnp_taker_hold(&switches.taker);
	dnp_wait_write(writer, last);
	dnp_taker_write(&switches.taker, writer, last);
	if (last || switches.writes++ % STATS_EVERY == 0)
		dnp_wait_write_stats(writer);
	if (!last)
		return;
	dnp_wait_close();
	dnp_taker_close(&switches.taker);
}

static void switch_hurry(void)
{
	dnp_taker_hurry(&switches.taker);
	switches.writes = 0;
}

static void switch_stop(void)
{
	dnp_taker_stop(&switches.taker);
}

static const char *switch_source(void)
{
	return dnp_taker_source(&switches.taker);
}

static const char *switch_note(void)
{
	return dnp_taker_reason(&switches.taker);
}

static uint64_t switch_interval(void)
{
	return dnp_taker_interval_ns(&switches.taker);
}

const struct dnp_engine dnp_engine_switch = {
	.event = "switch",
	.unit = "ns",
	.companion = &dnp_engine_wait,
	.start = switch_start,
	.source = switch_source,
	.note = switch_note,
	.interval = switch_interval,
	.thread_end = switch_thread_end,
	.write = switch_write,
	.hurry = switch_hurry,
	.stop = switch_stop,
};
