/* SPDX-License-Identifier: MIT */
/*
 * Mixed stacks: some functions of this program play managed methods. A runtime of ours reports
 * them, and the native frames around them have to be found.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clr/context.h"
#include "clr/hresult.h"
#include "os/x86_64/regs.h"
#include "test.h"
#include "unwind/dss.h"
#include "unwind/native.h"

#define FRAMES_MAX 256

static struct dnp_stack_range stack;
static dnp_frame_word own[FRAMES_MAX], words[FRAMES_MAX];
static struct dnp_regs own_registers[FRAMES_MAX], registers[FRAMES_MAX];
static FunctionID functions[FRAMES_MAX];
static struct dnp_dss_frame frames[FRAMES_MAX];
static size_t n_own;
static volatile int sink;

static struct dnp_dss dss = {.frames = frames, .max = FRAMES_MAX};
static struct dnp_mixed mixed = {
	.frames = words, .registers = registers, .functions = functions, .max = FRAMES_MAX};
static struct dnp_dss_place place;
static void (*check)(void); /* what is asked of the stack while it stands */

static void own_stack(void)
{
	pthread_attr_t attr;
	void *base;
	size_t size;

	CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
	CHECK(pthread_attr_getstack(&attr, &base, &size) == 0);
	pthread_attr_destroy(&attr);
	stack = (struct dnp_stack_range){(uintptr_t)base, (uintptr_t)base + size};
}

/* The index of the first frame of our own walk that is of a function; the walk's end: none. */
static size_t frame_of(const void *function)
{
	for (size_t i = 0; i < n_own; i++) {
		uintptr_t pc = DNP_FRAME_ADDR(own[i]) - (own[i] & DNP_FRAME_EXACT ? 0 : 1);
		const struct dnp_elf_module *module = dnp_module_find(pc);
		uint64_t start;

		if (module && dnp_native_function(module, pc, &start) &&
			start + module->bias == (uintptr_t)function)
			return i;
	}
	return n_own;
}

static void report(FunctionID function, size_t i)
{
	CHECK(i < n_own);
	frames[dss.n++] = (struct dnp_dss_frame){
		.function = function, .ip = own_registers[i].pc, .regs = own_registers[i]};
}

/* ---- The stack: leaf < compare < libc's qsort < sort < the start */

static void sort(void);
static int compare(const void *a, const void *b);

