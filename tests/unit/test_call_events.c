/* SPDX-License-Identifier: MIT */
/*
 * Depth events as the runtime would drive it: the real hooks, called with the registers that
 * compiled methods use, the real rings and the real writer thread into a real file, which is then
 * read and compared with what was done.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/call_events.h"
#include "capture/calls.h"
#include "os/clock.h"
#include "os/thread_word.h"
#include "os/ticks.h"
#include "read/calls.h"
#include "read/input.h"
#include "read/visit.h"
#include "test.h"

#define EVENT   3
#define METHODS 1000

static struct dnp_call_method methods[METHODS];
static _Atomic uint32_t threads;

/* ---- What the engine does */

static uint32_t index_of(int tid)
{
	(void)tid;
	return atomic_fetch_add(&threads, 1);
}

static struct dnp_call_ring *own(void)
{
	CHECK(dnp_calls_of_thread());
	return dnp_calls_own->ring;
}

static void end_own(void)
{
	if (dnp_calls_own)
		dnp_calls_release(dnp_calls_own, UINT64_MAX);
	dnp_calls_own = NULL;
}

static struct dnp_writer writer;
static char path[] = "/tmp/dnprof-test-XXXXXX";

static void start(void)
{
	int fd = mkstemp(path);

	for (uint32_t i = 0; i < METHODS; i++)
		methods[i] = (struct dnp_call_method){.number = i + 1, .function = i + 1};
	CHECK(fd >= 0);
	CHECK_EQ(dnp_writer_open(&writer, fd, 7), 0);
	CHECK_EQ(dnp_calls_open(DNP_CALLS_EVENTS, index_of), 0);
	dnp_call_events_start(EVENT);
	dnp_calls_switch(true);
}

static struct dnp_call_totals finish(void)
{
	dnp_call_events_stop();
	CHECK_EQ(dnp_call_events_write(&writer, 1), 0);
	CHECK_EQ(dnp_writer_close(&writer), 0);
	return dnp_call_events_totals();
}

/* ---- What compiled methods do */

#define CALL_HOOK(hook, id, sp, id_register, sp_register, ...)                                     \
	__asm__ volatile("sub $128, %%rsp\n\t"                                                     \
			 "mov %0, %%" id_register "\n\t"                                           \
			 "mov %1, %%" sp_register "\n\t"                                           \
			 "call " #hook "\n\t"                                                      \
			 "add $128, %%rsp"                                                         \
			 :                                                                         \
			 : "r"(id), "r"(sp)                                                        \
			 : __VA_ARGS__, "rax", "r10", "r11", "cc", "memory")

#define CALLER_BYTES 64 /* of the stack, for each call */

/* Of the caller of the innermost call; its own callees' are further down. */
static _Thread_local uintptr_t sp = UINTPTR_MAX / 2 / CALLER_BYTES * CALLER_BYTES;

static void enter(const struct dnp_call_method *method)
{
	sp -= CALLER_BYTES;
	CALL_HOOK(dnp_hook_events_enter, method, sp, "r14", "r15", "r14", "r15");
}

static void leave(const struct dnp_call_method *method)
{
	CALL_HOOK(dnp_hook_events_leave, method, sp, "rdi", "rsi", "rdi", "rsi", "r8", "r9");
	sp += CALLER_BYTES;
}

static void tailcall(const struct dnp_call_method *method)
{
	CALL_HOOK(dnp_hook_events_tailcall, method, sp, "rdi", "rsi", "rdi", "rsi", "r8", "r9");
	sp += CALLER_BYTES;
}

/* By an exception, as the runtime tells. */
static void unwind(const struct dnp_call_method *method)
{
	dnp_calls_unwound(dnp_calls_own, method->function, 0);
	sp += CALLER_BYTES;
}

/* A tree of calls; returns the events there were. */
static uint64_t run(uint32_t method, unsigned depth)
{
	uint64_t n = 2;

	enter(&methods[method]);
	for (uint32_t i = 0; depth && i < 2 + method % 3; i++)
		n += run((method * 7 + i) % METHODS, depth - 1);
	if (method % 11 == 10)
		unwind(&methods[method]);
	else if (method % 5 == 4)
		tailcall(&methods[method]);
	else
		leave(&methods[method]);
	return n;
}

