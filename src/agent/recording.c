/* SPDX-License-Identifier: MIT */
#include "agent/recording.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/engines.h"
#include "agent/frames.h"
#include "agent/knowledge.h"
#include "agent/methods.h"
#include "agent/thread_names.h"
#include "agent/unwalked.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/stop.h"
#include "os/tasks.h"
#include "os/thread.h"
#include "os/watch.h"
#include "os/word.h"
#include "store/drain.h"
#include "store/labels.h"
#include "store/overflow.h"
#include "unwind/turn.h"

#define LOOK_EVERY     5  /* ticks between two looks for threads that have gone or came unseen */
#define STATS_EVERY    25 /* ticks between two tellings of the counters */
#define FLUSH_EVERY    5  /* ticks between two flushes: what a killed process can lose */
#define LAUNCHER_EVERY 10 /* ticks between two looks for the launcher */
#define LOOK_SHARE     10 /* looks take one part of so many of the time, where each is dear */
static_assert(LOOK_EVERY % DNP_CALM_TICKS == 0 && STATS_EVERY % DNP_CALM_TICKS == 0 &&
		FLUSH_EVERY % DNP_CALM_TICKS == 0 && LAUNCHER_EVERY % DNP_CALM_TICKS == 0,
	"what is due is due in a tick that is taken");

/* It is calm after so long without a new thread, and with so much time between two samples. */
#define CALM_AFTER_NS    UINT64_C(1000000000)
#define CALM_INTERVAL_NS UINT64_C(1000000)

/* For a program that is about to end: how long it may be kept from it, and how often it looks. */
#define SAVE_PATIENCE_NS UINT64_C(2000000000)
#define SAVE_LOOK_NS     UINT64_C(20000000)

static struct {
	bool on;
	struct dnp_drain drain;
	struct dnp_frames *frames;               /* owned */
	const struct dnp_agent_options *options; /* borrowed: the engines' */
	struct dnp_session *session;             /* borrowed; NULL: no launcher waits for it */
	struct dnp_session_slot *slot;           /* the same */
	uint64_t launcher_start;
	int file; /* owned: as the writer's, -1: none; as long as it is of … */
	struct dnp_file_id file_id;
	int watching; /* the kernel tells of new threads and code */
	int failed;   /* -errno of a write */
	bool head_written;
	unsigned known_threads, tick;
	uint64_t looked_ns, look_ns; /* when all threads were looked at, and how long that took */
	uint64_t newest_ns;          /* when a thread was seen for the first time */
	uint64_t since_ns, since_unix_ns;
	uint64_t own_before_ns, process_before_ns; /* CPU time that had been used then */
	uint64_t begin_ns; /* CPU time that it took the program's thread to begin it */
	int client;
} recording = {.file = -1};

/* What threads wait for that have said their last word, counted; `over`: none need wait. */
static struct {
	_Atomic uint32_t wanted, done;
	_Atomic bool over;
} saves;

bool dnp_recording_is_on(void)
{
	return recording.on;
}

/* ---- Threads */

static void announce(struct dnp_thread *thread)
{
	dnp_drain_announce(&recording.drain, thread);
}

static struct dnp_walked_node walked(unsigned event, const struct dnp_walked *walked)
{
	return dnp_drain_walked(&recording.drain, event, walked);
}

static uint32_t frame(dnp_frame_word word, uint64_t time_ns)
{
	unsigned nature = 0;

	return recording.drain.frame_of(&recording.drain, word, time_ns, 0, &nature);
}

int dnp_recording_see_thread(int tid, void *context)
{
	const int *before = context;
	struct dnp_thread *thread = dnp_thread_find(tid);

	recording.known_threads++;
	if (thread) {
		thread->listed = true;
	} else if (!dnp_thread_is_own(tid) && dnp_thread_exists(tid)) {
		/* One that is told of late may have gone, and its record with it: it would be met
		 * again. */
		dnp_engines_thread(tid, *before);
		recording.newest_ns = dnp_now_ns();
	}
	return 0;
}

void dnp_recording_thread_begun(int tid, uint64_t begun_ns)
{
	struct dnp_thread *thread = dnp_thread_find(tid);
	char *name = NULL;
	int before = 0;

	if (thread && !dnp_thread_begun_at(thread, begun_ns)) {
		/* It may have been given its name already, by the number alone. */
		name = atomic_exchange(&thread->new_name, NULL);
		dnp_drain_thread_gone(&recording.drain, thread, begun_ns);
		thread = NULL;
	}
	recording.newest_ns = dnp_now_ns();
	if (thread) {
		recording.known_threads++;
	} else {
		dnp_recording_see_thread(tid, &before);
		thread = dnp_thread_find(tid);
	}
	if (thread)
		dnp_thread_begun_at(thread, begun_ns);
	if (name && thread)
		dnp_thread_rename(thread, name);
	else
		free(name);
}

