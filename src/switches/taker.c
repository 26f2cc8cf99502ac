/* SPDX-License-Identifier: MIT */
#include "switches/taker.h"

#include <string.h>

#include "os/clock.h"
#include "os/process.h"
#include "os/tasks.h"
#include "switches/others.h"
#include "timeline/timeline.h"

#define SECOND_NS UINT64_C(1000000000)
#define ROOM      (UINT32_C(1) << 20) /* of a ring: most of a second of a busy processor's switches */
#define ENOUGH    256                 /* slices of a thread that are worth a record */
#define LATEST_NS (SECOND_NS / 10)    /* they are written then, however few there are */
#define KEEP_NS   SECOND_NS           /* what ended may be named in what comes late */

_Static_assert((int)DNP_SLICE_SAMPLED == (int)DNPROF_SLICE_SAMPLED &&
		(int)DNP_SLICE_UNKNOWN == (int)DNPROF_SLICE_UNKNOWN &&
		(int)DNP_SLICE_RUNS == (int)DNPROF_SLICE_RUNS &&
		(int)DNP_SLICE_ENDED == (int)DNPROF_SLICE_ENDED &&
		(int)DNP_SLICE_PREEMPTED == (int)DNPROF_SLICE_PREEMPTED &&
		(int)DNP_SLICE_WAITS == (int)DNPROF_SLICE_WAITS,
	"slices are written as the library has them");

/* ---- Open and close */

static int fail(int failed, const struct dnprof_timeline_error *error, struct dnp_err *err)
{
	return failed ? dnp_err(err, failed, "%s", error->text) : 0;
}

static bool has_room(const struct dnp_taker *taker)
{
	const struct dnp_switches *switches = taker->timeline->switches;

	return !switches || dnp_switches_ring_bytes(switches) >= ROOM;
}

/* Where the user's share is too small for that it is not used up, as others of his record as well.
 */
int dnp_taker_open(struct dnp_taker *taker, int pid, bool others, struct dnp_err *err)
{
	struct dnprof_timeline_options options = {
		.struct_size = sizeof(options), .pid = pid, .others = others, .ring_bytes = ROOM};
	struct dnprof_timeline_error error = {.struct_size = sizeof(error)};
	int failed;

	*taker = (struct dnp_taker){.next_index = DNP_TAKER_FIRST_INDEX};
	failed = dnprof_timeline_open(&options, &taker->timeline, &error);
	if (!failed && !has_room(taker)) {
		dnp_taker_close(taker);
		options.ring_bytes = 0;
		failed = dnprof_timeline_open(&options, &taker->timeline, &error);
	}
	return fail(failed, &error, err);
}

void dnp_taker_close(struct dnp_taker *taker)
{
	dnprof_timeline_close(taker->timeline);
	taker->timeline = NULL;
	dnp_others_done(taker);
}

int dnp_taker_start(struct dnp_taker *taker, struct dnp_err *err)
{
	struct dnprof_timeline_error error = {.struct_size = sizeof(error)};

	return fail(dnprof_timeline_start(taker->timeline, &error), &error, err);
}

void dnp_taker_stop(struct dnp_taker *taker)
{
	dnprof_timeline_stop(taker->timeline, NULL);
}

const char *dnp_taker_source(const struct dnp_taker *taker)
{
	return taker->timeline->switches ? "perf switch records" : "clocks, looked at";
}

const char *dnp_taker_reason(const struct dnp_taker *taker)
{
	return taker->timeline->reason;
}

uint64_t dnp_taker_interval_ns(const struct dnp_taker *taker)
{
	uint64_t looks_ns = taker->timeline->interval_ns;
	uint64_t step_ns = dnp_task_has_cycles() ? 0 : dnp_task_step_ns();

	if (taker->timeline->switches)
		return 0;
	return looks_ns > step_ns ? looks_ns : step_ns;
}

bool dnp_taker_has_others(const struct dnp_taker *taker)
{
	return taker->timeline->backend == DNPROF_TIMELINE_CPUS;
}