/* ---- What was recorded */

struct seen {
	uint64_t events, lost, records;
	uint64_t depth, last_ns; /* of one thread */
	uint64_t first_ns;
	uint32_t thread;
	struct dnp_call_decoder decoder;
};

static int see(void *arg, const struct dnp_rec_call_events *rec, uint64_t time_ns)
{
	struct seen *seen = arg;
	struct dnp_call_step step;
	uint64_t n = 0;

	(void)time_ns;
	if (rec->thread != seen->thread)
		return 0;
	CHECK_EQ(rec->event, EVENT);
	CHECK(rec->time_ns >= seen->last_ns);
	CHECK(rec->kept <= seen->depth && rec->kept <= rec->depth);
	if (!rec->lost)
		CHECK_EQ(rec->depth, seen->depth);
	if (!seen->records++)
		seen->first_ns = rec->time_ns;
	seen->depth = rec->depth;
	seen->lost += rec->lost;
	seen->last_ns = rec->time_ns;
	CHECK_EQ(dnp_call_decoder_begin(
			 &seen->decoder, (const uint8_t *)rec->events.p, rec->events.n, rec->count),
		0);
	for (; dnp_call_decoder_next(&seen->decoder, &step) > 0; n++) {
		CHECK(step.method <= METHODS);
		seen->depth += step.kind == DNP_CALL_ENTER ? 1 : UINT64_MAX;
		seen->last_ns = rec->time_ns + dnp_ticks_scaled(rec->scale, step.time);
	}
	CHECK_EQ(n, rec->count);
	seen->events += n;
	return 0;
}

static struct seen read_thread(uint32_t thread)
{
	static const struct dnp_visitor visitor = {.call_events = see};
	struct seen seen = {.thread = thread};
	struct dnp_input input;
	uint64_t damaged = 0;

	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(input.recordings.n, 1);
	CHECK_EQ(dnp_recording_visit(&input.recordings.p[0], &visitor, &seen, &damaged), 0);
	CHECK_EQ(damaged, 0);
	dnp_input_done(&input);
	dnp_call_decoder_done(&seen.decoder);
	return seen;
}

static uint64_t sum(const struct dnp_call_totals *totals)
{
	return totals->events[DNP_CALL_ENTER] + totals->events[DNP_CALL_LEAVE] +
		totals->events[DNP_CALL_TAILCALL] + totals->events[DNP_CALL_UNWOUND];
}

/* All events of the recording by the reader of calls: in order, and each end that of its call. */
static void read_merged(uint64_t want)
{
	static struct {
		uint32_t method[64];
		uint32_t n;
	} stacks[2];
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	struct dnp_call_log *log;
	struct dnp_input input;
	uint64_t damaged = 0, last_ns = 0, n = 0;

	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(dnp_call_log_new(&input.recordings.p[0], EVENT, &log, &damaged), 0);
	CHECK_EQ(dnp_call_cursor_new(log, DNP_CALL_ALL_THREADS, &cursor), 0);
	for (; dnp_call_cursor_next(cursor, &event) > 0; n++) {
		CHECK(event.thread < 2 && event.kind < DNP_CALL_KINDS);
		CHECK(event.time_ns >= last_ns);
		last_ns = event.time_ns;
		if (event.kind == DNP_CALL_ENTER) {
			CHECK_EQ(event.depth, stacks[event.thread].n);
			CHECK(event.depth < 64);
			stacks[event.thread].method[stacks[event.thread].n++] = event.method;
			continue;
		}
		CHECK_EQ(event.depth, --stacks[event.thread].n);
		CHECK_EQ(event.method, stacks[event.thread].method[event.depth]);
		CHECK(event.begin_ns && event.begin_ns <= event.time_ns);
	}
	CHECK_EQ(n, want);
	CHECK_EQ(stacks[0].n + stacks[1].n, 0);
	CHECK_EQ(damaged + dnp_call_cursor_damaged(cursor), 0);
	dnp_call_cursor_free(cursor);
	dnp_call_log_free(log);
	dnp_input_done(&input);
}

