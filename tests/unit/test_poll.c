/* SPDX-License-Identifier: MIT */
/* Looks at clocks that go as they are told here, on any system → where a thread is said to run. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "os/clock.h"
#include "test.h"
#include "timeline/timeline.h"

#define MS INT64_C(1000000)

enum { PID = 100, TID = 104 };

/* ---- What the system says */

static uint64_t cpu_ns, cycles, step_ns, listed_ns, start_ticks = 1;
static bool gone;
static struct dnp_task_clock end; /* of one that has; its time 0: it is not told */

int dnp_tasks_allowed(int pid, struct dnp_err *err)
{
	(void)pid;
	(void)err;
	return 0;
}

void dnp_tasks_let_go(void)
{
}

int dnp_tasks_each(int pid, int (*visit)(int tid, void *context), void *context)
{
	int result;

	(void)pid;
	dnp_sleep_until_ns(dnp_now_ns() + 2 * MS);
	result = visit(TID, context);
	listed_ns = dnp_now_ns();
	return result;
}

int dnp_task_cpu(int pid, int tid, uint64_t *ns)
{
	(void)pid;
	(void)tid;
	*ns = cpu_ns;
	return gone ? -ESRCH : 0;
}

int dnp_task_clock(int pid, int tid, struct dnp_task_clock *clock)
{
	*clock = (struct dnp_task_clock){.time_ns = dnp_now_ns()};
	return dnp_task_cpu(pid, tid, &clock->cpu_ns);
}

int dnp_task_end(int pid, int tid, struct dnp_task_clock *clock)
{
	(void)pid;
	(void)tid;
	*clock = end;
	return gone && end.time_ns ? 0 : -ESRCH;
}

uint64_t dnp_task_cycles(int pid, int tid)
{
	(void)pid;
	(void)tid;
	return cycles;
}

bool dnp_task_has_cycles(void)
{
	return cycles;
}

uint64_t dnp_task_step_ns(void)
{
	return step_ns;
}

int dnp_task_ask(int pid, int tid, struct dnp_task *task)
{
	(void)pid;
	(void)tid;
	*task = (struct dnp_task){.start_ticks = 1};
	return 0;
}

uint64_t dnp_task_start_ticks(int pid, int tid)
{
	(void)pid;
	(void)tid;
	return start_ticks;
}

void dnp_task_name(int pid, int tid, char name[16])
{
	(void)pid;
	(void)tid;
	strcpy(name, "it");
}

int dnp_task_set_name(int tid, const char *name)
{
	(void)tid;
	(void)name;
	return 0;
}

bool dnp_process_is_alive(int pid)
{
	return pid == PID;
}

uint64_t dnp_process_cpu_ns(int pid)
{
	(void)pid;
	return cpu_ns;
}

/* ---- Looks */

static dnprof_timeline timeline;
static struct dnp_tl_thread *thread;

/* A thread whose clock stood for a second, and the last look at it. */
static void begin(uint64_t step)
{
	uint64_t now_ns = dnp_now_ns();
	struct dnp_task_clock stands = {.time_ns = now_ns - 1000 * MS};

	step_ns = step;
	cpu_ns = cycles = 0;
	gone = false;
	end.time_ns = 0;
	timeline.store.pid = PID;
	timeline.store.bytes_max = UINT64_MAX;
	timeline.store.from_ns = stands.time_ns;
	timeline.told_ns = timeline.listed_ns = now_ns;
	thread = dnp_tl_store_add(&timeline.store, PID, TID, stands.time_ns);
	thread->seen_ns = now_ns;
	dnp_tl_store_checkpoint(&timeline.store, thread, &stands);
}

/* After it got so much, by its clock and by its cycles. Returns when it was seen before. */
static uint64_t look(int64_t cpu, uint64_t more_cycles)
{
	uint64_t before_ns = thread->seen_ns;

	dnp_sleep_until_ns(timeline.told_ns + MS);
	cpu_ns += (uint64_t)cpu;
	cycles += more_cycles;
	dnp_tl_poll(&timeline);
	CHECK(thread->state == DNP_TL_ENDED || thread->seen_ns > before_ns);
	CHECK(timeline.told_ns >= thread->seen_ns);
	return before_ns;
}

static void check_last(size_t slices, uint64_t from_ns)
{
	CHECK_EQ(thread->slices.n, slices);
	CHECK_EQ(thread->slices.p[slices - 1].start_ns, from_ns);
	CHECK_EQ(thread->slices.p[slices - 1].end_ns, thread->seen_ns);
	CHECK_EQ(thread->slices.p[slices - 1].how, DNPROF_SLICE_SAMPLED);
}

static void done(void)
{
	dnp_tl_store_done(&timeline.store);
}

TEST(clock_that_goes_as_its_thread_runs_tells_between_which_looks_it_did)
{
	uint64_t before_ns;

	begin(0);
	before_ns = look(MS / 2, 0);
	check_last(1, before_ns);
	look(0, 0);
	before_ns = look(10 * MS, 0);
	check_last(2, before_ns);
	look(MS, 0);
	check_last(2, before_ns);
	done();
}

TEST(clock_that_goes_by_steps_is_late_by_what_it_says)
{
	uint64_t before_ns, first_ns;

	begin(10 * MS);
	look(0, 0);
	before_ns = look(10 * MS, 0);
	check_last(1, before_ns - 10 * MS);
	first_ns = thread->seen_ns;
	/* Its next step comes sooner than it could if it had not run all of the time. */
	before_ns = look(10 * MS, 0);
	if (before_ns - first_ns < 10 * MS)
		check_last(1, thread->slices.p[0].start_ns);
	done();
}

