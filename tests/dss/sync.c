/* SPDX-License-Identifier: MIT */
/*
 * Synchronous walks: in the callbacks of the JIT and of module loads the thread's own stack is
 * walked by the runtime, with and without registers, its native runs are filled, and all of it is
 * compared with our own walk. The environment variable DNPROF_DSS names the file for the counts;
 * without it this is the product.
 *
 * The agent is the product's own; the linker puts our functions in front of some of its (--wrap).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/methods.h"
#include "base/json.h"
#include "clr/hresult.h"
#include "os/file_sink.h"
#include "os/modules.h"
#include "os/thread.h"
#include "os/x86_64/regs.h"
#include "unwind/dss.h"
#include "unwind/native.h"

#define DEPTH_MAX 1024

void __real_dnp_methods_compiled(FunctionID function, bool dynamic);
void __wrap_dnp_methods_compiled(FunctionID function, bool dynamic);
void __real_dnp_code_module_loaded(const struct dnp_info *info, ModuleID module);
void __wrap_dnp_code_module_loaded(const struct dnp_info *info, ModuleID module);
int __real_dnp_recorder_start(struct dnp_err *err);
int __wrap_dnp_recorder_start(struct dnp_err *err);
bool __real_dnp_recorder_stop(enum dnp_end_reason reason);
bool __wrap_dnp_recorder_stop(enum dnp_end_reason reason);

/* What is counted. */
#define COUNTS(X)                                                                                  \
	X(walks)             /* with S_OK and with registers */                                    \
	X(failed)            /* with another result */                                             \
	X(without_registers) /* the same walk by COR_PRF_SNAPSHOT_DEFAULT gave other frames */     \
	X(runs)              /* runs of native frames reported */                                  \
	X(wrong_registers)   /* managed frames whose pc is not the one reported */                 \
	X(wrong_order)       /* frames not above each other on the stack */                        \
	X(holes)             /* runs that could not be filled */                                   \
	X(other_functions)   /* filling changed the list of managed frames */                      \
	X(other_frames)      /* our own walk of the whole stack has other frames */                \
	X(without_leaf)      /* the leaf of the filled stack is not this library */                \
	X(leaf_only)         /* filling the leaf only went wrong */                                \
	X(none)              /* filling nothing went wrong */                                      \
	X(between)           /* stacks with a library between two managed frames */                \
	X(seeded)            /* walks begun at a seed in managed code */                           \
	X(other_seeded)      /* these with other frames than without the seed */                   \
	X(other_native_seed) /* the same with a seed in native code */

static struct {
	const char *path;
#define X(name) _Atomic uint64_t name;
	COUNTS(X)
#undef X
	_Atomic uint64_t results[16];
	_Atomic HRESULT result[16];
} counts;

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add(counter, n);
}

static void count_result(HRESULT hr)
{
	for (size_t i = 0; i < DNP_ARRAY_SIZE(counts.results); i++) {
		HRESULT none = 0;

		if (counts.result[i] == hr ||
			(!counts.results[i] &&
				(atomic_compare_exchange_strong(&counts.result[i], &none, hr)))) {
			count(&counts.results[i], 1);
			return;
		}
	}
}

struct stacks {
	struct dnp_dss_frame frames[2][DEPTH_MAX];
	dnp_frame_word words[DEPTH_MAX], own[DEPTH_MAX];
	struct dnp_regs registers[DEPTH_MAX], own_registers[DEPTH_MAX];
	FunctionID functions[DEPTH_MAX];
};

static bool same_frames(const struct dnp_dss *a, const struct dnp_dss *b)
{
	if (a->n != b->n || a->result != b->result)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->frames[i].function != b->frames[i].function ||
			a->frames[i].ip != b->frames[i].ip)
			return false;
	return true;
}

static void check_registers(const struct dnp_dss *dss)
{
	uintptr_t sp = 0;

	for (size_t i = 0; i < dss->n; i++) {
		const struct dnp_dss_frame *frame = &dss->frames[i];

		if (!frame->function) {
			count(&counts.runs, 1);
			continue;
		}
		count(&counts.wrong_registers, frame->regs.pc != frame->ip);
		count(&counts.wrong_order, frame->regs.sp <= sp);
		sp = frame->regs.sp;
	}
}

static size_t holes(const struct dnp_mixed *mixed)
{
	size_t n = 0;

	for (size_t i = 0; i < mixed->n; i++)
		n += mixed->frames[i] == DNP_FRAME_HOLE;
	return n;
}

