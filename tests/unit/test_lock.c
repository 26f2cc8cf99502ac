/* SPDX-License-Identifier: MIT */
/*
 * Waits for locks as the runtime tells of them, on threads of which this test says which one it is
 * (see --wrap in meson.build).
 */
#include "capture/lock.h"

#include "agentless.h"
#include "capture/happened.h"
#include "capture/lock_waits.h"
#include "clr/contention.h"
#include "os/clock.h"
#include "os/thread.h"
#include "store/labels.h"
#include "test.h"

#define LEAST    UINT64_C(1000)
#define EVENT    0
#define CLASS    0x5000
#define OF_CLASS 77 /* label */

enum { FIRST = 100, THREADS = DNP_LOCK_WAITS_MAX };

static int tid; /* who is told of something */

/* What was told last. */
static struct {
	uint64_t missed[DNP_LOCK_MISSED];
	struct dnp_happening happening;
	unsigned happenings;
} told;

/* ---- In place of the system, and of others */

int __wrap_dnp_thread_id(void);
void __wrap_dnp_happened(
	const struct dnp_engine_setting *setting, const struct dnp_happening *happening);
void __wrap_dnp_lock_owner_await(uint64_t since_ns);
void __wrap_dnp_lock_owner_missed(enum dnp_lock_missed why);

int __wrap_dnp_thread_id(void)
{
	return tid;
}

void __wrap_dnp_happened(
	const struct dnp_engine_setting *setting, const struct dnp_happening *happening)
{
	(void)setting;
	told.happening = *happening;
	told.happenings++;
}

void __wrap_dnp_lock_owner_await(uint64_t since_ns)
{
	(void)since_ns;
}

void __wrap_dnp_lock_owner_missed(enum dnp_lock_missed why)
{
	told.missed[why]++;
}

static uint32_t class_label(uintptr_t class_id)
{
	CHECK_EQ(class_id, CLASS);
	return OF_CLASS;
}

/* ---- The runtime */

static const uint64_t gate; /* what it keeps of the lock */
static const uintptr_t object[1] = {CLASS};

static void start(void)
{
	static const struct dnp_agent_options options = {.lock_ns = LEAST};
	static const struct dnp_engine_setting setting = {.options = &options,
		.runtime = 10,
		.is_ours = is_ours,
		.thread = thread_of,
		.class_label = class_label};
	struct dnp_err err;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	if (dnp_engine_lock.start(&setting, EVENT, &err))
		FAIL("%s", err.text);
}

static void deliver(uint32_t id, uint32_t version, const void *fields, size_t n)
{
	uint8_t data[64] = {0}; /* flags, number of the runtime */

	memcpy(data + 3, fields, n);
	dnp_engine_lock.delivered(&(struct dnp_delivered){.provider = DNP_PROVIDER_RUNTIME,
		.id = id,
		.version = version,
		.data = data,
		.bytes = 3 + n});
}

static void begin(int who)
{
	const uint64_t fields[] = {(uintptr_t)&gate, (uintptr_t)object, FIRST - 1};

	tid = who;
	deliver(DNP_EVENT_CONTENTION_START, 2, fields, sizeof(fields));
}

static void end_after(int who, double ns)
{
	tid = who;
	deliver(DNP_EVENT_CONTENTION_STOP, 1, &ns, sizeof(ns));
}

static void end(int who)
{
	end_after(who, LEAST);
}

static void check_told_of_gate(void)
{
	CHECK_EQ(told.happening.label, OF_CLASS);
	CHECK_EQ(told.happening.value, (uintptr_t)&gate);
	CHECK_EQ(told.happening.weight, LEAST);
}

static void check_told_of_unknown(void)
{
	struct dnp_str text = dnp_label_get(told.happening.label).text;

	CHECK(dnp_str_eq(text, dnp_str("[waited for since before the recording]")));
	CHECK_EQ(told.happening.value, 0);
}

/* The recorder takes none of those that are over, as it does while it learns what code there is. */
static void all_wait_and_are_seen(void)
{
	struct dnp_lock_wait wait;

	for (int i = 0; i < THREADS; i++)
		begin(FIRST + i);
	while (dnp_lock_waits_next(UINT64_MAX, &wait))
		CHECK(dnp_lock_waits_saw(&wait));
	for (int i = 0; i < THREADS; i++)
		end(FIRST + i);
	CHECK_EQ(told.happenings, THREADS);
}

