/* SPDX-License-Identifier: MIT */
/* The hooks for trees of calls, called as the JIT's code calls them. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "capture/call_times.h"
#include "capture/calls.h"
#include "capture/calls_tell.h"
#include "format/varint.h"
#include "hook_calls.h"
#include "os/ticks.h"
#include "test.h"

#define METHODS 1000u
#define THREAD  7u
#define TOP     ((uintptr_t)0x7fff00000000) /* where the stack of these tests begins */

void dnp_hook_tree_enter(void);
void dnp_hook_tree_leave(void);
void dnp_hook_tree_tailcall(void);
void dnp_hook_time_enter(void);
void dnp_hook_time_leave(void);
void dnp_hook_time_tailcall(void);

/* ---- Calling hooks */

static void fill(struct registers *registers)
{
	uint8_t *bytes = (uint8_t *)registers;

	for (size_t i = 0; i < sizeof(*registers); i++)
		bytes[i] = (uint8_t)rand();
}

static const struct {
	void (*enter)(void), (*leave)(void), (*tailcall)(void);
} hooks[] = {
	[DNP_CALLS_TREE] = {dnp_hook_tree_enter, dnp_hook_tree_leave, dnp_hook_tree_tailcall},
	[DNP_CALLS_TIME] = {dnp_hook_time_enter, dnp_hook_time_leave, dnp_hook_time_tailcall},
};

static enum dnp_calls_choice depth;
static unsigned long checked; /* calls of hooks */

static void check_general(
	const struct registers *in, const struct registers *out, const unsigned *kept, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (in->general[kept[i]] != out->general[kept[i]])
			FAIL("register %u is not kept by hook call %lu", kept[i], checked);
}

/* Of the vector registers from … to below the bytes that one of 128 bits has. */
static void check_vectors(
	const struct registers *in, const struct registers *out, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		if (memcmp(in->vector[i], out->vector[i], 16))
			FAIL("xmm%u is not kept by hook call %lu", i, checked);
}

/* Whether not even a byte of these has changed. */
static int vectors_untouched(
	const struct registers *in, const struct registers *out, unsigned from, unsigned to)
{
	return !memcmp(in->vector[from], out->vector[from], (to - from) * sizeof(in->vector[0]));
}

/* Returns whether the vector registers that are to be kept were left alone. */
static int enter(uint32_t method, uintptr_t sp)
{
	const struct hook_convention *by = &hook_convention;
	struct registers in, out;

	fill(&in);
	in.general[by->enter_id] = (uintptr_t)&dnp_call_methods[method];
	in.general[by->enter_sp] = sp;
	call_with(hooks[depth].enter, &in, &out);
	checked++;
	check_general(&in, &out, by->enter_kept, by->n_enter_kept);
	check_vectors(&in, &out, by->first_vector, by->end_vector);
	return vectors_untouched(&in, &out, by->first_vector, by->end_vector);
}

static void end_by(void (*hook)(void), uint32_t method, uintptr_t sp)
{
	const struct hook_convention *by = &hook_convention;
	struct registers in, out;

	fill(&in);
	in.general[by->end_id] = (uintptr_t)&dnp_call_methods[method];
	in.general[by->end_sp] = sp;
	call_with(hook, &in, &out);
	checked++;
	check_general(&in, &out, by->end_kept, by->n_end_kept);
	CHECK(vectors_untouched(&in, &out, 0, 16));
}

static void leave(uint32_t method, uintptr_t sp)
{
	end_by(hooks[depth].leave, method, sp);
}

static void tailcall(uint32_t method, uintptr_t sp)
{
	end_by(hooks[depth].tailcall, method, sp);
}

/* ---- What they keep */

/* Called out of a hook: as any function it may change registers. */
static uint32_t index_of(int tid)
{
	(void)tid;
	spoil_vectors();
	return THREAD;
}