static bool is_told_of_threads(void)
{
	return recording.watching || dnp_engines_tell_threads();
}

/* Where it takes long to look at all threads, that is not done all the time. */
static bool look_is_soon(void)
{
	return !dnp_process_threads_counted &&
		dnp_now_ns() - recording.looked_ns < recording.look_ns * LOOK_SHARE;
}

/*
 * Whether it is time to look at every thread. Where the kernel tells of new ones, as many as are
 * known are the same ones, but for those that older threads than ours have made: once in a while.
 * A system that does not count them is not asked for each in every tick.
 */
static bool look_due(unsigned tick)
{
	bool told = is_told_of_threads();

	if (tick % STATS_EVERY == 0)
		return true;
	if (tick % LOOK_EVERY == 0 && !told)
		return !look_is_soon();
	if (tick % LOOK_EVERY && (told || !dnp_process_threads_counted))
		return false;
	return dnp_process_thread_count() != recording.known_threads;
}

bool dnp_recording_is_calm(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++)
		if (engine->write && !engine->writes_seldom)
			return false;
	return recording.options->interval_ns >= CALM_INTERVAL_NS &&
		dnp_now_ns() - recording.newest_ns > CALM_AFTER_NS;
}

static int see_thread(int tid, void *context)
{
	/* The system may take its time with the next one. */
	dnp_drain_meanwhile(&recording.drain);
	return dnp_recording_see_thread(tid, context);
}

/* Threads that the runtime does not tell of: its own, and those of native libraries. */
static void look_for_threads(void)
{
	uint64_t begin_ns = dnp_now_ns();
	int before = 0;

	recording.known_threads = 0;
	dnp_thread_each(see_thread, &before);
	recording.looked_ns = dnp_now_ns();
	recording.look_ns = recording.looked_ns - begin_ns;
}

/* ---- What is written */

/* 0: there is none. */
static uint64_t interval_ns(const struct dnp_engine *engine)
{
	if (engine->happens)
		return 0;
	return engine->interval ? engine->interval() : recording.options->interval_ns;
}

static const char *unit_of(const struct dnp_engine *engine)
{
	return engine->unit ? engine->unit : "samples";
}

static void write_event(struct dnp_writer *writer, unsigned index, const struct dnp_engine *engine)
{
	dnp_write_event(writer,
		&(struct dnp_rec_event){
			.index = index,
			.name = dnp_str(engine->event),
			.unit = dnp_str(unit_of(engine)),
			.interval_ns = interval_ns(engine),
			.source = dnp_str(engine->source()),
			.note = dnp_str(engine->note ? engine->note() : ""),
			.lot = engine->lot ? engine->lot() : 0,
		});
}

static void write_events(struct dnp_writer *writer)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++)
		write_event(writer, i, engine);
}

/* Those that come from elsewhere by now. */
static void write_changed(struct dnp_writer *writer)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++)
		if (engine->changed && engine->changed())
			write_event(writer, i, engine);
}

static uint32_t frame_of(struct dnp_drain *drain, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature)
{
	(void)drain;
	return dnp_frames_of(recording.frames, word, time_ns, collecting, nature);
}

static size_t agent_bytes(void)
{
	return dnp_threads_bytes() + dnp_intern_bytes(&recording.drain.intern) +
		dnp_methods_bytes() + dnp_frames_bytes(recording.frames) + dnp_labels_bytes() +
		dnp_overflow_bytes();
}

static struct dnp_losses losses_now(void)
{
	struct dnp_losses losses = {0};
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++)
		dnp_losses_add(&losses, engine->event, unit_of(engine),
			recording.drain.sums[i].lost + (engine->lost ? engine->lost() : 0));
	return losses;
}

static void publish(void)
{
	struct dnp_session_slot *slot = recording.slot;

	if (!slot)
		return;
	atomic_store_explicit(
		&slot->samples, dnp_drain_samples(&recording.drain), memory_order_relaxed);
	atomic_store_explicit(&slot->lost, losses_now().count, memory_order_relaxed);
	atomic_store_explicit(
		&slot->bytes, dnp_writer_written(&recording.drain.writer), memory_order_relaxed);
}