static bool same_functions(const struct dnp_dss *dss, const struct dnp_mixed *mixed)
{
	size_t k = 0;

	for (size_t i = 0; i < dss->n; i++) {
		if (!dss->frames[i].function)
			continue;
		while (k < mixed->n && !mixed->functions[k])
			k++;
		if (k == mixed->n || mixed->functions[k++] != dss->frames[i].function)
			return false;
	}
	while (k < mixed->n && !mixed->functions[k])
		k++;
	return k == mixed->n;
}

/*
 * Frames of ours that are not in the filled stack must be managed: what the runtime hides. With its
 * handling of exceptions it hides the native frames in it as well, and lets the handler follow the
 * method that threw. Where a method calls native code from its middle the runtime names another
 * instruction of it.
 */
static bool same_as_own(const struct dnp_mixed *mixed, const dnp_frame_word *own,
	const struct dnp_regs *registers, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (k < mixed->n && registers[i].sp == mixed->registers[k].sp &&
			(mixed->functions[k] ? dnp_frame_is_managed(own[i])
					     : own[i] == mixed->frames[k]))
			k++;
		else if (!dnp_frame_is_managed(own[i]) &&
			!(k && k < mixed->n && mixed->functions[k - 1] && mixed->functions[k]))
			return false;
	}
	return k == mixed->n;
}

/* Native code that is not the runtime's. */
static bool is_foreign(dnp_frame_word word)
{
	const struct dnp_elf_module *module = DNP_FRAME_KIND(word) == DNP_WALK_NATIVE
		? dnp_module_find(DNP_FRAME_ADDR(word))
		: NULL;

	return module && !strstr(module->path, "/libcoreclr.so");
}

static bool foreign_between(const struct dnp_mixed *mixed)
{
	bool inner = false, foreign = false;

	for (size_t i = 0; i < mixed->n; i++) {
		if (mixed->functions[i] && foreign)
			return true;
		inner |= mixed->functions[i] != 0;
		foreign |= inner && is_foreign(mixed->frames[i]);
	}
	return false;
}

static bool in_this_library(dnp_frame_word word)
{
	const struct dnp_elf_module *own = dnp_module_find((uintptr_t)&in_this_library);

	return own && dnp_module_find(DNP_FRAME_ADDR(word)) == own;
}

/*
 * In a callback the thread counts as one that runs native code: the runtime ignores the seed, a
 * good one (the first managed frame that it has reported) and a bad one.
 */
static void check_seeds(
	const struct dnp_dss *dss, struct stacks *stacks, const struct dnp_regs *here)
{
	struct dnp_dss again = {.frames = stacks->frames[1], .max = DEPTH_MAX};
	size_t first = 0;
	HRESULT hr;

	while (first < dss->n && !dss->frames[first].function)
		first++;
	hr = dnp_dss_walk(&dnp_agent.info, 0, COR_PRF_SNAPSHOT_REGISTER_CONTEXT,
		&dss->frames[first].regs, &again);
	count(&counts.seeded, 1);
	count(&counts.other_seeded, hr != S_OK || !same_frames(dss, &again));
	hr = dnp_dss_walk(&dnp_agent.info, 0, COR_PRF_SNAPSHOT_DEFAULT, here, &again);
	count(&counts.other_native_seed, hr != S_OK || !same_frames(dss, &again));
}

static void check_modes(const struct dnp_dss *dss, const struct dnp_dss_place *place,
	struct dnp_mixed *mixed, size_t n_runs)
{
	/* Where the runtime hides the leaf's managed frame, what called that is reported first. */
	size_t leaf = dss->frames[0].function != 0;

	dnp_dss_fill(dss, DNP_NATIVE_LEAF, place, mixed);
	count(&counts.leaf_only,
		holes(mixed) != n_runs - !leaf || !same_functions(dss, mixed) ||
			!in_this_library(mixed->frames[0]));
	dnp_dss_fill(dss, DNP_NATIVE_NONE, place, mixed);
	count(&counts.none, holes(mixed) != n_runs + leaf || mixed->n != dss->n + leaf);
}

