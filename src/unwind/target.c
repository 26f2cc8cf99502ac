/* SPDX-License-Identifier: MIT */
#include "unwind/target.h"

#include <errno.h>
#include <string.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/modules.h"
#include "os/stop.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "os/x86_64/context.h"
#include "unwind/x86_64/decode.h"
#include "unwind/native.h"
#include "unwind/stack_copy.h"
#include "unwind/turn.h"

#define PATIENCE_NS       UINT64_C(100000000)
#define FIRST_PATIENCE_NS UINT64_C(500000)
#define RED_ZONE          128 /* bytes below the stack pointer that are the frame's still */

static struct dnp_stack_copy copy; /* whose turn it is */

/* ---- A walk */

struct job {
	const struct dnp_regs *seed; /* NULL: from the leaf */
	struct dnp_target_stack *out;
	int result;
};

SIGSAFE static bool lies_in(struct dnp_stack_range range, uintptr_t address)
{
	return address >= range.low && address < range.high;
}

/* The stack that the thread is on, and its own one if that is another. */
SIGSAFE static int find_stacks(
	uintptr_t sp, struct dnp_target_stack *out, struct dnp_stacks *stacks)
{
	struct dnp_stack_range found;

	*stacks = (struct dnp_stacks){
		.now = out->stack, .runtime_thread = out->runtime_thread, .copy = &copy};
	if (!lies_in(out->stack, sp)) {
		if (dnp_thread_stack_find(sp, &found.low, &found.high))
			return -EFAULT;
		if (!out->stack.high)
			out->stack = found;
		else
			stacks->below = out->stack;
		stacks->now = found;
	}
	stacks->now.low = sp - RED_ZONE;
	return 0;
}

/* The registers to start from: the seed's, if they can be of a frame of these stacks. */
SIGSAFE static int choose_start(
	const struct dnp_regs *leaf, const struct dnp_regs *seed, struct dnp_walk *walk)
{
	walk->regs = seed ? *seed : *leaf;
	walk->exact = true;
	if (!seed)
		return 0;
	if (seed->sp % 8)
		return -EFAULT;
	if (!lies_in(walk->stacks.now, seed->sp)) {
		if (!lies_in(walk->stacks.below, seed->sp))
			return -EFAULT;
		walk->stacks.now = walk->stacks.below;
		walk->stacks.below = (struct dnp_stack_range){0};
	}
	walk->stacks.now.low = seed->sp - RED_ZONE;
	return 0;
}

SIGSAFE static void go_on(struct dnp_walk *walk, struct dnp_target_stack *out, size_t from)
{
	out->n = from +
		dnp_walk_on(walk, out->frames + from, out->registers ? out->registers + from : NULL,
			out->max - from, &out->stop);
}

/* ---- When nobody has saved RBP where the walk needs it for the first time */

#define SEARCH_BYTES 32768 /* of a frame that is left by RBP: buffers among its variables */
#define PROLOG_BYTES 96

/* How well a return address fits the function that would return there; the better first. */
enum fit { CALLS_IT, MAY_CALL_IT, UNLIKELY, FITS };

SIGSAFE static bool function_at(uintptr_t pc, uintptr_t *start)
{
	const struct dnp_elf_module *module = dnp_module_find(pc);
	uint64_t in_file;

	if (!module || !dnp_native_function(module, pc, &in_file))
		return false;
	*start = in_file + module->bias;
	return true;
}

/*
 * A direct call tells whom it calls. What lies about in a frame of its own is mostly left of
 * functions that it called before, and these return into itself.
 */
SIGSAFE static enum fit fit_of(uintptr_t address, uintptr_t function)
{
	uintptr_t callee, start;
	uint8_t call[5];
	int32_t distance;

	if (dnp_mem_read(address - sizeof(call), call, sizeof(call)) == 0 && call[0] == 0xe8) {
		memcpy(&distance, call + 1, sizeof(distance));
		callee = address + (uintptr_t)(intptr_t)distance;
		if (callee == function)
			return CALLS_IT;
		if (function_at(callee, &start) && start == callee)
			return UNLIKELY; /* unless that one jumps here */
	}
	return function_at(address - 1, &start) && start == function ? UNLIKELY : MAY_CALL_IT;
}