static void start(enum dnp_calls_choice how)
{
	if (!__builtin_cpu_supports("avx"))
		SKIP("this processor has no AVX");
	depth = how;
	CHECK_EQ(dnp_calls_open(how, index_of), 0);
	for (uint32_t i = 1; i <= METHODS; i++)
		dnp_call_methods[i] = (struct dnp_call_method){.number = i, .function = 0x1000 + i};
	dnp_calls_switch(true);
}

static uint64_t all_calls(void)
{
	const struct dnp_calls *calls = dnp_calls_own;
	uint64_t n = 0;

	for (uint32_t i = 1; i < calls->n_nodes; i++)
		n += dnp_call_count_of(dnp_call_node_at(calls, i));
	return n;
}

static void check_balance(uint64_t enters)
{
	CHECK_EQ(all_calls(), enters);
	CHECK_EQ(dnp_calls_moves(dnp_calls_own), enters);
}

/* Calls of the node by its path from the root; 0: there is none. */
static uint64_t calls_at(const uint32_t *path, size_t n)
{
	const struct dnp_calls *calls = dnp_calls_own;
	uint32_t at = 0;

	for (size_t k = 0; k < n; k++) {
		uint32_t found = 0;

		for (uint32_t i = 1; i < calls->n_nodes; i++) {
			if (calls->origins[i].parent == at &&
				dnp_call_method_of(calls, i)->number == path[k]) {
				CHECK(!found); /* one way leads to it */
				found = i;
			}
		}
		if (!found)
			return 0;
		at = found;
	}
	return dnp_call_count_of(dnp_call_node_at(calls, at));
}

#define CALLS(...)                                                                                 \
	calls_at((const uint32_t[]){__VA_ARGS__},                                                  \
		sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* 1 calls 2, 3, 2, 3, 4 (which calls 5 as its last act) and 2. */
static void make_calls(uintptr_t sp)
{
	static const uint32_t callees[] = {2, 3, 2, 3, 4, 2};

	enter(1, sp);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(callees); i++) {
		enter(callees[i], sp - 64);
		if (callees[i] == 4) {
			tailcall(4, sp - 64);
			enter(5, sp - 64);
			leave(5, sp - 64);
		} else {
			leave(callees[i], sp - 64);
		}
	}
	leave(1, sp);
}

static void check_tree(enum dnp_calls_choice how)
{
	start(how);
	for (int i = 0; i < 100; i++)
		make_calls(TOP);
	CHECK_EQ(CALLS(1), 100);
	CHECK_EQ(CALLS(1, 2), 300);
	CHECK_EQ(CALLS(1, 3), 200);
	CHECK_EQ(CALLS(1, 4), 100);
	CHECK_EQ(CALLS(1, 5), 100);
	CHECK_EQ(CALLS(2), 0);
	CHECK_EQ(dnp_calls_own->n_nodes, 6);
	CHECK_EQ(dnp_calls_own->leaves, 700);
	CHECK_EQ(dnp_calls_own->tailcalls, 100);
	CHECK_EQ(dnp_calls_own->unwinds, 0);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 0);
	check_balance(800);
}

TEST(tree_counts_each_path)
{
	check_tree(DNP_CALLS_TREE);
}

TEST(time_counts_each_path)
{
	check_tree(DNP_CALLS_TIME);
}

/* Once a child is known, vector registers of arguments are not even touched. */
static void check_untouched(enum dnp_calls_choice how)
{
	start(how);
	make_calls(TOP);
	make_calls(TOP);
	CHECK(enter(1, TOP));
	for (uint32_t i = 0; i < 300; i++) {
		CHECK(enter(2 + i % 3, TOP - 64)); /* the last, another */
		leave(2 + i % 3, TOP - 64);
		CHECK(enter(i % 2 ? 4 : 2, TOP - 64));
		leave(i % 2 ? 4 : 2, TOP - 64);
	}
}

TEST(tree_touches_no_vector_register)
{
	check_untouched(DNP_CALLS_TREE);
}

TEST(time_touches_no_vector_register)
{
	check_untouched(DNP_CALLS_TIME);
}

