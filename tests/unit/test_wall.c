/* SPDX-License-Identifier: MIT */
/*
 * What the engine of all time tells of a thread is its life, split as the kernel's account splits
 * it, whenever the sampler gets to look at it. The clocks, the sampler's turns and the walk are
 * this test's (see --wrap in meson.build); the thread is the test's own.
 */
#include <errno.h>

#include "agentless.h"
#include "capture/outside.h"
#include "capture/running.h"
#include "os/clock.h"
#include "os/tasks.h"
#include "os/thread.h"
#include "os/word.h"
#include "test.h"

#define MS               UINT64_C(1000000) /* the interval: all times are whole ones, so no weight is rounded */
#define EVENT            0
#define PLACE            UINT64_C(0x1234) /* where it sleeps, by the walk */
#define BEFORE_WAITED_NS (40 * MS)        /* for a processor, before anybody knew of it */

/* What the kernel has booked for the thread. */
static struct {
	uint64_t now_ns, ran_ns, waited_ns;
	bool gone, no_descriptor;
} booked = {.now_ns = 1000 * MS, .ran_ns = 7 * MS, .waited_ns = BEFORE_WAITED_NS};

static struct dnp_thread *thread;
static void *(*sampler)(void *);

/* ---- In place of the system */

uint64_t __wrap_dnp_now_ns(void);
uint64_t __wrap_dnp_thread_cpu_ns(int tid);
int __wrap_dnp_thread_exists(int tid);
int __wrap_dnp_task_clock(int pid, int tid, struct dnp_task_clock *clock);
int __wrap_dnp_own_thread_start(
	struct dnp_own_thread *started, void *(*run)(void *), void *context);
void __wrap_dnp_own_thread_join(struct dnp_own_thread *started);
bool __wrap_dnp_word_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);

uint64_t __wrap_dnp_now_ns(void)
{
	return booked.now_ns;
}

uint64_t __wrap_dnp_thread_cpu_ns(int tid)
{
	(void)tid;
	return booked.gone ? 0 : booked.ran_ns;
}

int __wrap_dnp_thread_exists(int tid)
{
	(void)tid;
	return !booked.gone;
}

int __wrap_dnp_task_clock(int pid, int tid, struct dnp_task_clock *clock)
{
	(void)pid;
	(void)tid;
	*clock = (struct dnp_task_clock){
		.time_ns = booked.now_ns,
		.cpu_ns = booked.ran_ns,
		.wait_ns = booked.no_descriptor ? 0 : booked.waited_ns,
		.waits_known = !booked.no_descriptor,
	};
	return booked.gone ? -ESRCH : 0;
}

/* The sampler has its turns when the test says so. */
int __wrap_dnp_own_thread_start(struct dnp_own_thread *started, void *(*run)(void *), void *context)
{
	(void)started;
	(void)context;
	sampler = run;
	return 0;
}

void __wrap_dnp_own_thread_join(struct dnp_own_thread *started)
{
	(void)started;
}

/* It is to end at once, which it does with a last look at each thread. */
bool __wrap_dnp_word_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	(void)value;
	(void)ns;
	atomic_store(word, 1);
	return true;
}

/* Nobody who runs is sampled here. */
int dnp_running_start(const struct dnp_engine_setting *setting, unsigned event, struct dnp_err *err)
{
	(void)setting;
	(void)event;
	(void)err;
	return 0;
}

const char *dnp_running_source(void)
{
	return "none";
}

const char *dnp_running_note(void)
{
	return "";
}

bool dnp_running_at_once(void)
{
	return false;
}

bool dnp_running_tells_threads(void)
{
	return false;
}

void dnp_running_thread_begin(struct dnp_thread *begun, unsigned event)
{
	(void)begun;
	(void)event;
}

void dnp_running_look(unsigned event)
{
	(void)event;
}

void dnp_running_thread_end(struct dnp_thread *ended, unsigned event)
{
	(void)ended;
	(void)event;
}

void dnp_running_stop(unsigned event)
{
	(void)event;
}

int dnp_outside_walk(struct dnp_thread *walked, unsigned how, dnp_frame_word *frames,
	struct dnp_target_stack *stack, uint64_t *walk_ns)
{
	(void)walked;
	(void)how;
	frames[0] = PLACE;
	*walk_ns = 1;
	*stack = (struct dnp_target_stack){.n = 1, .asleep = true, .stop = DNP_STOP_END};
	return 0;
}

/* ---- The thread's life */

static void begin(void)
{
	static const struct dnp_agent_options options = {.interval_ns = MS};
	static const struct dnp_engine_setting setting = {
		.options = &options, .is_ours = is_ours, .announce = announce, .thread = thread_of};
	struct dnp_err err;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	if (dnp_engine_wall.start(&setting, EVENT, &err))
		FAIL("%s", err.text);
	thread = thread_of(dnp_thread_id(), 0);
	CHECK(thread);
	dnp_engine_wall.thread_begin(thread);
}

static void run(uint64_t ms)
{
	booked.now_ns += ms * MS;
	booked.ran_ns += ms * MS;
}

static void wait_for_processor(uint64_t ms)
{
	booked.now_ns += ms * MS;
	booked.waited_ns += ms * MS;
}

static void sleep_on(uint64_t ms)
{
	booked.now_ns += ms * MS;
}

static void look(void)
{
	sampler(NULL);
}

/* It says so itself, and then the recorder finds that it has gone. */
static void end(void)
{
	if (dnp_engine_wall.managed_end)
		dnp_engine_wall.managed_end(0, thread->tid);
	atomic_store(&thread->end_cpu_ns, booked.ran_ns);
	atomic_store(&thread->end_ns, booked.now_ns);
	booked.gone = true;
	dnp_engine_wall.thread_end(thread);
}

