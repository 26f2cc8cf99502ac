/* SPDX-License-Identifier: MIT */
/*
 * The recorder: every few milliseconds it looks for new threads and modules, and drains the rings.
 * It alone writes the recording, also its end: it has all signals blocked, so that a write beyond a
 * file size limit cannot kill the program. Between its rounds it serves the control socket, and it
 * goes on with that when the recording has ended.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/control.h"
#include "agent/frames.h"
#include "agent/methods.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/thread.h"
#include "os/watch.h"
#include "store/drain.h"
#include "unwind/target.h"

#define TICK_NS        UINT64_C(20000000)
#define CALLED_NS      UINT64_C(300000) /* rest after a round that a handler called for */
#define LOOK_EVERY     5  /* ticks between two looks for threads that have gone or came unseen */
#define STATS_EVERY    25 /* ticks between two tellings of the counters */
#define FLUSH_EVERY    5  /* ticks between two flushes: what a killed process can lose */
#define LAUNCHER_EVERY 10 /* ticks between two looks for the launcher */
#define IDLE_NS        UINT64_C(5000000000) /* between two reclaims when nothing is recorded */

static struct {
	struct dnp_drain drain;
	struct dnp_frames *frames; /* owned: the recording's */
	struct dnp_own_thread thread;
	_Atomic uint32_t stop; /* enum dnp_end_reason, 0: go on */
	_Atomic uint32_t stopped;
	int watching; /* the kernel tells of new threads and code */
	unsigned known_threads;
	uint64_t launcher_start;
	uint64_t next_tick_ns;
	unsigned tick; /* how many there were */
	int failed;    /* -errno of a write */
} recorder;

static int see_thread(int tid, void *context)
{
	const int *before = context;

	recorder.known_threads++;
	if (!dnp_thread_is_own(tid) && !dnp_thread_find(tid))
		dnp_agent_thread(tid, *before);
	return 0;
}

/*
 * Threads that the runtime does not tell of: its own, and those of native libraries. Where the
 * kernel tells of new ones this finds those that older threads than ours have made.
 */
static void look_for_threads(unsigned tick)
{
	int before = 0;

	if (tick % LOOK_EVERY &&
		(recorder.watching || dnp_process_thread_count() == recorder.known_threads))
		return;
	recorder.known_threads = 0;
	dnp_thread_each(see_thread, &before);
}

void dnp_agent_write_process(struct dnp_writer *writer)
{
	static char command[32768], executable[4096];
	struct dnp_rec_process rec = {
		.pid = (uint64_t)getpid(),
		.parent_pid = (uint64_t)getppid(),
		.start_ns = dnp_now_ns(),
		.start_unix_ns = dnp_unix_ns(),
		.runtime = dnp_str(dnp_agent.runtime),
		.tool = dnp_str(DNP_VERSION),
		.cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN),
	};
	struct utsname name;
	char os[160] = "";
	ssize_t n;

	rec.command = (struct dnp_str){command, dnp_process_command(command, sizeof(command))};
	n = readlink("/proc/self/exe", executable, sizeof(executable));
	rec.executable = (struct dnp_str){executable, n > 0 ? (size_t)n : 0};
	if (!uname(&name))
		snprintf(os, sizeof(os), "%s %s", name.sysname, name.release);
	rec.os = dnp_str(os);
	rec.process_start_ns = dnp_process_start_ticks(getpid()) *
		(UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
	dnp_write_process(writer, &rec);
}

static void write_events(struct dnp_writer *writer)
{
	for (unsigned i = 0; i < dnp_agent.n_engines; i++) {
		const struct dnp_engine *engine = dnp_agent.engines[i];

		dnp_write_event(writer,
			&(struct dnp_rec_event){
				.index = i,
				.name = dnp_str(engine->event),
				.unit = dnp_str("samples"),
				.interval_ns = dnp_agent.options.interval_ns,
				.source = dnp_str(engine->source()),
				.note = dnp_str(engine->note()),
			});
	}
}

static uint32_t frame_of(struct dnp_drain *drain, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature)
{
	(void)drain;
	return dnp_frames_of(recorder.frames, word, time_ns, collecting, nature);
}

static size_t agent_bytes(void)
{
	return dnp_threads_bytes() + dnp_intern_bytes(&recorder.drain.intern) +
		dnp_methods_bytes() + dnp_frames_bytes(recorder.frames);
}