static void check(const struct dnp_dss *dss, struct stacks *stacks, const struct dnp_regs *here)
{
	struct dnp_mixed mixed = {.frames = stacks->words,
		.registers = stacks->registers,
		.functions = stacks->functions,
		.max = DEPTH_MAX};
	struct dnp_dss_place place = {.native = true, .leaf = here};
	size_t n_own, n_runs = 0;
	enum dnp_walk_stop stop;

	if (dnp_thread_stack(&place.stack.low, &place.stack.high))
		abort();
	check_registers(dss);
	if (getenv("DUMP")) {
		fprintf(stderr, "--- here sp %lx\n", here->sp);
		for (size_t i = 0; i < dss->n; i++)
			fprintf(stderr, "%lx ip %lx pc %lx sp %lx bp %lx\n",
				dss->frames[i].function, dss->frames[i].ip, dss->frames[i].regs.pc,
				dss->frames[i].regs.sp, dss->frames[i].regs.bp);
	}
	for (size_t i = 0; i < dss->n; i++)
		n_runs += !dss->frames[i].function;
	dnp_dss_fill(dss, DNP_NATIVE_ALL, &place, &mixed);
	n_own = dnp_walk_registers(here, (struct dnp_stacks){.now = place.stack}, stacks->own,
		stacks->own_registers, DEPTH_MAX, &stop);
	count(&counts.holes, holes(&mixed) || mixed.stop != DNP_STOP_END);
	count(&counts.other_functions, !same_functions(dss, &mixed));
	count(&counts.other_frames,
		stop != DNP_STOP_END ||
			!same_as_own(&mixed, stacks->own, stacks->own_registers, n_own));
	count(&counts.without_leaf, !in_this_library(mixed.frames[0]));
	count(&counts.between, foreign_between(&mixed));
	check_modes(dss, &place, &mixed, n_runs);
	check_seeds(dss, stacks, here);
}

static __attribute__((noinline)) void walk(void)
{
	struct stacks *stacks = malloc(sizeof(*stacks));
	struct dnp_dss with = {.frames = stacks->frames[0], .max = DEPTH_MAX};
	struct dnp_dss without = {.frames = stacks->frames[1], .max = DEPTH_MAX};
	struct dnp_regs here = dnp_regs_here();
	HRESULT hr =
		dnp_dss_walk(&dnp_agent.info, 0, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, &with);

	dnp_native_refresh();
	count_result(hr);
	dnp_dss_walk(&dnp_agent.info, 0, COR_PRF_SNAPSHOT_DEFAULT, NULL, &without);
	count(&counts.without_registers, !same_frames(&with, &without));
	if (hr == S_OK && with.n) {
		count(&counts.walks, 1);
		check(&with, stacks, &here);
	} else {
		count(&counts.failed, 1);
	}
	free(stacks);
}

void __wrap_dnp_methods_compiled(FunctionID function, bool dynamic)
{
	__real_dnp_methods_compiled(function, dynamic);
	if (counts.path)
		walk();
}

void __wrap_dnp_code_module_loaded(const struct dnp_info *info, ModuleID module)
{
	__real_dnp_code_module_loaded(info, module);
	if (counts.path)
		walk();
}

int __wrap_dnp_recorder_start(struct dnp_err *err)
{
	uint32_t low = 0, high = 0;

	counts.path = getenv("DNPROF_DSS");
	if (counts.path &&
		(FAILED(dnp_com(dnp_agent.info.com, GetEventMask2, &low, &high)) ||
			FAILED(dnp_com(dnp_agent.info.com, SetEventMask2,
				low | COR_PRF_ENABLE_STACK_SNAPSHOT, high))))
		return dnp_err(err, -EINVAL, "the runtime refuses snapshots");
	return __real_dnp_recorder_start(err);
}

static void write_counts(void)
{
	struct dnp_sink_file *file = malloc(sizeof(*file));
	struct dnp_err err = {0};
	struct dnp_json json;

	if (!file || dnp_sink_file_open(file, counts.path, &err))
		abort(); /* a test that cannot tell */
	json = (struct dnp_json){.sink = &file->out.sink};
	dnp_json_open(&json, NULL, '{');
#define X(name) dnp_json_u64(&json, #name, counts.name);
	COUNTS(X)
#undef X
	dnp_json_open(&json, "results", '{');
	for (size_t i = 0; i < DNP_ARRAY_SIZE(counts.results); i++)
		if (counts.results[i])
			dnp_json_u64(&json, dnp_hresult_name(counts.result[i]), counts.results[i]);
	dnp_json_close(&json, '}');
	dnp_json_close(&json, '}');
	if (dnp_sink_file_commit(file, &err))
		abort();
	free(file);
}

bool __wrap_dnp_recorder_stop(enum dnp_end_reason reason)
{
	bool ended = __real_dnp_recorder_stop(reason);

	if (counts.path)
		write_counts();
	return ended;
}