uint64_t dnp_taker_ended_ns(const struct dnp_taker *taker)
{
	uint64_t ended_ns;

	pthread_mutex_lock(&taker->timeline->lock);
	ended_ns = taker->timeline->ended_ns;
	pthread_mutex_unlock(&taker->timeline->lock);
	return ended_ns;
}

/* ---- Threads */

/* FNV-1a, 64 bits. */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return hash;
}

static bool is_defined_here(const struct dnp_tl_thread *thread)
{
	return thread->index >= DNP_TAKER_FIRST_INDEX;
}

static uint64_t begin_of(const struct dnp_taker *taker, const struct dnp_tl_thread *thread)
{
	uint64_t from_ns = taker->timeline->store.from_ns;

	return thread->begin_ns > from_ns ? thread->begin_ns : from_ns;
}

bool dnp_taker_is_ours(const struct dnp_taker *taker, const struct dnp_tl_thread *thread)
{
	return taker->is_ours &&
		taker->is_ours(thread->tid, begin_of(taker, thread), thread->end_ns);
}

static void define(struct dnp_taker *taker, struct dnp_tl_thread *thread, struct dnp_writer *writer)
{
	const struct dnp_task_clock *clock = thread->checkpoints.p;
	bool ours = dnp_taker_is_ours(taker, thread);

	thread->index = taker->next_index++;
	thread->taken_name = hash_name(thread->name);
	dnp_write_thread(writer,
		&(struct dnp_rec_thread){
			.index = thread->index,
			.tid = (uint64_t)thread->tid,
			.start_ns = begin_of(taker, thread),
			.cpu_ns = thread->checkpoints.n ? clock->cpu_ns : 0,
			.flags = (ours ? DNP_THREAD_OWN : 0u) |
				(thread->begin_ns ? 0u : DNP_THREAD_LATE),
			.name = dnp_str(thread->name),
		});
}

void dnp_taker_meet(
	struct dnp_taker *taker, struct dnp_tl_thread *thread, struct dnp_writer *writer)
{
	if (thread->taken)
		return;
	thread->taken = true;
	thread->taken_ns = begin_of(taker, thread);
	thread->taken_last_ns = dnp_now_ns();
	if (!taker->known ||
		!taker->known(thread->tid, thread->begin_ns, thread->end_ns, &thread->index))
		define(taker, thread, writer);
}

static void write_name(struct dnp_tl_thread *thread, struct dnp_writer *writer)
{
	uint64_t name = hash_name(thread->name);

	if (!is_defined_here(thread) || name == thread->taken_name)
		return;
	thread->taken_name = name;
	dnp_write_thread_name(writer,
		&(struct dnp_rec_thread_name){
			.thread = thread->index, .name = dnp_str(thread->name)});
}

/* ---- What they did */

/* While a clock stands its newest reading is moved, and told once it goes on, or with `all`. */
static void write_clocks(struct dnp_tl_thread *thread, struct dnp_writer *writer, bool all)
{
	size_t n = thread->checkpoints.n;

	for (size_t i = 0; i < n; i++) {
		const struct dnp_task_clock *clock = &thread->checkpoints.p[i];
		bool stands = i + 1 == n && clock->cpu_ns == thread->taken_cpu_ns;

		if (clock->time_ns <= thread->taken_clock_ns || (stands && !all))
			continue;
		thread->taken_clock_ns = clock->time_ns;
		thread->taken_cpu_ns = clock->cpu_ns;
		dnp_write_thread_clock(writer,
			&(struct dnp_rec_thread_clock){
				.thread = thread->index,
				.time_ns = clock->time_ns,
				.cpu_ns = clock->cpu_ns,
				.ready_ns = clock->wait_ns,
			});
	}
	dnp_tl_store_drop_checkpoints(thread, n > 2 ? n - 2 : 0);
}