TEST(no_clock_is_late_by_more_than_a_step)
{
	uint64_t before_ns;

	begin(10 * MS);
	before_ns = look(70 * MS, 0);
	check_last(1, before_ns - 10 * MS);
	done();
}

TEST(clock_that_goes_back_is_another_threads)
{
	begin(0);
	look(10 * MS, 0);
	look(-1 * MS, 0);
	CHECK_EQ(timeline.store.threads.n, 2);
	CHECK_EQ(thread->state, DNP_TL_ENDED);
	done();
}

TEST(clock_that_goes_by_steps_may_be_behind_what_its_thread_has_read)
{
	struct dnp_tl_thread *other;

	begin(10 * MS);
	look(10 * MS, 0);
	dnp_tl_store_reading(&timeline.store, thread, dnp_now_ns(), cpu_ns + 6 * MS);
	look(0, 0);
	CHECK_EQ(timeline.store.threads.n, 1);
	look(10 * MS, 0);
	CHECK_EQ(thread->checkpoints.p[thread->checkpoints.n - 1].cpu_ns, 20 * MS);
	look(-11 * MS, 0);
	other = dnp_tl_store_find(&timeline.store, TID);
	CHECK(other != thread);
	CHECK_EQ(other->state, DNP_TL_UNKNOWN);
	done();
}

TEST(cycles_tell_what_clocks_do_not)
{
	uint64_t before_ns;

	begin(10 * MS);
	look(0, 5000); /* since when it has these nobody knows */
	CHECK_EQ(thread->slices.n, 0);
	before_ns = look(0, 1);
	check_last(1, before_ns);
	look(0, 0);
	before_ns = look(10 * MS, 1); /* most of it was used before, and has been seen */
	check_last(2, before_ns);
	look(0, 1);
	check_last(2, before_ns);
	done();
}

TEST(cycles_of_a_new_thread_are_of_its_life)
{
	begin(10 * MS);
	thread->seen_ns = 0;
	look(0, 1);
	check_last(1, thread->checkpoints.p[0].time_ns);
	done();
}

/* Looked for every now and then; the system says more or less when it began. */
TEST(new_thread_begins_no_earlier_than_the_system_says)
{
	uint64_t listed, tick_ns = 1;

	begin(0);
	timeline.listed_ns = listed = dnp_now_ns() - 100 * MS;
	timeline.told_ns = listed;
	/* The last tick that began half of that ago. */
	for (start_ticks = 1; dnp_ticks_begin_ns(start_ticks) < listed + 50 * MS; start_ticks *= 2)
		;
	for (uint64_t step = start_ticks / 2; step; step /= 2)
		if (dnp_ticks_begin_ns(start_ticks - step) >= listed + 50 * MS)
			start_ticks -= step;
	tick_ns = dnp_ticks_begin_ns(start_ticks);
	thread->state = DNP_TL_ENDED;
	dnp_tl_poll(&timeline);
	CHECK_EQ(timeline.store.threads.n, 2);
	thread = timeline.store.threads.p[1];
	/* Two looks at the same two clocks. */
	CHECK(thread->begin_ns + 20 * MS > tick_ns && thread->begin_ns < tick_ns + 20 * MS);
	CHECK_EQ(thread->checkpoints.p[0].time_ns, thread->begin_ns);
	start_ticks = 1;
	done();
}

TEST(thread_lives_until_it_is_missed)
{
	begin(0);
	timeline.listed_ns = 0; /* it is found in a list first, which takes its time */
	gone = true;
	dnp_tl_poll(&timeline);
	CHECK_EQ(thread->state, DNP_TL_ENDED);
	CHECK(thread->end_ns >= listed_ns);
	CHECK(thread->end_ns <= timeline.told_ns);
	done();
}

/* Ends so long after it was seen, and with that by its clock, which is looked at `late` after that.
 */
static uint64_t end_with(uint64_t after_ns, uint64_t cpu, uint64_t late_ns)
{
	uint64_t before_ns = thread->seen_ns;

	end = (struct dnp_task_clock){.time_ns = before_ns + after_ns, .cpu_ns = cpu};
	gone = true;
	dnp_sleep_until_ns(before_ns + late_ns);
	dnp_sleep_until_ns(end.time_ns + late_ns);
	dnp_tl_poll(&timeline);
	CHECK_EQ(thread->state, DNP_TL_ENDED);
	return before_ns;
}

TEST(what_a_thread_got_at_its_end_is_known_where_the_system_tells)
{
	const struct dnp_task_clock *last;
	uint64_t before_ns;

	begin(10 * MS);
	cycles = 1;
	look(10 * MS, 1);
	before_ns = end_with(2 * MS, 20 * MS, 3 * MS);
	last = &thread->checkpoints.p[thread->checkpoints.n - 1];
	CHECK_EQ(last->cpu_ns, 20 * MS);
	CHECK_EQ(last->time_ns, before_ns + 2 * MS);
	CHECK_EQ(thread->slices.p[thread->slices.n - 1].end_ns, last->time_ns);
	CHECK(thread->end_ns >= last->time_ns);
	done();
}

static void check_nothing_is_new(uint64_t after_ns, uint64_t cpu)
{
	size_t slices;

	begin(10 * MS);
	look(10 * MS, 0);
	slices = thread->slices.n;
	end_with(after_ns, cpu, MS);
	CHECK_EQ(thread->slices.n, slices);
	CHECK_EQ(thread->checkpoints.p[thread->checkpoints.n - 1].cpu_ns, 10 * MS);
	done();
}

TEST(end_of_which_nothing_is_told)
{
	check_nothing_is_new(2 * MS, 0);
}

TEST(end_before_a_thread_was_seen)
{
	check_nothing_is_new(-(uint64_t)(5 * MS), 30 * MS);
}