/* Where the frame returns to if RBP is `bp`, and whether that makes sense. */
SIGSAFE static bool returns_from(
	const struct dnp_walk *walk, struct dnp_rule rule, uintptr_t bp, uintptr_t *address)
{
	uintptr_t cfa = bp + (uintptr_t)(intptr_t)rule.off;

	if (rule.cfa == DNP_CFA_AT_BP && !dnp_walk_load(walk, cfa, &cfa))
		return false;
	return cfa % 8 == 0 && cfa > walk->regs.sp && dnp_walk_load(walk, cfa - 8, address) &&
		dnp_walk_returns_to(walk, *address);
}

/* Where RBP points if the function's prolog is all that has moved the stack pointer. */
SIGSAFE static bool bp_by_prolog(const struct dnp_walk *walk, uintptr_t function, uintptr_t *bp)
{
	uint8_t code[PROLOG_BYTES];
	size_t n = dnp_mem_read_some(function, code, sizeof(code));
	int32_t bytes;

	if (!dnp_prolog_below_bp(code, n, &bytes))
		return false;
	*bp = walk->regs.sp + (uint32_t)bytes;
	return true;
}

/*
 * Goes on with that RBP; true when the walk gets to where the thread has begun. A return address of
 * 0 ends a walk, too, but lies about in many places.
 */
SIGSAFE static bool try_bp(
	const struct dnp_walk *walk, uintptr_t bp, size_t from, struct dnp_target_stack *out)
{
	struct dnp_walk next = *walk;

	next.regs.bp = bp;
	go_on(&next, out, from);
	return (out->stop == DNP_STOP_END && next.regs.pc) || out->stop == DNP_STOP_DEPTH;
}

#define TRIES_MAX 100

struct search {
	uintptr_t function; /* that the frame is of */
	unsigned tries;
	uintptr_t best_bp;
	size_t best_n;
};

SIGSAFE static bool search_bp(const struct dnp_walk *walk, struct dnp_rule rule, enum fit fit,
	size_t from, struct search *search, struct dnp_target_stack *out)
{
	uintptr_t begin = walk->regs.sp, end = walk->stacks.now.high, address;

	if (end - begin > SEARCH_BYTES)
		end = begin + SEARCH_BYTES;
	for (uintptr_t bp = begin; bp < end && search->tries < TRIES_MAX; bp += 8) {
		if (!returns_from(walk, rule, bp, &address) ||
			fit_of(address, search->function) != fit)
			continue;
		search->tries++;
		if (try_bp(walk, bp, from, out) || fit == CALLS_IT)
			return true;
		if (out->n > search->best_n) {
			search->best_n = out->n;
			search->best_bp = bp;
		}
	}
	return false;
}

/* The walk stands at a frame that is left by RBP, which is not known: finds it and goes on. */
SIGSAFE static void find_bp(struct dnp_walk *walk, struct dnp_target_stack *out)
{
	struct dnp_rule rule = dnp_walk_rule(walk);
	struct search search = {.best_n = out->n};
	size_t from = out->n - 1;
	uintptr_t bp, address;
	enum fit fit;
	bool known;

	if (rule.cfa != DNP_CFA_BP && rule.cfa != DNP_CFA_AT_BP)
		return;
	known = function_at(walk->regs.pc - !walk->exact, &search.function);
	if (known && rule.cfa == DNP_CFA_BP && bp_by_prolog(walk, search.function, &bp) &&
		returns_from(walk, rule, bp, &address)) {
		fit = fit_of(address, search.function);
		if (fit < UNLIKELY && (try_bp(walk, bp, from, out) || fit == CALLS_IT))
			return;
	}
	for (fit = CALLS_IT; fit < FITS; fit++) {
		if (search_bp(walk, rule, fit, from, &search, out))
			return;
	}
	/* What got furthest, if anything did; it is not known to be right. */
	if (search.best_bp)
		try_bp(walk, search.best_bp, from, out);
	else
		out->n = from + 1;
	out->stop = DNP_STOP_BAD_STACK;
}

/* ---- */