static void publish(void)
{
	struct dnp_session_slot *slot = dnp_agent.slot;
	uint64_t samples, lost;

	if (!slot)
		return;
	dnp_drain_totals(&recorder.drain, &samples, &lost);
	atomic_store_explicit(&slot->samples, samples, memory_order_relaxed);
	atomic_store_explicit(&slot->lost, lost, memory_order_relaxed);
	atomic_store_explicit(&slot->bytes, recorder.drain.writer.written, memory_order_relaxed);
}

static void thread_gone(struct dnp_thread *thread)
{
	for (unsigned i = 0; i < dnp_agent.n_engines; i++)
		if (dnp_agent.engines[i]->thread_end)
			dnp_agent.engines[i]->thread_end(thread);
}

/* Why recording should end now, 0: it should not. */
static enum dnp_end_reason end_wanted(void)
{
	struct dnp_session *session = dnp_agent.session;
	enum dnp_end_reason asked = atomic_load_explicit(&recorder.stop, memory_order_acquire);

	if (asked)
		return asked;
	if (recorder.failed)
		return DNP_END_DISK;
	if (!session)
		return 0;
	if (atomic_load_explicit(&session->stop, memory_order_acquire))
		return DNP_END_STOP;
	if (recorder.tick % LAUNCHER_EVERY == 0 &&
		dnp_process_start_ticks(session->launcher_pid) != recorder.launcher_start)
		return DNP_END_LAUNCHER;
	return 0;
}

static void tell_failure(unsigned event, const char *reason, uint64_t count)
{
	dnp_drain_failure(&recorder.drain, event, reason, count);
}

static void write_stats(void)
{
	for (unsigned i = 0; i < dnp_agent.n_engines; i++)
		if (dnp_agent.engines[i]->failures)
			dnp_agent.engines[i]->failures(i, tell_failure);
	dnp_drain_stats(&recorder.drain, agent_bytes());
}

static void finish(enum dnp_end_reason reason)
{
	int failed;

	for (unsigned i = 0; i < dnp_agent.n_engines; i++)
		dnp_agent.engines[i]->stop();
	failed = dnp_drain_round(&recorder.drain, 1);
	write_stats();
	publish();
	if (!failed)
		failed = dnp_drain_close(&recorder.drain, reason);
	if (dnp_agent.slot) {
		if (failed)
			snprintf(dnp_agent.slot->reason, sizeof(dnp_agent.slot->reason),
				"the recording ended early: writing it failed: %s; make room and "
				"record again",
				strerror(-failed));
		dnp_session_slot_set(dnp_agent.slot, failed ? DNP_SLOT_FAILED : DNP_SLOT_ENDED);
	}
	dnp_watch_close();
	dnp_threads_done();
	dnp_frames_free(recorder.frames);
	recorder.frames = NULL;
	dnp_frames_unload_jit();
}

/* A time such that every walk that was going on then has ended. */
static uint64_t quiet_since(void)
{
	uint64_t quiet_ns = dnp_threads_quiet_since(), outside_ns = dnp_target_since();

	if (outside_ns < quiet_ns)
		quiet_ns = outside_ns;
	for (unsigned i = 0; i < dnp_agent.n_engines; i++) {
		const struct dnp_engine *engine = dnp_agent.engines[i];
		uint64_t since_ns = engine->walking_since ? engine->walking_since() : UINT64_MAX;

		if (since_ns < quiet_ns)
			quiet_ns = since_ns;
	}
	return quiet_ns;
}

/* One round: what is new in the process, then the samples; a full one now and then (`tick`). */
static void work(unsigned tick)
{
	dnp_frames_refresh();
	look_for_threads(tick);
	recorder.failed = dnp_drain_round(&recorder.drain, tick % LOOK_EVERY == 0);
	if (tick % STATS_EVERY == 0)
		write_stats();
	if (tick % FLUSH_EVERY == 0)
		dnp_writer_flush(&recorder.drain.writer);
	publish();
}

/* The same, and what no walk and no sample can need any more is freed. */
static void work_and_reclaim(unsigned tick)
{
	uint64_t quiet_ns = quiet_since();

	work(tick);
	dnp_frames_reclaim(quiet_ns);
}

/* Whether a tick is due; counts it. */
static int take_tick(void)
{
	uint64_t now = dnp_now_ns(), next = recorder.next_tick_ns + TICK_NS;

	if (now < recorder.next_tick_ns)
		return 0;
	/* When behind, skip ticks: do not run after them. */
	recorder.next_tick_ns = now < next ? next : now + TICK_NS;
	recorder.tick++;
	return 1;
}

/* What goes on while the recorder works for somebody else, which may take many ticks. */
static bool record_meanwhile(void)
{
	if (end_wanted())
		return false;
	if (take_tick())
		work(recorder.tick);
	return true;
}