static void check_repairs(enum dnp_calls_choice how)
{
	start(how);
	for (uint32_t i = 1; i <= 5; i++)
		enter(i, TOP - 64 * i);
	enter(6, TOP - 64 * 4); /* an exception ended 4 and 5, caught in 3 */
	CHECK_EQ(CALLS(1, 2, 3, 6), 1);
	CHECK_EQ(dnp_calls_own->unwinds, 2);
	enter(7, TOP - 64 * 5);
	leave(2, TOP - 64 * 2); /* one ended 3, 6 and 7, caught in 2 */
	CHECK_EQ(dnp_calls_own->unwinds, 5);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 1);
	leave(9, TOP - 64 * 3); /* it began before calls were recorded */
	CHECK_EQ(dnp_calls_own->leaves, 1);
	enter(8, TOP - 128); /* one ended 2 … */
	enter(8, TOP - 192);
	enter(8, TOP - 192); /* … and this a call from the same place */
	CHECK_EQ(CALLS(1, 8, 8), 2);
	CHECK_EQ(dnp_calls_own->unwinds, 6);
	leave(1, TOP - 64);
	check_balance(10);
}

TEST(tree_repairs_itself)
{
	check_repairs(DNP_CALLS_TREE);
}

TEST(time_repairs_itself)
{
	check_repairs(DNP_CALLS_TIME);
}

TEST(exceptions_end_calls)
{
	start(DNP_CALLS_TIME);
	for (uint32_t i = 1; i <= 5; i++)
		enter(i, TOP - 64 * i);
	dnp_calls_unwound(dnp_calls_own, 0x1000 + 9, 0); /* has no hooks */
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 5);
	dnp_calls_unwound(dnp_calls_own, 0x1000 + 5, 0);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 4);
	dnp_calls_back(
		dnp_calls_own, TOP - 64 * 3 + 1); /* in 2: its callee's caller's stack pointer */
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 2);
	CHECK_EQ(dnp_calls_own->unwinds, 3);
	check_balance(5);
}

TEST(calls_to_native_code_and_back)
{
	start(DNP_CALLS_TREE);
	enter(1, TOP);
	dnp_calls_native_enter(&dnp_call_methods[2]);
	enter(3, TOP - 640); /* from native code */
	dnp_calls_native_enter(&dnp_call_methods[2]);
	dnp_calls_native_leave(&dnp_call_methods[2]);
	leave(3, TOP - 640);
	dnp_calls_native_leave(&dnp_call_methods[2]);
	dnp_calls_native_leave(&dnp_call_methods[2]); /* began unseen */
	CHECK_EQ(CALLS(1, 2, 3, 2), 1);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 1);
	enter(4, TOP - 64);
	CHECK_EQ(CALLS(1, 4), 1);
	dnp_calls_native_enter(&dnp_call_methods[5]);
	dnp_calls_unwound(dnp_calls_own, 0x1000 + 4, 0); /* and with it the native one */
	CHECK_EQ(dnp_calls_own->unwinds, 2);
	leave(1, TOP);
	check_balance(6);
}

#define NESTED 20

/* Native code calls back what has no hooks, and that native code again; TOP 0: from a thread's
 * start. */
static void check_nested(uintptr_t top)
{
	start(DNP_CALLS_TREE);
	if (top)
		enter(1, top);
	for (int i = 0; i < NESTED; i++)
		dnp_calls_native_enter(&dnp_call_methods[2 + i % 2]);
	CHECK_EQ(dnp_calls_innermost(dnp_calls_own), top ? top : UINTPTR_MAX);
	for (int i = NESTED; i-- > 3;)
		dnp_calls_native_leave(&dnp_call_methods[2 + i % 2]);
	CHECK_EQ(dnp_calls_own->leaves, NESTED - 3);
	CHECK_EQ(dnp_calls_own->unwinds, 0);
	/* An exception ends the innermost of the three that are left, of which nobody tells. */
	dnp_calls_native_leave(&dnp_call_methods[3]);
	CHECK_EQ(dnp_calls_own->leaves, NESTED - 2);
	CHECK_EQ(dnp_calls_own->unwinds, 1);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), top ? 2 : 1);
	dnp_calls_native_leave(&dnp_call_methods[2]);
	if (top)
		leave(1, top);
	check_balance(top ? NESTED + 1 : NESTED);
}