/* From where the thread is, or from the seed. `asleep`: RBP and RBX of the leaf are not known. */
SIGSAFE static int walk_from(const struct dnp_regs *leaf, bool asleep, struct job *job)
{
	struct dnp_target_stack *out = job->out;
	struct dnp_walk walk;
	int result = find_stacks(leaf->sp, out, &walk.stacks);

	if (!result)
		result = choose_start(leaf, job->seed, &walk);
	if (result)
		return result;
	dnp_stack_copy_clear(&copy);
	go_on(&walk, out, 0);
	if (asleep && out->n && out->stop == DNP_STOP_BAD_STACK && !walk.regs.bp)
		find_bp(&walk, out);
	if (job->seed && out->n == 1 && out->stop == DNP_STOP_UNKNOWN)
		return -EFAULT;
	return 0;
}

static int walk_asleep(int tid, struct job *job)
{
	auto_close int fd = dnp_thread_state_open(tid);
	struct dnp_thread_state before, after;
	uint64_t cpu_ns = dnp_thread_cpu_ns(tid);
	struct dnp_regs leaf = {0};
	int result = fd < 0 ? fd : dnp_thread_state_read(fd, &before);

	if (result)
		return result;
	if (!before.asleep || dnp_stop_keeps(&before)) {
		job->out->asleep = false;
		return -EAGAIN;
	}
	job->out->asleep = true;
	job->out->syscall = before.syscall;
	job->out->argument = before.argument[0];
	job->out->cpu_ns = cpu_ns;
	job->out->time_ns = dnp_now_ns();
	leaf.pc = before.pc;
	leaf.sp = before.sp;
	result = walk_from(&leaf, true, job);
	/* The same call in the same place could be the next one of a loop; its CPU time tells. */
	if (dnp_thread_state_read(fd, &after) || memcmp(&before, &after, sizeof(before)) ||
		dnp_thread_cpu_ns(tid) != cpu_ns)
		return dnp_thread_exists(tid) ? -EAGAIN : -ESRCH;
	return result;
}

STOPPED static void walk_stopped(const void *context, void *arg)
{
	struct dnp_regs leaf = dnp_regs_of(context);
	struct job *job = arg;

	job->result = walk_from(&leaf, false, job);
}

static int walk_stopping(int tid, struct job *job, uint64_t patience_ns)
{
	int result = dnp_stop_while(tid, patience_ns, walk_stopped, job);

	if (result)
		return result;
	job->out->asleep = false;
	job->out->stopped_ns = dnp_stop_last_ns();
	return job->result;
}

/*
 * One that the runtime is just suspending runs on with the signal blocked until it sleeps: it is
 * waited for a bit, looked at, waited for a bit longer, and so on.
 */
static int walk_either(int tid, struct job *job)
{
	uint64_t left_ns = job->out->patience_ns ? job->out->patience_ns : PATIENCE_NS;
	uint64_t step_ns = FIRST_PATIENCE_NS;
	int result;

	for (;;) {
		result = walk_asleep(tid, job);
		if (!result || result == -ESRCH || result == -EFAULT)
			return result;
		if (!left_ns)
			return -ETIMEDOUT;
		if (step_ns > left_ns)
			step_ns = left_ns;
		result = walk_stopping(tid, job, step_ns);
		if (result != -ETIMEDOUT)
			return result;
		left_ns -= step_ns;
		step_ns *= 2;
	}
}

static int walk_how(int tid, unsigned how, struct job *job)
{
	uint64_t patience_ns = job->out->patience_ns ? job->out->patience_ns : PATIENCE_NS;

	switch (how & (DNP_TARGET_ASLEEP | DNP_TARGET_STOP)) {
	case DNP_TARGET_ASLEEP: return walk_asleep(tid, job);
	case DNP_TARGET_STOP: return walk_stopping(tid, job, patience_ns);
	case DNP_TARGET_ASLEEP | DNP_TARGET_STOP: return walk_either(tid, job);
	default: return -EAGAIN;
	}
}

int dnp_target_walk(
	int tid, const struct dnp_regs *seed, unsigned how, struct dnp_target_stack *out)
{
	struct job job = {.seed = seed, .out = out};
	int result;

	out->n = 0;
	out->stop = DNP_STOP_DEPTH;
	out->asleep = false;
	out->syscall = -1;
	out->argument = 0;
	out->cpu_ns = 0;
	out->time_ns = 0;
	out->stopped_ns = 0;
	if (tid == dnp_thread_id())
		return -EDEADLK;
	dnp_turn_take(tid);
	result = walk_how(tid, how, &job);
	dnp_turn_end();
	if (result)
		out->n = 0;
	return result;
}