/* It says nothing, as one that native code has made: that it has gone is found some time later. */
static void end_silently(void)
{
	booked.gone = true;
	sleep_on(500);
}

/* ---- What was told of it */

static struct told {
	uint64_t ready, not_yet, asleep; /* ms */
} told;

static void count(dnp_frame_word frame, uint64_t weight)
{
	switch (DNP_FRAME_KIND(frame)) {
	case DNP_WALK_READY: told.ready += weight; return;
	case DNP_WALK_NOT_YET: told.not_yet += weight; return;
	default: CHECK_EQ(frame, PLACE); told.asleep += weight;
	}
}

/* Stacks of one frame each, which is left away where it is that of the sample before. */
static void read_ring(void)
{
	struct dnp_ring *ring = &thread->outside.ring;
	uint64_t at, words[DNP_SAMPLE_WORDS];
	size_t left = dnp_ring_readable(ring, &at);
	dnp_frame_word frame = 0;

	while (left) {
		struct dnp_sample sample;

		dnp_ring_read(ring, at, words, DNP_SAMPLE_WORDS);
		sample = dnp_sample_unpack(words);
		CHECK_EQ(sample.written + sample.shared, 1);
		if (sample.written)
			dnp_ring_read(ring, at + DNP_SAMPLE_WORDS, &frame, 1);
		count(frame, sample.weight);
		at += DNP_SAMPLE_WORDS + sample.written;
		left -= DNP_SAMPLE_WORDS + sample.written;
	}
}

static void check_told(struct told want)
{
	read_ring();
	CHECK_EQ(told.ready, want.ready);
	CHECK_EQ(told.not_yet, want.not_yet);
	CHECK_EQ(told.asleep, want.asleep);
}

/* The sampler has to wait for a processor for as long as the thread lives. */
TEST(wall_tells_what_was_waited_where_nobody_looked)
{
	begin();
	wait_for_processor(10);
	sleep_on(50);
	run(5);
	wait_for_processor(20);
	end();
	check_told((struct told){.ready = 30, .not_yet = 50});
}

TEST(wall_tells_what_was_waited_before_the_first_look)
{
	begin();
	wait_for_processor(10);
	sleep_on(50);
	look();
	dnp_engine_wall.stop();
	check_told((struct told){.ready = 10, .asleep = 50});
}

TEST(wall_tells_what_was_waited_after_the_last_look)
{
	begin();
	sleep_on(50);
	look();
	run(5);
	wait_for_processor(20);
	end();
	check_told((struct told){.ready = 20, .asleep = 50});
}

/* What it waited before it was known is not of its time here, whoever comes first. */
TEST(wall_tells_nothing_of_what_was_waited_before)
{
	begin();
	sleep_on(50);
	end();
	check_told((struct told){.not_yet = 50});
}

/* One that was woken and has no processor has not run, and looks as if it slept on. */
static void wait_as_if_asleep(void)
{
	begin();
	sleep_on(100);
	look();
	wait_for_processor(60);
	look();
}

TEST(wall_tells_no_wait_twice_of_a_thread_that_ends)
{
	wait_as_if_asleep();
	run(5);
	end();
	check_told((struct told){.asleep = 160});
}

TEST(wall_tells_no_wait_twice_when_it_stops)
{
	wait_as_if_asleep();
	run(5);
	dnp_engine_wall.stop();
	check_told((struct told){.asleep = 160});
}

/* Of the sleep that comes later so much is left away as was told before it came. */
TEST(wall_makes_up_for_sleep_that_was_none)
{
	wait_as_if_asleep();
	run(5);
	sleep_on(100);
	end();
	check_told((struct told){.ready = 60, .asleep = 200});
}

TEST(wall_makes_up_for_as_much_of_it_as_there_is)
{
	wait_as_if_asleep();
	run(5);
	sleep_on(20);
	wait_for_processor(10);
	end();
	check_told((struct told){.ready = 30, .asleep = 160});
}

/* From when on it is told, it is told of the time from then on. */
TEST(wall_tells_nothing_of_what_was_waited_while_nothing_is_told_of_that)
{
	booked.no_descriptor = true;
	begin();
	sleep_on(50);
	look();
	booked.no_descriptor = false;
	run(1);
	sleep_on(50);
	look();
	run(1);
	wait_for_processor(10);
	end();
	check_told((struct told){.ready = 10, .asleep = 100});
}

TEST(wall_takes_no_wait_back_where_nothing_is_told_of_it)
{
	begin();
	wait_for_processor(10);
	sleep_on(20);
	look();
	booked.no_descriptor = true;
	run(1);
	sleep_on(50);
	look();
	check_told((struct told){.ready = 10, .asleep = 70});
}

TEST(wall_takes_no_wait_back_where_less_is_told_of_it)
{
	begin();
	wait_for_processor(30);
	sleep_on(20);
	look();
	booked.waited_ns -= 20 * MS;
	run(1);
	sleep_on(50);
	look();
	check_told((struct told){.ready = 30, .asleep = 70});
}

/* What it ran is in samples of its own, and nobody knows of more. */
TEST(wall_tells_of_a_thread_that_says_no_word_what_was_seen_of_it)
{
	begin();
	sleep_on(50);
	look();
	run(8);
	end_silently();
	dnp_engine_wall.thread_end(thread);
	check_told((struct told){.asleep = 50});
}

TEST(wall_tells_nothing_of_a_thread_that_nobody_saw_and_that_says_no_word)
{
	begin();
	run(8);
	end_silently();
	look();
	dnp_engine_wall.stop();
	check_told((struct told){0});
}
