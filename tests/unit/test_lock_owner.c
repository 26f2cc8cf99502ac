/* SPDX-License-Identifier: MIT */
/*
 * The thread that looks at who has locks. The clocks, its sleep and the walk are this test's (see
 * --wrap in meson.build): what happens while it sleeps is a step of the test.
 */
#include "activation.h"
#include "agentless.h"
#include "capture/lock.h"
#include "capture/lock_waits.h"
#include "capture/outside.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/word.h"
#include "test.h"

#define MS    UINT64_C(1000000)
#define LEAST MS /* that waits take if their owners are looked at */
#define EVENT 0
#define GATE  0x7000000000

enum { FIRST = 100, MANY = 500 };

static struct {
	uint64_t now_ns, cpu_ns;
	uint32_t rings;
	const struct step *step; /* of the next sleep */
} faked = {.now_ns = 1000 * MS};

static struct {
	uint64_t samples, weight, not_told;
} told;

/* What happens while our thread sleeps for so long. */
struct step {
	void (*sleep)(uint64_t ns);
};

/* ---- In place of the system */

uint64_t __wrap_dnp_now_ns(void);
uint64_t __wrap_dnp_thread_cpu_ns(int tid);
int __wrap_dnp_own_thread_start(
	struct dnp_own_thread *started, void *(*run)(void *), void *context);
void __wrap_dnp_own_thread_join(struct dnp_own_thread *started);
bool __wrap_dnp_word_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
void __wrap_dnp_word_wake(_Atomic uint32_t *word);

uint64_t __wrap_dnp_now_ns(void)
{
	return faked.now_ns;
}

uint64_t __wrap_dnp_thread_cpu_ns(int tid)
{
	(void)tid;
	return faked.cpu_ns;
}

static void *(*look_on)(void *);

/* It is run when all is ready. */
int __wrap_dnp_own_thread_start(struct dnp_own_thread *started, void *(*run)(void *), void *context)
{
	(void)started;
	(void)context;
	look_on = run;
	return 0;
}

void __wrap_dnp_own_thread_join(struct dnp_own_thread *started)
{
	(void)started;
}

bool __wrap_dnp_word_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	(void)word;
	(void)value;
	faked.step++->sleep(ns);
	return true;
}

void __wrap_dnp_word_wake(_Atomic uint32_t *word)
{
	(void)word;
	faked.rings++;
}

int dnp_outside_walk(struct dnp_thread *thread, unsigned how, dnp_frame_word *frames,
	struct dnp_target_stack *stack, uint64_t *walk_ns)
{
	(void)thread;
	(void)how;
	frames[0] = 0x1234;
	*walk_ns = 1;
	*stack = (struct dnp_target_stack){.n = 1, .asleep = true, .stop = DNP_STOP_END};
	return 0;
}

/* ---- The recording */

int __wrap_dnp_write_sample_at(
	struct dnp_writer *writer, uint64_t time_ns, const struct dnp_rec_sample *sample);
int __wrap_dnp_write_wait_stats(struct dnp_writer *writer, const struct dnp_rec_wait_stats *stats);

int __wrap_dnp_write_sample_at(
	struct dnp_writer *writer, uint64_t time_ns, const struct dnp_rec_sample *sample)
{
	(void)writer;
	(void)time_ns;
	told.samples++;
	told.weight += sample->weight;
	return 0;
}

int __wrap_dnp_write_wait_stats(struct dnp_writer *writer, const struct dnp_rec_wait_stats *stats)
{
	(void)writer;
	CHECK_EQ(stats->seen, told.samples);
	return 0;
}

static struct dnp_walked_node walked(unsigned event, const struct dnp_walked *stack)
{
	(void)event;
	(void)stack;
	return (struct dnp_walked_node){.node = 1};
}

static void tell_missed(unsigned event, const char *reason, uint64_t count)
{
	(void)event;
	if (!strcmp(reason, "owner not told by the runtime"))
		told.not_told = count;
}

/* ---- Waits */

static void wait_for_gate(int tid, int owner)
{
	CHECK(dnp_lock_waits_begin(&(struct dnp_lock_wait){
		.tid = tid, .lock = GATE, .owner = owner, .since_ns = faked.now_ns}));
	dnp_lock_owner_await(faked.now_ns);
}

static void end_wait(int tid, uint64_t ns)
{
	struct dnp_lock_wait wait;

	CHECK(dnp_lock_waits_end(tid, faked.now_ns, ns, &wait));
	CHECK(wait.seen);
}

static void end(uint64_t ns)
{
	(void)ns;
	dnp_engine_lock_owner.stop();
}

static void run(const struct step *steps)
{
	static const struct dnp_agent_options options = {.lock_ns = LEAST};
	static const struct dnp_engine_setting setting = {
		.options = &options, .announce = announce, .thread = thread_of, .walked = walked};
	struct dnp_err err;

	act_as_the_runtime();
	dnp_threads_init(16, DNP_EVENTS_MAX);
	CHECK(thread_of(dnp_thread_id(), 0));
	dnp_lock_waits_clear();
	if (dnp_engine_lock_owner.start(&setting, EVENT, &err))
		FAIL("%s", err.text);
	faked.step = steps;
	look_on(NULL);
	dnp_engine_lock_owner.write(NULL, 1);
	dnp_engine_lock_owner.failures(EVENT, tell_missed);
	dnp_engine_lock_owner.forget();
	dnp_stop_close();
}

/* ---- What it uses of a processor */

#define USED_NS (50 * MS)                  /* for nothing that anybody sees */
#define REST_NS (200 * (USED_NS - 5 * MS)) /* at half a percent, less what it may save up */

static void use_too_much(uint64_t ns)
{
	(void)ns;
	faked.cpu_ns += USED_NS;
}

static void first_waits(uint64_t ns)
{
	CHECK_EQ(ns, REST_NS);
	wait_for_gate(FIRST, 0);
	CHECK_EQ(faked.rings, 0);
}

static void many_wait(uint64_t ns)
{
	CHECK_EQ(ns, REST_NS);
	for (int i = 1; i <= MANY; i++)
		wait_for_gate(FIRST + i, 0);
	CHECK_EQ(faked.rings, 0);
	faked.now_ns += ns;
}

static void one_more_waits(uint64_t ns)
{
	(void)ns;
	wait_for_gate(FIRST + MANY + 1, 0);
	CHECK_EQ(faked.rings, 1);
}

static void time_comes(uint64_t ns)
{
	CHECK_EQ(ns, LEAST);
	faked.now_ns += ns;
}

TEST(nobody_wakes_it_while_it_rests_for_what_it_has_used)
{
	run((const struct step[]){
		{use_too_much}, {first_waits}, {many_wait}, {one_more_waits}, {time_comes}, {end}});
	CHECK_EQ(told.not_told, 1 + MANY + 1);
}

/* ---- What is recorded */

static void both_wait(uint64_t ns)
{
	(void)ns;
	wait_for_gate(FIRST, dnp_thread_id());
	wait_for_gate(FIRST + 1, dnp_thread_id());
	faked.now_ns += LEAST;
}

/* One of them did not get a processor for long before it could say that it waits no more. */
static void both_end(uint64_t ns)
{
	(void)ns;
	end_wait(FIRST, LEAST - 1);
	end_wait(FIRST + 1, LEAST);
	dnp_engine_lock_owner.stop();
}

TEST(owners_are_told_of_waits_that_are_long_enough_by_the_runtime)
{
	run((const struct step[]){{both_wait}, {both_end}});
	CHECK_EQ(told.samples, 1);
	CHECK_EQ(told.weight, LEAST);
}