TEST(native_calls_within_native_calls)
{
	check_nested(TOP);
}

TEST(native_calls_within_native_calls_of_a_native_thread)
{
	check_nested(0);
}

TEST(pause_follows_what_is_open)
{
	start(DNP_CALLS_TREE);
	enter(1, TOP);
	dnp_calls_switch(false);
	enter(2, TOP - 64);
	leave(2, TOP - 64);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 1);
	enter(3, TOP - 64);
	dnp_calls_switch(true);
	enter(4, TOP - 128);
	leave(4, TOP - 128);
	leave(3, TOP - 64);
	leave(1, TOP);
	CHECK_EQ(CALLS(1, 4), 1);
	check_balance(2);
}

TEST(nothing_is_made_while_off)
{
	start(DNP_CALLS_TREE);
	dnp_calls_switch(false);
	enter(1, TOP);
	leave(1, TOP);
	CHECK(!dnp_calls_own);
}

static void check_many(enum dnp_calls_choice how)
{
	uint64_t enters = 0;

	start(how);
	srand(1);
	for (int i = 0; i < TEST_ROUNDS(30000); i++) {
		uint32_t path[8];
		unsigned n = 1 + (unsigned)rand() % DNP_ARRAY_SIZE(path);

		for (unsigned k = 0; k < n; k++) {
			path[k] = 1 + (uint32_t)rand() % (k < 2 ? METHODS : 3);
			enter(path[k], TOP - 64 * k);
		}
		enters += n;
		while (n--)
			leave(path[n], TOP - 64 * n);
	}
	CHECK(dnp_calls_own->n_nodes > TEST_ROUNDS(40000));
	CHECK_EQ(dnp_calls_own->leaves, enters);
	check_balance(enters);
	/* Each node is there once. */
	for (uint32_t i = 1; i < dnp_calls_own->n_nodes; i++)
		CHECK(dnp_calls_own->origins[i].parent < i);
}

/* Of the address space only what is used is memory. */
TEST(memory_is_asked_for_as_it_is_used)
{
	uint32_t first;

	start(DNP_CALLS_TREE);
	enter(1, TOP);
	first = dnp_calls_own->ready_nodes;
	CHECK(first < dnp_calls_own->max_nodes / 256);
	CHECK(dnp_calls_own->ready_blocks < dnp_calls_own->max_blocks / 256);
	for (uint32_t i = 0; i < 3 * first; i++)
		enter(1 + i % METHODS, TOP - 64 * (i + 1));
	CHECK_EQ(dnp_calls_own->n_nodes, 3 * first + 2);
	CHECK(dnp_calls_own->ready_nodes >= 3 * first + 2 &&
		dnp_calls_own->ready_nodes <= 8 * first);
	CHECK(dnp_calls_own->top < dnp_calls_own->end &&
		dnp_calls_own->limit == dnp_calls_own->end);
	CHECK_EQ(dnp_calls_own->lost, 0);
	leave(1, TOP);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 0);
}

TEST(tree_grows)
{
	check_many(DNP_CALLS_TREE);
}

TEST(time_grows)
{
	check_many(DNP_CALLS_TIME);
}

