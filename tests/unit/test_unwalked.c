/* SPDX-License-Identifier: MIT */
/* Samples in code that nobody has told of yet: who drains walks their stacks, when it is known. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agentless.h"
#include "capture/happened.h"
#include "capture/self.h"
#include "clr/codemap.h"
#include "os/thread.h"
#include "store/drain.h"
#include "store/overflow.h"
#include "test.h"
#include "unwind/native.h"
#include "unwind/target.h"

#define DEPTH   2048
#define SAMPLES 400
#define FRAMES  64

static struct dnp_thread *thread;
static struct dnp_codemap *map;
static uintptr_t code;

#define TRAP_AT 16

/*
 * push %rbp; mov %rsp,%rbp; sub $0x40,%rsp; call *%rdi; add $0x40,%rsp; pop %rbp; ret; and a
 * function of its own: int3; ret
 */
static const uint8_t bytes[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0xff, 0xd7, 0x48,
	0x83, 0xc4, 0x40, 0x5d, 0xc3, 0xcc, 0xc3};

/* Of each of the first samples, by its time: its frames, root first. */
static dnp_frame_word frames[SAMPLES][FRAMES];
static uint32_t n_frames[SAMPLES];
static uint64_t n_samples;

static uint32_t also; /* events besides the first that each sample is for */

static void on_signal(int signo, siginfo_t *info, void *context)
{
	struct dnp_sample sample = {.time_ns = n_samples++, .weight = 1};

	(void)signo;
	(void)info;
	CHECK(dnp_self_enter(thread));
	dnp_self_sample(thread, &sample, also, 0, context);
	dnp_self_leave(thread);
}

__attribute__((noinline)) static void take_sample(void)
{
	raise(SIGUSR1);
	asm volatile("");
}

static void call_at(uintptr_t at, void (*callee)(void))
{
	void (*function)(void (*)(void));

	memcpy(&function, &at, sizeof(function));
	function(callee);
	asm volatile("");
}

static void call_the_code(void)
{
	call_at(code, take_sample);
}

static uint32_t note_frame(struct dnp_drain *drain, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature)
{
	(void)drain;
	(void)collecting;
	(void)nature;
	if (time_ns < SAMPLES) {
		CHECK(n_frames[time_ns] < FRAMES);
		frames[time_ns][n_frames[time_ns]++] = word;
	}
	return (uint32_t)word | 1;
}

static void tell_of_the_code(void)
{
	struct dnp_code told = {.begin = code,
		.bytes = sizeof(bytes),
		.method = 1,
		.born_ns = 1,
		.prolog_bytes = 8,
		.rule = {.cfa = DNP_CFA_BP, .off = 16, .bp_slot = -2}};

	if (!dnp_codemap_find(map, code))
		CHECK_EQ(dnp_codemap_add(map, &told, 1), 0);
}

static uint32_t walk_untold(const struct dnp_unwalked *left, const void *stack, size_t n_bytes,
	dnp_frame_word *to, uint32_t max, enum dnp_walk_stop *stop)
{
	return (uint32_t)dnp_target_walk_copy(
		&left->regs, left->exact, left->low, stack, n_bytes, to, max, stop);
}

static uint32_t walk_when_told(const struct dnp_unwalked *left, const void *stack, size_t n_bytes,
	dnp_frame_word *to, uint32_t max, enum dnp_walk_stop *stop)
{
	tell_of_the_code();
	return walk_untold(left, stack, n_bytes, to, max, stop);
}

static void begin_all(struct dnp_drain *drain)
{
	uintptr_t low, high;
	void *page;
	int is_new;

	page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		SKIP("memory that is written and executed is not allowed here");
	code = (uintptr_t)memcpy(page, bytes, sizeof(bytes));
	map = dnp_codemap_new();
	CHECK(map && dnp_native_refresh() >= 0);
	dnp_walk_use(map);
	dnp_threads_init(DEPTH, DNP_EVENTS_MAX);
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread && !dnp_thread_stack(&low, &high));
	dnp_thread_set_stack(thread, low, high);
	CHECK_EQ(dnp_drain_open(drain, open("/dev/null", O_WRONLY | O_CLOEXEC), 1, 1), 0);
	drain->frame_of = note_frame;
}

/* With a handler that takes samples. */
static void begin(struct dnp_drain *drain)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer calls handlers later, from a frame of its own");
#endif
	begin_all(drain);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
}