static void thread_gone(struct dnp_thread *thread)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++)
		if (engine->thread_end)
			engine->thread_end(thread);
}

static void tell_failure(unsigned event, const char *reason, uint64_t count)
{
	dnp_drain_failure(&recording.drain, event, reason, count);
}

static struct dnp_drain_agent agent_now(void)
{
	return (struct dnp_drain_agent){
		.bytes = agent_bytes(),
		.cpu_ns = dnp_own_threads_cpu_ns() - recording.own_before_ns + recording.begin_ns,
		.process_ns = dnp_process_cpu_ns(dnp_process_id()) - recording.process_before_ns,
	};
}

static void write_stats(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++)
		if (engine->failures)
			engine->failures(i, tell_failure);
	dnp_drain_stats(&recording.drain, agent_now());
}

static void write_engines(int last)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++)
		if (engine->write)
			engine->write(&recording.drain.writer, last);
	dnp_frames_traced(recording.frames);
}

static void write_head(void)
{
	recording.head_written = true;
	dnp_agent_write_process(
		&recording.drain.writer, recording.since_ns, recording.since_unix_ns);
	write_events(&recording.drain.writer);
	dnp_writer_flush(&recording.drain.writer);
	if (recording.slot)
		dnp_session_slot_set(recording.slot, DNP_SLOT_RECORDING);
}

/* Samples that are taken while tables are built: their rings are small. */
static void drain(void)
{
	recording.failed = dnp_drain_round(&recording.drain, 0);
}

/* Tables of native code are made where stacks are taken; else for those who ask for one. */
static void build_tables(void (*meanwhile)(void))
{
	if (!dnp_engines_walk())
		return;
	dnp_frames_list();
	dnp_frames_build(meanwhile);
}

static void look_after_engines(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++)
		if (engine->look)
			engine->look();
}

static bool is_saved(uint32_t wanted)
{
	return atomic_load(&saves.over) || (int32_t)(atomic_load(&saves.done) - wanted) >= 0;
}

/* Only one is woken, and several threads may wait: so they look themselves now and then. */
static void save(void)
{
	uint32_t wanted = atomic_fetch_add(&saves.wanted, 1) + 1;
	uint64_t until_ns = dnp_now_ns() + SAVE_PATIENCE_NS;

	dnp_watch_call();
	while (!is_saved(wanted) && dnp_now_ns() < until_ns)
		dnp_word_wait(&saves.done, atomic_load(&saves.done), SAVE_LOOK_NS);
}

/* `wanted` before a round: what it has written is what there was. */
static void saved(uint32_t wanted)
{
	if (wanted == atomic_load(&saves.done))
		return;
	write_stats();
	dnp_writer_flush(&recording.drain.writer);
	atomic_store(&saves.done, wanted);
	dnp_word_wake(&saves.done);
}

/* One round: what is new in the process, then the samples; a full one now and then (`tick`). */
void dnp_recording_tick(unsigned tick)
{
	uint32_t saves_wanted = atomic_load(&saves.wanted);
	bool look = look_due(tick);

	recording.tick = tick;
	if (!recording.head_written)
		write_head();
	look_after_engines();
	write_changed(&recording.drain.writer);
	build_tables(drain);
	if (look)
		look_for_threads();
	write_engines(0);
	recording.failed = dnp_drain_round(&recording.drain, look);
	if (tick % STATS_EVERY == 0)
		write_stats();
	else if (tick % FLUSH_EVERY == 0)
		dnp_drain_clocks(&recording.drain, agent_now());
	if (tick % FLUSH_EVERY == 0)
		dnp_writer_flush(&recording.drain.writer);
	saved(saves_wanted);
	publish();
}

uint64_t dnp_recording_quiet_since(void)
{
	uint64_t quiet_ns = dnp_threads_quiet_since(), outside_ns = dnp_target_since();
	const struct dnp_engine *engine;

	if (outside_ns < quiet_ns)
		quiet_ns = outside_ns;
	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++) {
		uint64_t since_ns = engine->walking_since ? engine->walking_since() : UINT64_MAX;

		if (since_ns < quiet_ns)
			quiet_ns = since_ns;
	}
	return quiet_ns;
}

int dnp_recording_flush(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = dnp_engines_get(i)); i++)
		if (engine->hurry)
			engine->hurry();
	dnp_recording_tick(0);
	return recording.failed ? recording.failed : dnp_writer_flush(&recording.drain.writer);
}

/* ---- What it consists of */