/* More children than a cache line names: each is there once, and found again. */
static void check_wide(enum dnp_calls_choice how)
{
	uint32_t nodes = 1;

	start(how);
	for (uint32_t parent = 1; parent <= 32; parent++) {
		uint32_t children = METHODS / parent;

		enter(parent, TOP);
		for (uint32_t i = 0; i < 3 * children; i++) {
			uint32_t method = 1 + i % children * parent;

			enter(method, TOP - 64);
			leave(method, TOP - 64);
		}
		leave(parent, TOP);
		nodes += 1 + children;
	}
	CHECK_EQ(dnp_calls_own->n_nodes, nodes);
	for (uint32_t i = 1; i < nodes; i++)
		CHECK_EQ(dnp_call_count_of(dnp_call_node_at(dnp_calls_own, i)),
			dnp_calls_own->origins[i].parent ? 3 : 1);
	CHECK(!memcmp(&dnp_calls_own->blocks[0], &(struct dnp_call_block){0},
		sizeof(struct dnp_call_block)));
}

TEST(tree_is_wide)
{
	check_wide(DNP_CALLS_TREE);
}

TEST(time_is_wide)
{
	check_wide(DNP_CALLS_TIME);
}

/* A million and more calls deep, which is more than the shadow stack has room for: told as lost. */
static void check_too_deep(enum dnp_calls_choice how)
{
	const uint32_t deep = (1u << 20) + 1000;
	uint32_t stored;

	start(how);
	for (uint32_t i = 0; i < deep; i++)
		dnp_calls_enter_miss(&dnp_call_methods[1], TOP - 64 * (uintptr_t)i);
	stored = (uint32_t)dnp_calls_open_now(dnp_calls_own);
	CHECK(dnp_calls_own->lost >= 1000);
	CHECK_EQ(stored + dnp_calls_own->lost, deep);
	for (uint32_t i = deep; i-- > deep / 2;)
		dnp_calls_leave_miss(TOP - 64 * (uintptr_t)i);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), deep / 2);
	leave(1, TOP); /* an exception ended the others */
	CHECK_EQ(dnp_calls_own->unwinds, deep / 2 - 1);
	check_balance(stored);
}

TEST(tree_deeper_than_the_stack)
{
	check_too_deep(DNP_CALLS_TREE);
}

TEST(time_deeper_than_the_stack)
{
	check_too_deep(DNP_CALLS_TIME);
}

/* ---- Times */

static const struct dnp_call_timed_node *timed(uint32_t index)
{
	return (const void *)dnp_call_node_at(dnp_calls_own, index);
}

TEST(times_add_up)
{
	uint64_t children = 0;

	start(DNP_CALLS_TIME);
	for (int i = 0; i < 100; i++)
		make_calls(TOP);
	for (uint32_t i = 2; i < dnp_calls_own->n_nodes; i++) {
		CHECK_EQ(dnp_calls_own->origins[i].parent, 1);
		CHECK_EQ(timed(i)->self, timed(i)->total);
		CHECK(timed(i)->shortest > 0 && timed(i)->shortest <= timed(i)->longest);
		CHECK(timed(i)->total >= timed(i)->shortest * dnp_call_count_of(&timed(i)->node));
		CHECK(timed(i)->total <= timed(i)->longest * dnp_call_count_of(&timed(i)->node));
		children += timed(i)->total;
	}
	CHECK_EQ(timed(1)->total - timed(1)->self, children);
}

/* ---- The recording */

/* What a recording says of a thread's nodes, put together again. */
static struct {
	uint64_t calls[64], total_ns[64], self_ns[64];
	uint32_t parent[64], method[64];
	uint32_t nodes;
} told;

static const uint8_t *take(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	at = dnp_varint_get(at, end, value);
	CHECK(at);
	return at;
}

static void read_nodes(const struct dnp_rec_call_nodes *rec)
{
	const uint8_t *at = (const uint8_t *)rec->nodes.p, *end = at + rec->nodes.n;
	uint64_t up, method;

	CHECK_EQ(rec->thread, THREAD);
	CHECK_EQ(rec->first, told.nodes + 1);
	while (at < end) {
		at = take(take(at, end, &up), end, &method);
		told.nodes++;
		told.parent[told.nodes] = told.nodes - (uint32_t)up;
		told.method[told.nodes] = (uint32_t)method;
	}
}