/* ---- Tests */

TEST(events_of_one_thread_are_all_there)
{
	uint64_t before, after, made = 0;
	struct dnp_call_totals totals;
	struct seen seen;

	start();
	CHECK_EQ(dnp_call_events_write(&writer, 0), 0);
	before = dnp_now_ns();
	for (uint32_t i = 0; i < 20; i++)
		made += run(i, 6);
	enter(&methods[5]);
	enter(&methods[6]);
	after = dnp_now_ns();
	totals = finish();
	seen = read_thread(0);
	unlink(path);
	CHECK(made > 20000);
	CHECK_EQ(totals.lost, 0);
	CHECK_EQ(totals.open, 2);
	CHECK_EQ(sum(&totals), made + 2);
	CHECK_EQ(totals.events[DNP_CALL_ENTER], made / 2 + 2);
	CHECK(totals.events[DNP_CALL_TAILCALL] && totals.events[DNP_CALL_UNWOUND]);
	CHECK_EQ(seen.events, made + 2);
	CHECK_EQ(seen.lost, 0);
	CHECK_EQ(seen.depth, 2);
	/* The two clocks agree. */
	CHECK(seen.first_ns + 100000 > before && seen.last_ns < after + 100000);
}

#define LOOPS   40
#define WAIT_NS UINT64_C(500000000) /* what a thread waits for room before it loses anything */

struct runner {
	pthread_t thread;
	uint64_t made, took_ns;
};

static void *run_much(void *arg)
{
	struct runner *runner = arg;
	uint64_t start = dnp_now_ns();

	for (uint32_t i = 0; i < LOOPS; i++)
		runner->made += run(i % 7, 8);
	runner->took_ns = dnp_now_ns() - start;
	end_own();
	return NULL;
}

TEST(two_threads_lose_nothing_while_they_wait)
{
	struct runner runners[2] = {0};
	struct dnp_call_totals totals;
	struct seen seen[2];
	uint64_t made;

	start();
	CHECK_EQ(dnp_call_events_write(&writer, 0), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&runners[i].thread, NULL, run_much, &runners[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(runners[i].thread, NULL);
	totals = finish();
	seen[0] = read_thread(0);
	seen[1] = read_thread(1);
	made = runners[0].made;
	if (!totals.lost)
		read_merged(2 * made);
	unlink(path);
	CHECK_EQ(made, runners[1].made);
	CHECK_EQ(sum(&totals) + totals.lost, 2 * made);
	CHECK_EQ(totals.open, 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(seen[i].events + seen[i].lost, made);
		CHECK_EQ(seen[i].depth, 0);
	}
	/* A machine may be so busy that the writer does not run for that long. */
	if (totals.lost)
		CHECK(runners[0].took_ns >= WAIT_NS || runners[1].took_ns >= WAIT_NS);
}

TEST(without_a_writer_events_are_dropped_and_counted)
{
	uint64_t made = 0, lost;
	struct dnp_call_totals totals;
	struct seen seen;

	start();
	enter(&methods[1]);
	enter(&methods[2]);
	for (uint32_t i = 0; made < 300000; i++)
		made += run(i % 7, 6);
	leave(&methods[2]);
	enter(&methods[3]);
	enter(&methods[4]);
	lost = atomic_load(&own()->lost);
	CHECK(lost > 0 && lost < made);
	/* The writer comes, and the thread goes on with two calls open that nobody knows. */
	CHECK_EQ(dnp_call_events_write(&writer, 0), 0);
	while (atomic_load(&own()->tail) < atomic_load(&own()->head))
		usleep(1000);
	leave(&methods[4]);
	leave(&methods[3]);
	CHECK_EQ(atomic_load(&own()->lost), 0);
	totals = finish();
	seen = read_thread(0);
	unlink(path);
	CHECK_EQ(totals.lost, lost);
	CHECK_EQ(sum(&totals) + totals.lost, made + 7);
	CHECK_EQ(totals.open, 1);
	CHECK_EQ(totals.waits, 1);
	CHECK_EQ(seen.events, sum(&totals));
	CHECK_EQ(seen.lost, lost);
	CHECK_EQ(seen.depth, 1);
}

TEST(what_is_lost_at_the_end_is_told)
{
	uint64_t made = 0;
	struct dnp_call_totals totals;
	struct seen seen;

	start();
	while (made < 200000)
		made += run(3, 6);
	end_own();
	totals = finish();
	seen = read_thread(0);
	unlink(path);
	CHECK(totals.lost > 0);
	CHECK_EQ(sum(&totals) + totals.lost, made);
	CHECK_EQ(seen.lost, totals.lost);
	CHECK_EQ(totals.open, 0);
}

static void *run_little(void *arg)
{
	*(uint64_t *)arg += run(1, 2);
	end_own();
	return NULL;
}

TEST(rings_are_used_again)
{
	uint64_t made = 0;
	struct dnp_call_totals totals;
	size_t most = 0;
	uint32_t n;

	start();
	CHECK_EQ(dnp_call_events_write(&writer, 0), 0);
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, run_little, &made), 0);
		pthread_join(thread, NULL);
		while (dnp_call_events_bytes() > most && most)
			usleep(1000);
		if (!most)
			most = dnp_call_events_bytes() + 1;
	}
	totals = finish();
	n = atomic_load(&threads);
	CHECK_EQ(n, 100);
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ(read_thread(i).events, made / 100);
	unlink(path);
	CHECK_EQ(sum(&totals), made);
	CHECK_EQ(dnp_call_events_bytes(), 0);
}