/* Those that are over, and not of our own threads. */
static void count_wait(struct dnp_taker *taker, const struct dnp_tl_thread *thread,
	const struct dnprof_slice *next, uint64_t since_ns)
{
	enum dnp_slice_end before = taker->writer.before;
	bool waited = before == DNP_SLICE_WAITS || before == DNP_SLICE_SAMPLED;

	if (taker->wait_ns && waited && next->start_ns > since_ns &&
		next->start_ns - since_ns >= taker->wait_ns && !dnp_taker_is_ours(taker, thread))
		taker->waits++;
}

/* The first n; until_ns, unless it is 0: and what the thread did since then, up to that time. */
static void write_slices(struct dnp_taker *taker, struct dnp_tl_thread *thread,
	struct dnp_writer *writer, size_t n, uint64_t until_ns)
{
	struct dnp_slice_writer *out = &taker->writer;
	uint64_t told_ns = thread->taken_ns;

	if (thread->taken_gap_ns > told_ns)
		told_ns = thread->taken_gap_ns;
	dnp_slice_writer_begin(
		out, writer, thread->index, told_ns, (enum dnp_slice_end)thread->before);
	for (size_t i = 0; i < n; i++) {
		struct dnprof_slice slice = dnp_tl_slice(thread, i, until_ns);

		count_wait(taker, thread, &slice, thread->taken_ns);
		dnp_slice_writer_add(out, slice.start_ns, slice.end_ns, slice.cpu,
			(enum dnp_slice_end)slice.how);
		thread->taken_ns = out->since_ns;
		thread->taken_gap_ns = 0;
	}
	taker->slices += n;
	dnp_slice_writer_end(out);
	if (until_ns > out->since_ns) {
		dnp_slice_writer_end_at(out, until_ns);
		thread->taken_gap_ns = until_ns;
	}
	dnp_tl_store_drop_slices(thread, n < thread->slices.n ? n : thread->slices.n);
}

static void write_end(
	struct dnp_tl_thread *thread, struct dnp_writer *writer, uint64_t time_ns, uint64_t cpu_ns)
{
	dnp_write_thread_end(writer,
		&(struct dnp_rec_thread_end){
			.thread = thread->index, .time_ns = time_ns, .cpu_ns = cpu_ns});
}

/* All of a thread that has ended, or of one that is not asked about any more. */
static void write_rest(
	struct dnp_taker *taker, struct dnp_tl_thread *thread, struct dnp_writer *writer, bool last)
{
	bool ended = thread->state == DNP_TL_ENDED;
	uint64_t until_ns = ended ? thread->end_ns : taker->timeline->told_ns, cpu_ns = 0;

	if (thread->checkpoints.n)
		cpu_ns = thread->checkpoints.p[thread->checkpoints.n - 1].cpu_ns;
	write_clocks(thread, writer, true);
	write_slices(taker, thread, writer,
		ended ? thread->slices.n : dnp_tl_slices(thread, until_ns), until_ns);
	if (is_defined_here(thread) && (ended || last))
		write_end(thread, writer, until_ns, ended ? 0 : cpu_ns);
}

/* What is sure not to change: the newest slice of one that is looked at may grow. */
static void write_some(
	struct dnp_taker *taker, struct dnp_tl_thread *thread, struct dnp_writer *writer)
{
	uint64_t now_ns = dnp_now_ns();
	size_t n = thread->slices.n ? thread->slices.n - 1 : 0;
	size_t told = taker->until_ns ? dnp_tl_slice_behind(thread, taker->until_ns) : n;

	if (told < n)
		n = told;
	write_clocks(thread, writer, false);
	if (!n || (n < ENOUGH && now_ns - thread->taken_last_ns < LATEST_NS))
		return;
	thread->taken_last_ns = now_ns;
	write_slices(taker, thread, writer, n, 0);
}

/* What is known up to now; of one that is on a processor the time so far is a slice of its own. */
static void write_all_told(
	struct dnp_taker *taker, struct dnp_tl_thread *thread, struct dnp_writer *writer)
{
	uint64_t until_ns = taker->until_ns;
	size_t n = dnp_tl_slice_behind(thread, until_ns);