/* The file, and the memory for what goes there. Takes fd over. */
static int open_file(int fd, struct dnp_err *err)
{
	int failed;

	recording.file = dnp_file_again(fd);
	recording.file_id = dnp_file_id(recording.file);
	failed = dnp_drain_open(&recording.drain, fd, dnp_random_number(), dnp_engines_count());
	if (failed)
		return dnp_err(err, failed, "the recording cannot be written: %s; make room for it",
			strerror(-failed));
	recording.frames = dnp_frames_new(&recording.drain.writer, DNP_FRAMES_RECORDING);
	if (!recording.frames) {
		dnp_drain_close(&recording.drain, DNP_END_STOP);
		return dnp_err(err, -ENOMEM, "no memory for the recorder");
	}
	recording.drain.frame_of = frame_of;
	recording.drain.walk = dnp_unwalked_walk;
	recording.drain.gone = thread_gone;
	return 0;
}

/* The launcher that waits for a recording which began with the program. */
static void find_launcher(bool at_startup)
{
	recording.session = at_startup ? dnp_agent.session : NULL;
	recording.slot = at_startup ? dnp_agent.slot : NULL;
	if (recording.session)
		recording.launcher_start = dnp_process_start_ticks(recording.session->launcher_pid);
}

static void find_threads(bool at_startup)
{
	bool at_once = dnp_engines_at_once();
	bool wanted = at_once || !(dnp_engines_tell_threads() || dnp_engines_only_happen());
	int before = 1;

	recording.known_threads = 0;
	/*
	 * The kernel tells of what comes of the thread that asks: here of all, later of none. It
	 * makes threads that begin and end a sixth dearer, or more on many processors.
	 */
	recording.watching = at_startup && wanted && !dnp_watch_threads_open(at_once);
	dnp_thread_each(dnp_recording_see_thread, &before);
}

/* ---- End */

/* What belongs to one recording. No callback is under way any more. */
static void forget(void)
{
	dnp_knowledge_end();
	dnp_thread_names_done(); /* nobody tells what becomes of threads that have not started */
	dnp_engines_forget();
	dnp_watch_threads_close();
	dnp_threads_done();
	dnp_frames_free(recording.frames);
	recording.frames = NULL;
	dnp_frames_unload_jit();
	dnp_methods_forget_frames();
	dnp_labels_forget();
	recording.session = NULL;
	recording.slot = NULL;
}

static int close_file(enum dnp_end_reason reason, struct dnp_err *err)
{
	int failed = dnp_drain_round(&recording.drain, 1);
	int closed;

	write_stats();
	publish();
	closed = dnp_drain_close(&recording.drain, reason);
	if (!failed)
		failed = closed;
	if (failed)
		return dnp_err(err, failed,
			"the recording ended early: writing it failed: %s; %s and record again",
			strerror(-failed),
			failed == -EFBIG ? "raise the limit (ulimit -f)"
				: failed == -EBADF
				? "the program has closed what is not its own; have it leave that"
				: "make room");
	return 0;
}

static void tell_launcher(int failed, const struct dnp_err *err)
{
	struct dnp_session_slot *slot = recording.slot;

	if (!slot)
		return;
	if (failed)
		snprintf(slot->reason, sizeof(slot->reason), "%.*s", (int)sizeof(slot->reason) - 1,
			err->text);
	dnp_session_slot_set(slot, failed ? DNP_SLOT_FAILED : DNP_SLOT_ENDED);
}

int dnp_recording_end(enum dnp_end_reason reason, struct dnp_err *err)
{
	int failed;

	if (!recording.head_written)
		write_head();
	atomic_store(&saves.over, true);
	dnp_engines_stop();
	write_engines(1);
	failed = close_file(reason, err);
	tell_launcher(failed, err);
	recording.on = false;
	forget();
	return failed;
}

enum dnp_end_reason dnp_recording_end_wanted(void)
{
	const struct dnp_session *session = recording.session;

	if (recording.failed)
		return DNP_END_DISK;
	if (!session)
		return 0;
	if (atomic_load_explicit(&session->stop, memory_order_acquire))
		return DNP_END_STOP;
	if (recording.tick % LAUNCHER_EVERY == 0 &&
		dnp_process_start_ticks(session->launcher_pid) != recording.launcher_start)
		return DNP_END_LAUNCHER;
	return 0;
}

int dnp_recording_file(void)
{
	return dnp_file_is(recording.file, recording.file_id) ? recording.file : -1;
}

void dnp_recording_file_close(void)
{
	if (dnp_recording_file() >= 0)
		close(recording.file);
	recording.file = -1;
	recording.file_id = (struct dnp_file_id){0};
}

/* ---- Start */