TEST(lock_knows_what_is_waited_for_where_there_is_no_room_for_owners)
{
	start();
	all_wait_and_are_seen();
	begin(FIRST);
	end(FIRST);
	CHECK_EQ(told.happenings, THREADS + 1);
	check_told_of_gate();
	CHECK_EQ(told.missed[DNP_LOCK_MANY], 1);
	CHECK_EQ(told.missed[DNP_LOCK_BEFORE], 0);
	dnp_engine_lock.stop();
}

TEST(lock_knows_which_waits_it_was_not_told_the_begin_of)
{
	struct dnp_lock_wait wait;

	start();
	end(FIRST);
	check_told_of_unknown();
	CHECK_EQ(told.missed[DNP_LOCK_BEFORE], 1);
	told.happenings = 0;
	all_wait_and_are_seen();
	begin(FIRST);
	end(FIRST);
	CHECK_EQ(told.missed[DNP_LOCK_MANY], 1);
	while (dnp_lock_waits_take(&wait))
		;
	end(FIRST + 1);
	check_told_of_unknown();
	CHECK_EQ(told.missed[DNP_LOCK_BEFORE], 2);
	CHECK_EQ(told.missed[DNP_LOCK_MANY], 1);
	begin(FIRST + 1);
	end(FIRST + 1);
	check_told_of_gate();
	dnp_engine_lock.stop();
}

static struct dnp_rec_wait_stats stats;

void __wrap_dnp_write_wait_stats(struct dnp_writer *writer, const struct dnp_rec_wait_stats *rec);

void __wrap_dnp_write_wait_stats(struct dnp_writer *writer, const struct dnp_rec_wait_stats *rec)
{
	(void)writer;
	stats = *rec;
}

/* All are counted; a record, and what samples the thread, is for those that are told of. */
TEST(lock_makes_no_record_of_a_thread_that_waits_shortly)
{
	start();
	begin(FIRST);
	end_after(FIRST, LEAST - 1);
	end_after(FIRST + 1, LEAST - 1);
	CHECK(!dnp_thread_find(FIRST) && !dnp_thread_find(FIRST + 1));
	CHECK_EQ(told.happenings, 0);
	begin(FIRST);
	end(FIRST);
	check_told_of_gate();
	CHECK_EQ(told.missed[DNP_LOCK_BEFORE], 0);
	CHECK_EQ(told.missed[DNP_LOCK_SHORT], 1);
	dnp_engine_lock.write(NULL, false);
	CHECK_EQ(stats.waits, 3);
	CHECK_EQ(stats.seen, 1);
	CHECK_EQ(stats.waited_ns, 3 * LEAST - 2);
	dnp_engine_lock.stop();
}

/* The recorder finds that who had the record's number before that time has gone. */
static void tell_end(struct dnp_thread *thread, uint64_t gone_ns)
{
	thread->gone_ns = gone_ns;
	dnp_thread_leave(thread);
	dnp_engine_lock.thread_end(thread);
	dnp_thread_release(thread);
}

/* Another one had its number, and it waits before that one's end is noticed. */
TEST(lock_knows_the_wait_of_a_thread_that_lives_when_another_with_its_number_ends)
{
	struct dnp_thread *thread;
	uint64_t gone_ns;

	start();
	thread = thread_of(FIRST, 0);
	gone_ns = dnp_now_ns();
	begin(FIRST);
	tell_end(thread, gone_ns);
	end(FIRST);
	check_told_of_gate();
	CHECK_EQ(told.missed[DNP_LOCK_BEFORE], 0);
	dnp_engine_lock.write(NULL, false);
	CHECK_EQ(stats.endless, 0);
	dnp_engine_lock.stop();
}

/* A thread that has gone leaves its place to another one. */
TEST(lock_does_not_take_a_wait_for_that_of_a_thread_that_has_gone)
{
	struct dnp_thread *gone;

	start();
	all_wait_and_are_seen();
	begin(FIRST);
	gone = dnp_thread_find(FIRST);
	tell_end(gone, dnp_now_ns() + 1);
	CHECK(thread_of(FIRST + 1, 0) == gone);
	end(FIRST + 1);
	check_told_of_unknown();
	dnp_engine_lock.stop();
}