TEST(stopped_hooks_do_nothing)
{
	struct dnp_call_totals totals;

	start();
	run(1, 1);
	dnp_call_events_stop();
	run(1, 3);
	totals = finish();
	run(1, 5);
	CHECK_EQ(sum(&totals), 8);
	CHECK_EQ(read_thread(0).events, 8);
	unlink(path);
}

/* As the log shows them. */
static void check_log(const char *want)
{
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	struct dnp_call_log *log;
	struct dnp_input input;
	uint64_t damaged = 0;
	char text[256] = "";

	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	unlink(path);
	CHECK_EQ(dnp_call_log_new(&input.recordings.p[0], EVENT, &log, &damaged), 0);
	CHECK_EQ(dnp_call_cursor_new(log, 0, &cursor), 0);
	while (dnp_call_cursor_next(cursor, &event) > 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%c%u ",
			"+-~!x?"[event.kind], event.method);
	CHECK_STR(text, want);
	dnp_call_cursor_free(cursor);
	dnp_call_log_free(log);
	dnp_input_done(&input);
}

/* The runtime does not tell of all calls that exceptions end: who comes next finds them gone. */
TEST(calls_that_an_exception_ended_end_before_what_is_called_next)
{
	start();
	enter(&methods[0]);
	enter(&methods[1]);
	enter(&methods[1]);
	enter(&methods[2]);
	sp += 3 * CALLER_BYTES;
	enter(&methods[3]);
	leave(&methods[3]);
	leave(&methods[0]);
	finish();
	check_log("+1 +2 +2 +3 !3 !2 !2 +4 -4 -1 ");
}

TEST(calls_that_an_exception_ended_end_with_their_caller)
{
	start();
	enter(&methods[0]);
	enter(&methods[1]);
	enter(&methods[2]);
	sp += 2 * CALLER_BYTES;
	tailcall(&methods[0]);
	finish();
	check_log("+1 +2 +3 !3 !2 ~1 ");
}

/* The catching frame is told by an address in it: all that it called has ended. */
TEST(calls_below_who_catches_have_ended)
{
	start();
	enter(&methods[0]);
	enter(&methods[1]);
	enter(&methods[2]);
	sp += CALLER_BYTES;
	dnp_calls_back(dnp_calls_own, sp - CALLER_BYTES / 2 + 1);
	leave(&methods[1]);
	leave(&methods[0]);
	finish();
	check_log("+1 +2 +3 !3 -2 -1 ");
}