/* What walks and engines need. */
static int prepare(const struct dnp_recording_order *order, struct dnp_err *err)
{
	int failed = dnp_engines_choose(order->options, order->at_startup, err);

	if (failed)
		return failed;
	recording.options = dnp_engines_options();
	dnp_threads_init(recording.options->depth, dnp_engines_count());
	failed = dnp_engines_events(order->at_startup, err);
	if (!failed)
		failed = dnp_knowledge_begin(order->at_startup, err);
	return failed;
}

/* Threads are sampled by then, and rings are small. */
static void drain_meanwhile(void)
{
	dnp_drain_meanwhile(&recording.drain);
}

/*
 * In a program that runs already. An event is told of once, so all that takes note of it is there
 * by then.
 */
static int listen_late(struct dnp_err *err)
{
	char why[sizeof(err->text)];
	int failed, left;

	write_head();
	failed = dnp_engines_listen(drain_meanwhile, err);
	if (!failed)
		return 0;
	atomic_store(&saves.over, true);
	left = dnp_drain_abandon(&recording.drain);
	if (!left)
		return failed;
	snprintf(why, sizeof(why), "%s", err->text);
	return dnp_err(err, failed,
		"%s; what is in its file is no recording, and cannot be taken away: %s; remove it",
		why, strerror(-left));
}

static int start(const struct dnp_recording_order *order, struct dnp_err *err)
{
	struct dnp_engine_setting offered = {
		.at_startup = order->at_startup,
		.announce = announce,
		.begun = dnp_recording_thread_begun,
		.walked = walked,
		.unwalked = dnp_unwalked_walk,
		.frame = frame,
		.type_label = dnp_knowledge_type_label,
		.class_label = dnp_knowledge_class_label,
		.save = save,
	};
	int failed = prepare(order, err);

	if (!failed)
		failed = dnp_engines_start(&offered, err);
	if (!failed && order->at_startup) /* nothing happens yet */
		failed = dnp_engines_listen(NULL, err);
	if (failed) {
		close(order->fd);
		return failed;
	}
	failed = open_file(order->fd, err);
	if (failed) {
		dnp_engines_stop();
		return failed;
	}
	/* A program that starts is about to do most of what it ever will in one go; who is attached
	 * to samples first, by what tables are made of. */
	if (order->at_startup) {
		dnp_frames_load_jit();
		build_tables(NULL);
	} else if (dnp_engines_walk()) {
		dnp_frames_list();
	}
	dnp_knowledge_threads(order->at_startup);
	find_threads(order->at_startup);
	return order->at_startup ? 0 : listen_late(err);
}

int dnp_recording_start(const struct dnp_recording_order *order, struct dnp_err *err)
{
	uint64_t cpu_ns = dnp_thread_cpu_ns(dnp_thread_id());
	int failed;

	dnp_recording_file_close();
	recording.client = order->client;
	recording.since_ns = dnp_now_ns();
	recording.since_unix_ns = dnp_unix_ns();
	recording.own_before_ns = dnp_own_threads_cpu_ns();
	recording.process_before_ns = dnp_process_cpu_ns(dnp_process_id());
	recording.failed = 0;
	recording.head_written = false;
	atomic_store(&saves.over, false);
	failed = start(order, err);
	if (failed) {
		dnp_recording_file_close();
		forget();
		return failed;
	}
	find_launcher(order->at_startup);
	recording.on = true;
	/* At the start a thread of the program does it. */
	recording.begin_ns = order->at_startup ? dnp_thread_cpu_ns(dnp_thread_id()) - cpu_ns : 0;
	return 0;
}

/* ---- A look without a recording */

int dnp_recording_look(struct dnp_err *err)
{
	struct dnp_agent_options options;
	int failed;

	dnp_agent_options_init(&options);
	dnp_threads_init(options.depth, DNP_EVENTS_MAX);
	failed = dnp_engines_events(false, err);
	return failed ? failed : dnp_knowledge_begin(false, err);
}

void dnp_recording_look_away(void)
{
	dnp_stop_close();
	forget();
}

/* ---- How it stands */

void dnp_recording_status(struct dnp_recording_status *status)
{
	*status = (struct dnp_recording_status){
		.events = recording.options->event,
		.since_ns = recording.since_ns,
		.since_unix_ns = recording.since_unix_ns,
		.samples = dnp_drain_samples(&recording.drain),
		.losses = losses_now(),
		.bytes = dnp_writer_written(&recording.drain.writer),
		.client = recording.client,
		.awaited = recording.session,
	};
}