__attribute__((noinline)) static void leaf(void)
{
	struct dnp_regs here = dnp_regs_here();
	enum dnp_walk_stop stop;

	n_own = dnp_walk_registers(
		&here, (struct dnp_stacks){.now = stack}, own, own_registers, FRAMES_MAX, &stop);
	CHECK_EQ(stop, DNP_STOP_END);
	place = (struct dnp_dss_place){.native = true, .leaf = &here, .stack = stack};
	dss.n = 0;
	report(11, frame_of(compare));
	report(0, frame_of(compare) + 1);
	report(22, frame_of(sort));
	report(0, frame_of(sort) + 1);
	check();
	sink++;
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	static int called;

	if (!called++)
		leaf();
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void sort(void)
{
	int numbers[] = {2, 1};

	qsort(numbers, 2, sizeof(numbers[0]), compare);
	sink += numbers[0];
}

static void with_stack(void (*then)(void))
{
#ifdef __SANITIZE_ADDRESS__
	SKIP("the address sanitizer puts a function of its own in front of qsort");
#endif
	CHECK(dnp_native_refresh() >= 0);
	own_stack();
	check = then;
	sort();
}

/* ---- What is asked */

static size_t holes(void)
{
	size_t n = 0;

	for (size_t i = 0; i < mixed.n; i++)
		n += words[i] == DNP_FRAME_HOLE;
	return n;
}

static void all(void)
{
	dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
	CHECK_EQ(mixed.stop, DNP_STOP_END);
	CHECK_EQ(mixed.n, n_own);
	CHECK(!memcmp(words, own, n_own * sizeof(own[0])));
	CHECK(!memcmp(registers, own_registers, n_own * sizeof(registers[0])));
	for (size_t i = 0; i < mixed.n; i++)
		CHECK_EQ(functions[i], i == frame_of(compare) ? 11 : i == frame_of(sort) ? 22 : 0);
}

TEST(native_runs_are_filled)
{
	with_stack(all);
}

static void leaf_only(void)
{
	size_t managed = frame_of(compare);

	dnp_dss_fill(&dss, DNP_NATIVE_LEAF, &place, &mixed);
	CHECK_EQ(mixed.stop, DNP_STOP_END);
	CHECK_EQ(mixed.n, managed + 4);
	CHECK_EQ(holes(), 2);
	CHECK(!memcmp(words, own, (managed + 1) * sizeof(own[0])));
	CHECK_EQ(words[managed + 1], DNP_FRAME_HOLE);
	CHECK_EQ(functions[managed + 2], 22);
}

TEST(the_run_at_the_leaf_is_filled_alone)
{
	with_stack(leaf_only);
}

static void none(void)
{
	dnp_dss_fill(&dss, DNP_NATIVE_NONE, &place, &mixed);
	CHECK_EQ(mixed.n, 5);
	CHECK_EQ(holes(), 3);
	CHECK_EQ(functions[1], 11);
	CHECK_EQ(functions[3], 22);
	place.native = false;
	dnp_dss_fill(&dss, DNP_NATIVE_NONE, &place, &mixed);
	CHECK_EQ(mixed.n, 4);
	CHECK_EQ(functions[0], 11);
}

TEST(native_runs_stay_holes)
{
	with_stack(none);
}

/* Where not enough is known. */
static void unknown(void)
{
	dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
	CHECK_EQ(mixed.stop, DNP_STOP_END);
	CHECK(!mixed.unknown);
	place.leaf = NULL;
	dnp_dss_fill(&dss, DNP_NATIVE_LEAF, &place, &mixed);
	CHECK(mixed.unknown);
	CHECK_EQ(mixed.stop, DNP_STOP_END);
	place.stack.high = 0;
	dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
	CHECK(mixed.unknown);
	CHECK_EQ(mixed.stop, DNP_STOP_END);
	CHECK_EQ(holes(), 2); /* at the leaf and at the root */
	CHECK_EQ(words[0], DNP_FRAME_HOLE);
	CHECK_EQ(words[mixed.n - 1], DNP_FRAME_HOLE);
	CHECK(mixed.n > 5); /* qsort is known */
	for (size_t i = 0; i < dss.n; i++)
		memset(&frames[i].regs, 0, sizeof(frames[i].regs));
	dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
	CHECK_EQ(mixed.n, 5);
	CHECK_EQ(holes(), 3);
	CHECK(mixed.unknown);
	CHECK_EQ(mixed.stop, DNP_STOP_END);
	/* Nobody asks for them. */
	dnp_dss_fill(&dss, DNP_NATIVE_NONE, &place, &mixed);
	CHECK_EQ(holes(), 3);
	CHECK(!mixed.unknown);
	place.native = false;
	dnp_dss_fill(&dss, DNP_NATIVE_LEAF, &place, &mixed);
	CHECK_EQ(holes(), 2);
	CHECK(!mixed.unknown);
}

TEST(native_runs_that_are_not_known_stay_holes)
{
	with_stack(unknown);
}

/* The runtime does not report the method at the leaf, but what called it. */
static void hidden_leaf(void)
{
	memmove(frames, frames + 1, --dss.n * sizeof(frames[0]));
	dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
	CHECK_EQ(mixed.n, n_own); /* it is not managed as far as our walk goes */
	place.leaf = NULL;
	dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
	CHECK_EQ(mixed.n, n_own - frame_of(compare) - 1);
	CHECK_EQ(mixed.stop, DNP_STOP_END);
	CHECK_EQ(words[0], own[frame_of(compare) + 1]);
}

TEST(what_called_a_hidden_method_is_known)
{
	with_stack(hidden_leaf);
}

static void short_of_room(void)
{
	for (mixed.max = 0; mixed.max < n_own; mixed.max++) {
		dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
		CHECK_EQ(mixed.n, mixed.max);
		CHECK_EQ(mixed.stop, DNP_STOP_DEPTH);
		CHECK(!memcmp(words, own, mixed.n * sizeof(own[0])));
	}
	mixed.max = FRAMES_MAX;
	dss.full = true;
	dss.n = 2;
	dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
	CHECK_EQ(mixed.stop, DNP_STOP_DEPTH);
	CHECK_EQ(mixed.n, frame_of(compare) + 1);
}

TEST(a_stack_that_does_not_fit_is_cut_at_its_root)
{
	with_stack(short_of_room);
}

/* Registers that are no good cost a run, and no more. */
static void wrong(void)
{
	uint64_t random = 1;

	for (int i = 0; i < 20000; i++) {
		struct dnp_regs *regs = &frames[i % 4].regs;
		struct dnp_regs good = *regs;
		uintptr_t *fields[] = {&regs->pc, &regs->sp, &regs->bp, &regs->bx};

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		*fields[random >> 62] =
			random >> 60 & 1 ? stack.low + (random >> 20) % 0x800000 : random;
		dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
		CHECK(mixed.n >= 2 && mixed.n <= FRAMES_MAX);
		*regs = good;
	}
}

TEST(wrong_registers_do_no_harm)
{
	with_stack(wrong);
}

/* A stack that is no managed thread's, or one that runs nothing managed. */
TEST(a_stack_without_managed_frames_is_one_run)
{
	struct dnp_regs here = dnp_regs_here();

	CHECK(dnp_native_refresh() >= 0);
	own_stack();
	dss.n = 0;
	place = (struct dnp_dss_place){.native = true, .leaf = &here, .stack = stack};
	dnp_dss_fill(&dss, DNP_NATIVE_LEAF, &place, &mixed);
	CHECK_EQ(holes(), 0);
	CHECK(mixed.n > 2);
	CHECK_EQ(mixed.stop, DNP_STOP_END);
	place.native = false;
	dnp_dss_fill(&dss, DNP_NATIVE_ALL, &place, &mixed);
	CHECK_EQ(mixed.n, 0);
}

/* ---- The runtime's walk */

static const struct dnp_regs *expected_seed;
static uint32_t expected_flags;

static HRESULT DNP_COM walk(ICorProfilerInfo *self, ThreadID thread, StackSnapshotCallback *frame,
	uint32_t flags, void *data, uint8_t *context, uint32_t context_size)
{
	_Alignas(16) uint8_t own_context[DNP_CONTEXT_BYTES] = {0};

	(void)self;
	CHECK_EQ(thread, 5);
	CHECK_EQ(flags, expected_flags);
	CHECK_EQ(!context, !expected_seed);
	if (context) {
		CHECK_EQ(context_size, DNP_CONTEXT_BYTES);
		CHECK_EQ((uintptr_t)context % 16, 0);
		CHECK_EQ(dnp_context_get(context, DNP_CONTEXT_RIP), expected_seed->pc);
		CHECK_EQ(dnp_context_get(context, DNP_CONTEXT_RSP), expected_seed->sp);
		CHECK_EQ(dnp_context_get(context, DNP_CONTEXT_RBP), expected_seed->bp);
		CHECK_EQ(dnp_context_get(context, DNP_CONTEXT_RBX), expected_seed->bx);
	}
	dnp_context_put(own_context, DNP_CONTEXT_RIP, 0x1234);
	for (FunctionID function = 1; function <= 3; function++) {
		bool with = flags & COR_PRF_SNAPSHOT_REGISTER_CONTEXT;

		if (frame(function, 0x1234, 0, with ? sizeof(own_context) : 0,
			    with ? own_context : NULL, data) != S_OK)
			return CORPROF_E_STACKSNAPSHOT_ABORTED;
	}
	return S_OK;
}

TEST(the_runtime_is_asked_for_what_is_wanted)
{
	static const struct ICorProfilerInfoVtbl table = {.DoStackSnapshot = walk};
	ICorProfilerInfo com = {.vtbl = &table};
	struct dnp_info info = {.com = &com, .version = 15};
	struct dnp_regs seed = {.pc = 1, .sp = 2, .bp = 3, .bx = 4};

	CHECK_EQ(dnp_dss_walk(&info, 5, COR_PRF_SNAPSHOT_DEFAULT, NULL, &dss), S_OK);
	CHECK_EQ(dss.n, 3);
	CHECK_EQ(dss.frames[2].function, 3);
	CHECK_EQ(dss.frames[2].regs.pc, 0);
	CHECK(!dss.seeded && !dss.full);
	expected_seed = &seed;
	expected_flags = COR_PRF_SNAPSHOT_REGISTER_CONTEXT;
	CHECK_EQ(dnp_dss_walk(&info, 5, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, &seed, &dss), S_OK);
	CHECK_EQ(dss.frames[2].regs.pc, 0x1234);
	CHECK(dss.seeded);
	dss.max = 2;
	CHECK_EQ(dnp_dss_walk(&info, 5, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, &seed, &dss),
		CORPROF_E_STACKSNAPSHOT_ABORTED);
	CHECK(dss.full);
	CHECK_EQ(dss.n, 2);
}