static void read_counts(const struct dnp_rec_call_counts *rec)
{
	const uint8_t *at = (const uint8_t *)rec->counts.p, *end = at + rec->counts.n;
	uint64_t node = 0, step, value[5];

	while (at < end) {
		at = take(at, end, &step);
		for (size_t i = 0; i < DNP_ARRAY_SIZE(value); i++)
			at = take(at, end, &value[i]);
		node += step;
		CHECK(node >= 1 && node <= told.nodes);
		told.calls[node] += value[0];
		told.total_ns[node] += value[1];
		told.self_ns[node] += value[2];
	}
}

/* Takes what the writer has gathered, before it goes to the file. */
static void read_back(struct dnp_writer *writer)
{
	const uint8_t *payload = writer->chunk + 32; /* the header of a chunk */
	struct dnp_rec_call_nodes nodes;
	struct dnp_rec_call_counts counts;
	struct dnp_str body;
	size_t at = 0;
	uint64_t id;

	while (dnp_rec_next(payload, writer->used, &at, &id, &body) == 1) {
		if (id == DNP_REC_call_nodes) {
			CHECK_EQ(dnp_get_call_nodes((const void *)body.p, body.n, &nodes), 0);
			read_nodes(&nodes);
		} else if (id == DNP_REC_call_counts) {
			CHECK_EQ(dnp_get_call_counts((const void *)body.p, body.n, &counts), 0);
			read_counts(&counts);
		}
	}
	dnp_writer_flush(writer);
}

static void check_told(enum dnp_calls_choice how)
{
	struct dnp_ticks_clock clock;
	struct dnp_writer writer;
	struct dnp_calls_teller teller = {.writer = &writer, .event = 3};
	struct dnp_calls *calls;

	start(how);
	if (how == DNP_CALLS_TIME) {
		dnp_ticks_begin(&clock);
		teller.ticks = &clock;
	}
	CHECK_EQ(dnp_writer_open(&writer, fileno(tmpfile()), 1), 0);
	enter(9, TOP + 64);
	calls = dnp_calls_own;
	for (int i = 0; i < 10; i++) {
		make_calls(TOP);
		if (how == DNP_CALLS_TREE) {
			dnp_call_told_of(calls, 2)->pending += 5;
			calls->pending = true;
		}
		dnp_calls_tell(&teller, calls, false);
		read_back(&writer);
	}
	dnp_calls_tell(&teller, calls, false);
	CHECK_EQ(writer.used, 0); /* nothing is told twice */
	CHECK_EQ(told.nodes, 6);
	CHECK_EQ(told.method[1], 9);
	CHECK_EQ(told.parent[1], 0);
	CHECK_EQ(told.method[2], 1);
	CHECK_EQ(told.parent[2], 1);
	CHECK_EQ(told.calls[1], 1);
	CHECK_EQ(told.calls[2], 10);
	CHECK_EQ(calls->told_calls, 81);
	if (how == DNP_CALLS_TREE) {
		CHECK_EQ(told.self_ns[2], 50);
		CHECK_EQ(told.total_ns[2], 0);
	} else {
		/* 9 is still open. */
		CHECK(told.total_ns[1] >= told.total_ns[2]);
		CHECK(told.self_ns[1] <= told.total_ns[1]);
	}
	dnp_writer_close(&writer);
}

TEST(tree_is_told)
{
	check_told(DNP_CALLS_TREE);
}

TEST(time_is_told)
{
	check_told(DNP_CALLS_TIME);
}

/* ---- Calls that go on while they are told */

/* What a thread does meanwhile: once, before the next of these records is written. */
static void (*before_nodes)(void);
static void (*before_counts)(void);

int __wrap_dnp_write_call_nodes(struct dnp_writer *writer, const struct dnp_rec_call_nodes *record);
int __real_dnp_write_call_nodes(struct dnp_writer *writer, const struct dnp_rec_call_nodes *record);
int __wrap_dnp_write_call_counts(
	struct dnp_writer *writer, const struct dnp_rec_call_counts *record);