	if (n < thread->slices.n && thread->slices.p[n].start_ns < until_ns)
		until_ns = thread->slices.p[n].start_ns;
	write_clocks(thread, writer, true);
	write_slices(taker, thread, writer,
		n < thread->slices.n ? n : dnp_tl_slices(thread, until_ns), until_ns);
}

static void write_thread(
	struct dnp_taker *taker, struct dnp_tl_thread *thread, struct dnp_writer *writer, bool last)
{
	bool ended = thread->state == DNP_TL_ENDED &&
		(!taker->until_ns || thread->end_ns <= taker->until_ns);

	if (thread->taken_all)
		return;
	/* It was asked about before all was told: when it began may still come. */
	if (!last && !thread->taken && thread->met_ns > taker->timeline->told_ns)
		return;
	dnp_taker_meet(taker, thread, writer);
	write_name(thread, writer);
	if (ended || last)
		write_rest(taker, thread, writer, last);
	else if (taker->hurry && taker->timeline->switches)
		write_all_told(taker, thread, writer);
	else
		write_some(taker, thread, writer);
	if (ended && taker->was_called && !is_defined_here(thread) && thread->name[0])
		taker->was_called(thread->index, thread->tid, thread->name, writer);
	thread->taken_all = ended;
}

/* ---- What is missing */

static void write_losses(struct dnp_taker *taker, struct dnp_writer *writer)
{
	const struct dnp_tl_store *store = &taker->timeline->store;

	for (size_t i = 0; i < store->losses.n; i++) {
		const struct dnp_tl_loss *loss = &store->losses.p[i];

		if (loss->id <= taker->loss)
			continue;
		taker->loss = loss->id;
		taker->lost += loss->records;
		dnp_write_switch_loss(writer,
			&(struct dnp_rec_switch_loss){
				.cpu = loss->cpu,
				.from_ns = loss->from_ns,
				.until_ns = loss->until_ns,
				.count = loss->records,
			});
	}
}

/* The time line lets go what it has no memory for, though it is not written yet. */
static void write_missing(struct dnp_taker *taker, struct dnp_writer *writer)
{
	struct dnp_tl_store *store = &taker->timeline->store;
	unsigned n = store->missing_from_ns ? dnp_processors() : 0;

	for (unsigned cpu = 0; cpu < n; cpu++)
		dnp_write_switch_loss(writer,
			&(struct dnp_rec_switch_loss){
				.cpu = cpu,
				.from_ns = store->missing_from_ns,
				.until_ns = store->missing_until_ns,
				.count = 1,
			});
	taker->lost += n;
	store->missing_from_ns = store->missing_until_ns = 0;
}

void dnp_taker_hold(struct dnp_taker *taker)
{
	struct dnprof_timeline *timeline = taker->timeline;

	pthread_mutex_lock(&timeline->lock);
	if (taker->hurry && timeline->switches && !timeline->ended_ns) {
		dnp_tl_look_at_threads(timeline);
		dnp_tl_take_in(timeline);
	}
	taker->until_ns = timeline->told_ns;
	pthread_mutex_unlock(&timeline->lock);
}

void dnp_taker_hurry(struct dnp_taker *taker)
{
	taker->hurry = true;
}

void dnp_taker_write(struct dnp_taker *taker, struct dnp_writer *writer, bool last)
{
	struct dnprof_timeline *timeline = taker->timeline;
	struct dnp_tl_store *store = &timeline->store;

	pthread_mutex_lock(&timeline->lock);
	if (last)
		taker->until_ns = 0;
	write_losses(taker, writer);
	write_missing(taker, writer);
	for (size_t i = 0; i < store->threads.n; i++)
		if (store->threads.p[i]->pid == store->pid)
			write_thread(taker, store->threads.p[i], writer, last);
	if (dnp_taker_has_others(taker))
		dnp_others_write(taker, writer, last);
	if (timeline->told_ns > KEEP_NS)
		dnp_tl_store_drop_ended(store, timeline->told_ns - KEEP_NS);
	taker->until_ns = 0;
	taker->hurry = false;
	pthread_mutex_unlock(&timeline->lock);
}