/* Only the innermost call can be told of, whoever else is on the stack. */
TEST(calls_of_others_are_not_unwound)
{
	start();
	enter(&methods[0]);
	enter(&methods[1]);
	dnp_calls_unwound(dnp_calls_own, methods[0].function, 0);
	dnp_calls_unwound(dnp_calls_own, methods[5].function, 0);
	leave(&methods[1]);
	leave(&methods[0]);
	leave(&methods[6]);
	finish();
	check_log("+1 +2 -2 -1 ");
}

/* But where some are left out: then what it called has ended with it, unless it is too far out. */
TEST(calls_further_out_are_unwound_with_what_they_called)
{
	uintptr_t within;

	start();
	enter(&methods[0]);
	within = sp;
	enter(&methods[1]);
	enter(&methods[2]);
	enter(&methods[3]);
	dnp_calls_unwound(dnp_calls_own, methods[0].function, within);
	dnp_calls_unwound(dnp_calls_own, methods[5].function, UINTPTR_MAX);
	dnp_calls_unwound(dnp_calls_own, methods[1].function, within);
	sp += 3 * CALLER_BYTES;
	leave(&methods[0]);
	finish();
	check_log("+1 +2 +3 +4 !4 !3 !2 -1 ");
}

static void hold(const struct dnp_call_method *method)
{
	dnp_calls_hold(dnp_calls_own,
		(struct dnp_call_unwinding){
			.function = method->function, .sp = dnp_calls_innermost(dnp_calls_own)});
}

/* What may have ended has when the next call begins, or goes on. */
TEST(calls_that_are_held)
{
	start();
	enter(&methods[0]);
	enter(&methods[1]);
	hold(&methods[1]);
	enter(&methods[2]);
	enter(&methods[3]);
	hold(&methods[3]);
	dnp_calls_forget_held(dnp_calls_own);
	enter(&methods[4]);
	leave(&methods[4]);
	leave(&methods[3]);
	leave(&methods[2]);
	sp += CALLER_BYTES;
	leave(&methods[0]);
	finish();
	check_log("+1 +2 !2 +3 +4 +5 -5 -4 -3 -1 ");
}

TEST(calls_that_are_held_while_recording_is_paused)
{
	start();
	enter(&methods[0]);
	enter(&methods[1]);
	hold(&methods[1]);
	dnp_calls_switch(false);
	enter(&methods[2]);
	leave(&methods[2]);
	dnp_calls_switch(true);
	enter(&methods[3]);
	leave(&methods[3]);
	sp += CALLER_BYTES;
	leave(&methods[0]);
	finish();
	check_log("+1 +2 !2 +4 -4 -1 ");
}

TEST(calls_to_native_code_are_told_as_others)
{
	start();
	enter(&methods[0]);
	dnp_calls_native_enter(&methods[1]);
	enter(&methods[2]);
	leave(&methods[2]);
	dnp_calls_native_leave(&methods[1]);
	dnp_calls_native_enter(&methods[1]);
	dnp_calls_unwound(dnp_calls_own, methods[0].function, 0);
	finish();
	check_log("+1 +2 +3 -3 -2 +2 !2 !1 ");
}

#define DEEP 5000u /* the stack has room for fewer calls at first */

TEST(calls_are_followed_as_deep_as_they_go)
{
	struct dnp_call_totals totals;

	start();
	for (uint32_t i = 0; i < DEEP; i++)
		enter(&methods[1]);
	for (uint32_t i = 0; i < DEEP; i++)
		leave(&methods[1]);
	totals = finish();
	unlink(path);
	CHECK_EQ(totals.events[DNP_CALL_ENTER], DEEP);
	CHECK_EQ(totals.events[DNP_CALL_LEAVE], DEEP);
	CHECK_EQ(totals.lost + totals.open, 0);
}

/* ---- Registers */

/* As call_with finds and leaves them: rax rdx rcx rsi rdi r8 r9 rbx rbp r12 r13, xmm0 … xmm7. */
struct registers {
	uint64_t general[11];
	uint64_t vector[8];
};