static void end(struct dnp_drain *drain)
{
	dnp_drain_stats(drain, (struct dnp_drain_agent){0});
	CHECK_EQ(dnp_drain_close(drain, DNP_END_EXIT), 0);
}

TEST(stacks_through_code_that_is_told_of_later_are_whole)
{
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */

	begin(&drain);
	drain.walk = walk_when_told;
	for (unsigned i = 0; i < 3; i++) {
		call_the_code();
		CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	}
	end(&drain);
	CHECK_EQ(drain.sums[0].samples, 3);
	CHECK_EQ(drain.sums[0].stops[DNP_STOP_END], 3);
	/* The second is the first that its thread has walked to the end, and shares nothing with
	 * it. */
	CHECK(n_frames[0] > 3);
	CHECK_EQ(n_frames[0], n_frames[1]);
	CHECK(!memcmp(frames[0], frames[1], n_frames[0] * sizeof(*frames[0])));
	CHECK_EQ(drain.sums[0].frames, 3 * n_frames[0]);
	/* The third shares all. */
	CHECK_EQ(n_frames[2], 0);
}

TEST(stacks_through_code_that_nobody_tells_of_end_there)
{
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */
	uint64_t unknown;

	begin(&drain);
	for (unsigned i = 0; i < SAMPLES; i++)
		call_the_code();
	unknown = thread->own.counts[0].stops[DNP_STOP_UNKNOWN];
	CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	end(&drain);
	/* So many stacks have no room in the ring: most were stored as far as they were known. */
	CHECK(unknown > 0 && unknown < SAMPLES);
	CHECK_EQ(drain.sums[0].samples, SAMPLES);
	CHECK_EQ(drain.sums[0].lost, 0);
	CHECK_EQ(drain.sums[0].stops[DNP_STOP_UNKNOWN], SAMPLES);
	for (unsigned i = 0; i + 1 < SAMPLES; i++)
		CHECK(n_frames[i] <= 4);
}

TEST(what_is_not_walked_cannot_be_repeated)
{
	struct dnp_sample again = {.weight = 5};
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */

	begin(&drain);
	call_the_code();
	CHECK(!dnp_feed_has_last(&thread->own));
	CHECK(!dnp_feed_repeat(&thread->own, &again));
	CHECK_EQ(thread->own.counts[0].lost[DNP_LOSS_STACK], 5);
	end(&drain);
}

static uint32_t walks_of(unsigned event)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < DNP_WALK_BUCKETS; i++)
		n += thread->own.counts[event].walks[i];
	return n;
}

TEST(what_is_not_walked_for_two_events_was_one_walk)
{
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */

	begin(&drain);
	also = 1U << 1;
	call_the_code();
	CHECK_EQ(thread->own.counts[0].samples, 1);
	CHECK_EQ(thread->own.counts[1].samples, 1);
	CHECK_EQ(walks_of(0), 1);
	CHECK_EQ(walks_of(1), 0);
	end(&drain);
}

/* One that began a collection in the background is not told of its end. */
TEST(who_runs_managed_code_collects_no_more)
{
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */

	begin(&drain);
	tell_of_the_code();
	atomic_store(&thread->collecting, 1);
	call_the_code();
	CHECK(dnp_thread_collects(thread));
	call_at(code + TRAP_AT, take_sample);
	CHECK(!dnp_thread_collects(thread));
	end(&drain);
	CHECK_EQ(n_samples, 2);
}

/* ---- What happens, on whose stack there is such code */

#define LABEL 7

static const struct dnp_engine_setting setting = {
	.thread = thread_of, .is_ours = is_ours, .own_id = no_id};

__attribute__((noinline)) static void tell_what_happens(void)
{
	dnp_happened(&setting,
		&(struct dnp_happening){
			.label = LABEL, .time_ns = n_samples++, .weight = 1, .value = 24});
	asm volatile("");
}

TEST(what_happens_below_code_that_is_told_of_later_has_its_whole_stack)
{
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */
	volatile unsigned times = 2;   /* unknown to the compiler: it is called from one place */

	begin_all(&drain);
	drain.walk = walk_when_told;
	while (times--) {
		call_at(code, tell_what_happens);
		CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	}
	end(&drain);
	CHECK_EQ(drain.sums[0].samples, 2);
	CHECK_EQ(drain.sums[0].stops[DNP_STOP_END], 2);
	CHECK_EQ(drain.sums[0].frames, 2 * n_frames[0]);
	/* The second, which its thread has walked itself, is the same: below the label comes what
	 * is managed. */
	CHECK(n_frames[0] > 3 && n_frames[0] == n_frames[1]);
	CHECK(!memcmp(frames[0], frames[1], n_frames[0] * sizeof(*frames[0])));
	CHECK(frames[0][n_frames[0] - 1] == dnp_label_frame(LABEL));
	CHECK_EQ(DNP_FRAME_KIND(frames[0][n_frames[0] - 2]), DNP_WALK_JIT);
}