/* Sleeps until there is something to do, and does it. */
static void record_on(void)
{
	int before = 0;
	unsigned news = dnp_watch_wait(recorder.next_tick_ns, see_thread, &before);

	if (atomic_load(&recorder.stop))
		return;
	if (take_tick())
		work_and_reclaim(recorder.tick);
	else if (news & DNP_WATCH_CALLED)
		work_and_reclaim(1);
	if (news & DNP_WATCH_READABLE || dnp_now_ns() >= dnp_control_deadline())
		dnp_control_serve(record_meanwhile);
	/* However many handlers and clients call, this thread rests as long as it works. */
	if (news)
		dnp_sleep_until_ns(dnp_now_ns() + CALLED_NS);
}

static bool idle_meanwhile(void)
{
	return !atomic_load(&recorder.stop);
}

/* After the recording, until the runtime shuts down. */
static void serve_on(void)
{
	while (!atomic_load_explicit(&recorder.stop, memory_order_acquire)) {
		uint64_t idle_ns = dnp_now_ns() + IDLE_NS, deadline_ns = dnp_control_deadline();

		dnp_watch_wait(idle_ns < deadline_ns ? idle_ns : deadline_ns, NULL, NULL);
		dnp_frames_refresh();
		dnp_control_serve(idle_meanwhile);
		/* Nobody walks but this thread itself. */
		dnp_frames_reclaim(dnp_now_ns());
	}
}

static void *record(void *context)
{
	enum dnp_end_reason reason;

	(void)context;
	dnp_thread_set_name("dnprof");
	recorder.next_tick_ns = dnp_now_ns() + TICK_NS;
	dnp_agent_write_process(&recorder.drain.writer);
	write_events(&recorder.drain.writer);
	dnp_writer_flush(&recorder.drain.writer);
	if (dnp_agent.slot)
		dnp_session_slot_set(dnp_agent.slot, DNP_SLOT_RECORDING);
	while (!(reason = end_wanted()))
		record_on();
	finish(reason);
	serve_on();
	dnp_control_close();
	atomic_store_explicit(&recorder.stopped, 1, memory_order_release);
	syscall(SYS_futex, &recorder.stopped, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return NULL;
}

static uint64_t random_number(void)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = dnp_now_ns() ^ (uint64_t)getpid() << 40;
	return number;
}

/* A program without it is recorded as well: only nobody can ask it anything. */
static void open_control(void)
{
	int failed = dnp_control_open();

	if (failed && dnp_agent.options.verbose)
		fprintf(stderr,
			"dnprof: no control socket: %s; 'dnprof stack' will not find this "
			"process\n",
			strerror(-failed));
}

int dnp_recorder_start(struct dnp_err *err)
{
	struct dnp_session *session = dnp_agent.session;
	int before = 1;
	int failed =
		dnp_drain_open(&recorder.drain, dnp_agent.fd, random_number(), dnp_agent.n_engines);

	if (failed)
		return dnp_err(err, failed, "the recording cannot be written: %s; make room for it",
			strerror(-failed));
	recorder.frames = dnp_frames_new(&recorder.drain.writer, DNP_FRAMES_RECORDING);
	if (!recorder.frames)
		return dnp_err(err, -ENOMEM, "no memory for the recorder");
	recorder.drain.frame_of = frame_of;
	recorder.drain.gone = thread_gone;
	if (session)
		recorder.launcher_start = dnp_process_start_ticks(session->launcher_pid);
	dnp_frames_load_jit();
	dnp_frames_refresh();
	recorder.watching = !dnp_watch_open();
	dnp_thread_each(see_thread, &before);
	open_control();
	failed = dnp_own_thread_start(&recorder.thread, record, NULL);
	if (failed)
		return dnp_err(err, failed, "the profiler's thread cannot be started: %s",
			strerror(-failed));
	return 0;
}

/*
 * Waits for the recorder's end, but not for ever: if the runtime kept it from returning, the
 * program must still be able to exit. The recording then lacks its end, and readers say so.
 */
void dnp_recorder_stop(enum dnp_end_reason reason)
{
	struct timespec patience = {10, 0};

	atomic_store_explicit(&recorder.stop, reason, memory_order_release);
	dnp_watch_call();
	while (!atomic_load_explicit(&recorder.stopped, memory_order_acquire))
		if (syscall(SYS_futex, &recorder.stopped, FUTEX_WAIT_PRIVATE, 0, &patience, NULL,
			    0) &&
			errno == ETIMEDOUT)
			return;
	dnp_own_thread_join(&recorder.thread);
}