void call_with(void (*hook)(void), const void *id, struct registers *registers, int enters);
__asm__(".text\n"
	"call_with:\n\t"
	"push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
	"push %rdx\n\tpush %rdi\n\t"
	"mov %rsi, %r14\n\t"
	"mov %rdx, %r10\n\t"
	"mov %ecx, %r11d\n\t"
	"mov (%r10), %rax\n\tmov 8(%r10), %rdx\n\tmov 16(%r10), %rcx\n\t"
	"mov 24(%r10), %rsi\n\tmov 32(%r10), %rdi\n\tmov 40(%r10), %r8\n\tmov 48(%r10), %r9\n\t"
	"mov 56(%r10), %rbx\n\tmov 64(%r10), %rbp\n\tmov 72(%r10), %r12\n\tmov 80(%r10), %r13\n\t"
	"movq 88(%r10), %xmm0\n\tmovq 96(%r10), %xmm1\n\tmovq 104(%r10), %xmm2\n\t"
	"movq 112(%r10), %xmm3\n\tmovq 120(%r10), %xmm4\n\tmovq 128(%r10), %xmm5\n\t"
	"movq 136(%r10), %xmm6\n\tmovq 144(%r10), %xmm7\n\t"
	"mov %rsp, %r15\n\t"
	"test %r11d, %r11d\n\t"
	"jnz 1f\n\t"
	"mov %r14, %rdi\n\tmov %r15, %rsi\n"
	"1:\n\t"
	"call *(%rsp)\n\t"
	"mov 8(%rsp), %r10\n\t"
	"mov %rax, (%r10)\n\tmov %rdx, 8(%r10)\n\tmov %rcx, 16(%r10)\n\t"
	"mov %rsi, 24(%r10)\n\tmov %rdi, 32(%r10)\n\tmov %r8, 40(%r10)\n\tmov %r9, 48(%r10)\n\t"
	"mov %rbx, 56(%r10)\n\tmov %rbp, 64(%r10)\n\tmov %r12, 72(%r10)\n\tmov %r13, 80(%r10)\n\t"
	"movq %xmm0, 88(%r10)\n\tmovq %xmm1, 96(%r10)\n\tmovq %xmm2, 104(%r10)\n\t"
	"movq %xmm3, 112(%r10)\n\tmovq %xmm4, 120(%r10)\n\tmovq %xmm5, 128(%r10)\n\t"
	"movq %xmm6, 136(%r10)\n\tmovq %xmm7, 144(%r10)\n\t"
	"pop %rdi\n\tpop %rdx\n\t"
	"pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\t"
	"ret\n");

/* Which of them a hook must keep, one bit each in the order of struct registers. */
#define KEPT_ENTER (0x7feu | 0xffu << 11) /* all but rax */
#define KEPT_END   (0x787u | 0x3u << 11)  /* rax rdx rcx, callee-saved, xmm0 xmm1 */

static void check_hook(void (*hook)(void), int enters, uint32_t kept)
{
	struct registers registers, before;
	uint64_t *words = (uint64_t *)&registers;

	for (unsigned i = 0; i < sizeof(registers) / 8; i++)
		words[i] = 0x123456789abcdef0u * (i + 1);
	before = registers;
	call_with(hook, &methods[7], &registers, enters);
	for (unsigned i = 0; i < sizeof(registers) / 8; i++)
		if (kept >> i & 1 && words[i] != ((uint64_t *)&before)[i])
			FAIL("register %u was not kept", i);
}

static void check_hooks(void)
{
	errno = 77;
	check_hook(dnp_hook_events_enter, 1, KEPT_ENTER);
	check_hook(dnp_hook_events_tailcall, 0, KEPT_END);
	check_hook(dnp_hook_events_leave, 0, KEPT_END);
	CHECK_EQ(errno, 77);
}

TEST(hooks_keep_what_the_compiler_needs)
{
	start();
	check_hook(dnp_hook_events_enter, 1, KEPT_ENTER); /* the first makes the ring */
	end_own();
	check_hook(dnp_hook_events_leave, 0, KEPT_END);
	for (int i = 0; i < 1000; i++)
		check_hooks();
	while (!atomic_load(&own()->lost)) /* full, so that each is dropped */
		enter(&methods[1]);
	check_hooks();
	dnp_call_events_stop();
	check_hooks();
	unlink(path);
	finish();
}