static dnp_frame_word kept[DEPTH];
static uint32_t n_kept, kept_words;

static void keep(struct dnp_thread *of, const struct dnp_happening *happening,
	const struct dnp_walked *walked)
{
	(void)of;
	(void)happening;
	n_kept = walked->n;
	kept_words = walked->left;
	memcpy(kept, walked->frames, kept_words * sizeof(*kept));
}

__attribute__((noinline)) static void tell_and_keep(void)
{
	dnp_happened(&setting,
		&(struct dnp_happening){
			.label = LABEL, .time_ns = n_samples++, .weight = 1, .walked = keep});
	asm volatile("");
}

/* Who keeps the stack besides has the same as the sample, once it is known what code that was. */
TEST(what_happens_below_code_that_is_told_of_later_is_the_same_for_who_keeps_it)
{
	static const struct dnp_engine_setting walking = {.unwalked = walk_when_told};
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */
	static dnp_frame_word whole[DEPTH];
	enum dnp_walk_stop stop = DNP_STOP_UNKNOWN;
	uint32_t n;

	begin_all(&drain);
	drain.walk = walk_when_told;
	call_at(code, tell_and_keep);
	CHECK(n_kept && kept_words > n_kept);
	n = dnp_happened_rest(&walking, kept, n_kept, kept_words, whole, DEPTH, &stop);
	CHECK_EQ(stop, DNP_STOP_END);
	CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	end(&drain);
	CHECK(n > n_kept && n == n_frames[0]);
	for (uint32_t i = 0; i < n; i++)
		CHECK(whole[i] == frames[0][n - 1 - i]);
}

TEST(what_happens_more_often_than_the_ring_has_room_for_has_its_whole_stack)
{
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */

	begin_all(&drain);
	drain.walk = walk_when_told;
	for (unsigned i = 0; i < SAMPLES / 4; i++)
		call_at(code, tell_what_happens);
	CHECK(dnp_overflow_bytes() > 0);
	CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	end(&drain);
	CHECK_EQ(drain.sums[0].samples, SAMPLES / 4);
	CHECK_EQ(drain.sums[0].stops[DNP_STOP_END], SAMPLES / 4);
	CHECK_EQ(drain.sums[0].frames, SAMPLES / 4 * n_frames[0]);
	for (unsigned i = 1; i < SAMPLES / 4; i++) {
		CHECK_EQ(n_frames[i], n_frames[0]);
		CHECK(!memcmp(frames[i], frames[0], n_frames[0] * sizeof(*frames[0])));
	}
}

TEST(what_happens_below_code_that_nobody_tells_of_is_stored_without_room_for_the_rest)
{
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */
	uint64_t stored;

	begin_all(&drain);
	drain.walk = walk_untold;
	while (!thread->own.counts[0].stops[DNP_STOP_UNKNOWN] && n_samples < 100000)
		call_at(code, tell_what_happens);
	CHECK(n_samples < 100000);
	stored = n_samples;
	CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	end(&drain);
	CHECK_EQ(drain.sums[0].samples, stored);
	CHECK_EQ(drain.sums[0].lost, 0);
	CHECK_EQ(drain.sums[0].stops[DNP_STOP_UNKNOWN], stored);
	CHECK_EQ(DNP_FRAME_KIND(frames[0][0]), DNP_WALK_UNKNOWN);
}

/* Above the code is nothing but what tells, so there is no stack for what a handler left meanwhile.
 */
TEST(handler_that_came_meanwhile_is_lost)
{
	static struct dnp_drain drain; /* large: the stack is to fit into a sample */

	begin_all(&drain);
	drain.walk = walk_when_told;
	thread->late[1] = 3;
	call_at(code, tell_what_happens);
	CHECK_EQ(thread->late[1], 0);
	CHECK_EQ(thread->own.counts[1].lost[DNP_LOSS_NESTED], 3);
	CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	end(&drain);
	CHECK_EQ(drain.sums[0].stops[DNP_STOP_END], 1);
}
