/* SPDX-License-Identifier: MIT */
#include "agent/recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/control.h"
#include "agent/frames.h"
#include "agent/recording.h"
#include "agent/requests.h"
#include "capture/engine.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/watch.h"
#include "os/word.h"

#define TICK_NS       UINT64_C(20000000)
#define RECLAIM_EVERY DNP_CALM_TICKS        /* ticks between two looks for what can be freed */
#define CALLED_NS     UINT64_C(300000)      /* rest after a round that a handler called for */
#define PATIENCE_NS   UINT64_C(10000000000) /* with the end of it all */

static struct {
	struct dnp_own_thread thread;
	_Atomic uint32_t stop; /* enum dnp_end_reason, 0: go on */
	_Atomic uint32_t stopped;
	_Atomic bool may_begin;
	void (*begin)(void);
	uint64_t next_tick_ns;
	unsigned tick, next_tick; /* how many there were, and the number of the next */
} recorder;

/* Why recording should end now, 0: it should not. */
static enum dnp_end_reason end_wanted(void)
{
	enum dnp_end_reason asked = atomic_load_explicit(&recorder.stop, memory_order_acquire);

	return asked ? asked : dnp_recording_end_wanted();
}

/*
 * Whether a tick is due; counts it. Each costs a wake-up, so where nothing happens some are left
 * out; a handler or the kernel that has news calls in between.
 */
static int take_tick(void)
{
	uint64_t now = dnp_now_ns(), next;
	unsigned step = 1;

	if (now < recorder.next_tick_ns)
		return 0;
	recorder.tick = recorder.next_tick;
	if (dnp_recording_is_calm())
		step = DNP_CALM_TICKS - recorder.tick % DNP_CALM_TICKS;
	recorder.next_tick = recorder.tick + step;
	next = recorder.next_tick_ns + step * TICK_NS;
	/* When behind, skip ticks: do not run after them. */
	recorder.next_tick_ns = now < next ? next : now + TICK_NS;
	return 1;
}

/* What goes on while the recorder works for somebody else, which may take many ticks. */
static bool meanwhile(void)
{
	if (atomic_load(&recorder.stop))
		return false;
	if (!dnp_recording_is_on())
		return true;
	if (end_wanted())
		return false;
	if (take_tick())
		dnp_recording_tick(recorder.tick);
	return true;
}

/* One round, and now and then what no walk and no sample can need any more is freed. */
static void work(unsigned tick)
{
	bool reclaims = tick % RECLAIM_EVERY == 0;
	uint64_t quiet_ns = reclaims ? dnp_recording_quiet_since() : 0;

	dnp_recording_tick(tick);
	if (!reclaims)
		return;
	dnp_frames_reclaim(quiet_ns);
	dnp_channel_keep();
}

/* Sleeps until there is something to do, and does it. */
static void record_on(void)
{
	unsigned news = dnp_watch_wait(recorder.next_tick_ns, dnp_recording_thread_begun);

	if (atomic_load(&recorder.stop))
		return;
	if (take_tick())
		work(recorder.tick);
	else if (news & DNP_WATCH_CALLED)
		work(1);
	if (news & DNP_WATCH_READABLE || dnp_now_ns() >= dnp_control_deadline())
		dnp_control_serve(meanwhile);
	/* However many handlers and clients call, this thread rests as long as it works. */
	if (news)
		dnp_sleep_until_ns(dnp_now_ns() + CALLED_NS);
}

/* Nothing is recorded: only those who ask wake us, or that nobody does. */
static void sleep_on(void)
{
	uint64_t control_ns = dnp_control_deadline(), leave_ns = dnp_requests_deadline();
	unsigned news;

	news = dnp_watch_wait(control_ns < leave_ns ? control_ns : leave_ns, NULL);
	if (atomic_load(&recorder.stop))
		return;
	dnp_control_serve(meanwhile);
	if (!dnp_recording_is_on() && dnp_now_ns() >= dnp_requests_deadline())
		dnp_requests_leave();
	/* As in record_on. */
	if (news)
		dnp_sleep_until_ns(dnp_now_ns() + CALLED_NS);
}

static bool goes_on(void)
{
	return !atomic_load_explicit(&recorder.stop, memory_order_acquire);
}

static void *run(void *context)
{
	enum dnp_end_reason reason;

	(void)context;
	dnp_thread_set_name("dnprof");
	while (goes_on() && !atomic_load_explicit(&recorder.may_begin, memory_order_acquire))
		dnp_watch_wait(UINT64_MAX, NULL);
	recorder.next_tick_ns = dnp_now_ns();
	if (goes_on())
		recorder.begin();
	while (goes_on()) {
		if (!dnp_recording_is_on())
			sleep_on();
		else if ((reason = end_wanted()))
			dnp_requests_end(reason);
		else
			record_on();
	}
	if (dnp_recording_is_on())
		dnp_requests_end(atomic_load(&recorder.stop));
	dnp_control_close();
	atomic_store_explicit(&recorder.stopped, 1, memory_order_release);
	dnp_word_wake(&recorder.stopped);
	return NULL;
}

int dnp_recorder_open(void (*begin)(void))
{
	int failed = dnp_watch_open();

	/* A library that could not be unloaded comes to life again. */
	recorder.stop = recorder.stopped = 0;
	recorder.may_begin = false;
	recorder.begin = begin;
	recorder.tick = recorder.next_tick = 0;
	return failed ? failed : dnp_control_open();
}

int dnp_recorder_start(struct dnp_err *err)
{
	int failed = dnp_own_thread_start(&recorder.thread, run, NULL);

	if (failed)
		return dnp_err(err, failed, "the profiler's thread cannot be started: %s",
			strerror(-failed));
	return 0;
}

void dnp_recorder_go(void)
{
	atomic_store_explicit(&recorder.may_begin, true, memory_order_release);
	dnp_watch_call();
}

bool dnp_recorder_has_stopped(void)
{
	if (!atomic_load_explicit(&recorder.stopped, memory_order_acquire))
		return false;
	dnp_own_thread_join(&recorder.thread);
	return true;
}

/*
 * Waits for the recorder's end, but not for ever: if the runtime kept it from returning, the
 * program must still be able to exit. The recording then lacks its end, and readers say so.
 */
bool dnp_recorder_stop(enum dnp_end_reason reason)
{
	atomic_store_explicit(&recorder.stop, reason, memory_order_release);
	dnp_watch_call();
	dnp_word_wait_change(&recorder.stopped, 0, PATIENCE_NS);
	return dnp_recorder_has_stopped();
}