int __real_dnp_write_call_counts(
	struct dnp_writer *writer, const struct dnp_rec_call_counts *record);

static void do_once(void (**what)(void))
{
	void (*now)(void) = *what;

	*what = NULL;
	if (now)
		now();
}

int __wrap_dnp_write_call_nodes(struct dnp_writer *writer, const struct dnp_rec_call_nodes *record)
{
	do_once(&before_nodes);
	return __real_dnp_write_call_nodes(writer, record);
}

int __wrap_dnp_write_call_counts(
	struct dnp_writer *writer, const struct dnp_rec_call_counts *record)
{
	do_once(&before_counts);
	return __real_dnp_write_call_counts(writer, record);
}

static struct timed_teller {
	struct dnp_ticks_clock clock;
	struct dnp_writer writer;
	struct dnp_calls_teller teller;
} timed_teller;

static void start_told(void)
{
	start(DNP_CALLS_TIME);
	dnp_ticks_begin(&timed_teller.clock);
	CHECK_EQ(dnp_writer_open(&timed_teller.writer, fileno(tmpfile()), 1), 0);
	timed_teller.teller = (struct dnp_calls_teller){
		.writer = &timed_teller.writer, .event = 3, .ticks = &timed_teller.clock};
}

static void tell_all(struct dnp_calls *calls)
{
	dnp_calls_tell(&timed_teller.teller, calls, true);
}

/* All has ended and was told: no more and no less than it took. */
static void check_all_told(struct dnp_calls *calls)
{
	tell_all(calls);
	CHECK(!before_nodes && !before_counts);
	for (uint32_t i = 1; i < calls->n_nodes; i++) {
		const struct dnp_call_timed_node *node = (const void *)dnp_call_node_at(calls, i);
		const struct dnp_call_told *of = dnp_call_told_of(calls, i);

		CHECK_EQ(of->total, node->total);
		CHECK_EQ(of->self, node->self);
		if (dnp_call_count_of(&node->node) == 1)
			CHECK_EQ(of->total, node->longest);
	}
	dnp_writer_close(&timed_teller.writer);
}

static void end_4(void)
{
	leave(4, TOP - 64);
}

/* Its node is behind those that one record has room for. */
TEST(a_call_that_ends_while_it_is_told_is_told_once)
{
	start_told();
	enter(1, TOP);
	for (uint32_t i = 1; i <= 3; i++) {
		enter(i, TOP - 64);
		for (uint32_t k = 1; k <= METHODS; k++) {
			enter(k, TOP - 128);
			leave(k, TOP - 128);
		}
		leave(i, TOP - 64);
	}
	enter(4, TOP - 64);
	before_counts = end_4;
	tell_all(dnp_calls_own);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 1);
	leave(1, TOP);
	check_all_told(dnp_calls_own);
}

static void begin_2(void)
{
	enter(2, TOP - 64);
}

TEST(a_call_of_a_node_that_is_not_told_yet_is_told_once)
{
	start_told();
	enter(1, TOP);
	before_nodes = begin_2;
	tell_all(dnp_calls_own);
	CHECK_EQ(dnp_calls_own->n_nodes, 3);
	leave(2, TOP - 64);
	leave(1, TOP);
	check_all_told(dnp_calls_own);
}

/* A thread that ends leaves its memory to the next one, and its counts to the whole. */
TEST(states_are_used_again)
{
	struct dnp_calls *calls;

	start(DNP_CALLS_TREE);
	make_calls(TOP);
	enter(1, TOP);
	calls = dnp_calls_own;
	dnp_calls_release(calls, UINT64_MAX);
	CHECK_EQ(calls->open_ever, 1);
	dnp_calls_own = NULL;
	enter(4, TOP);
	CHECK(dnp_calls_own == calls);
	CHECK_EQ(calls->n_nodes, 2);
	CHECK_EQ(CALLS(4), 1);
	CHECK_EQ(dnp_calls_open_now(calls), 1);
	leave(4, TOP);
	CHECK_EQ(calls->leaves, 8);
}
