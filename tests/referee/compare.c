/* SPDX-License-Identifier: MIT */
#include "referee.h"

#include <stdatomic.h>
#include <string.h>

#include "clr/codemap.h"
#include "clr/hresult.h"
#include "clr/r2r.h"

bool referee_is_managed(dnp_frame_word word)
{
	enum dnp_walk_kind kind = DNP_FRAME_KIND(word);

	return kind == DNP_WALK_JIT || kind == DNP_WALK_R2R || kind == DNP_WALK_DYNAMIC;
}

static uintptr_t lookup_address(dnp_frame_word word)
{
	return DNP_FRAME_ADDR(word) - (word & DNP_FRAME_EXACT ? 0 : 1);
}

#define NUMBERS_MAX (1U << 20)

/* What the runtime called the method of each of our numbers, when it first did. */
static _Atomic FunctionID function_of_number[NUMBERS_MAX];

/* Our map must know the code by the method that the runtime says it is of. */
static void check_name(dnp_frame_word word, FunctionID function)
{
	const struct dnp_code *code = dnp_codemap_find(referee.map, lookup_address(word));
	FunctionID known = 0;

	if (!code || !code->method || code->method >= NUMBERS_MAX)
		return;
	if (!atomic_compare_exchange_strong(&function_of_number[code->method], &known, function) &&
		known != function)
		referee_count(&referee.misnamed);
}

static bool same_function(dnp_frame_word word, const struct snapshot_frame *frame)
{
	FunctionID function = 0;

	if (DNP_FRAME_ADDR(word) == frame->ip)
		return true;
	return SUCCEEDED(dnp_com(dnp_agent.info.com, GetFunctionFromIP,
		       (const uint8_t *)lookup_address(word), &function)) &&
		function == frame->function;
}

bool referee_is_part(dnp_frame_word word)
{
	uintptr_t pc = lookup_address(word);
	const struct dnp_code *code = dnp_codemap_find(referee.map, pc);
	const struct dnp_r2r_image *image = code ? NULL : dnp_r2r_find(pc);
	struct dnp_r2r_function function, method;

	if (code)
		return code->flags & DNP_CODE_FUNCLET && !(code->flags & DNP_CODE_CATCH);
	return image && dnp_r2r_function_at(image, pc, &function) &&
		dnp_r2r_part_of(image, &function, &method) == DNP_R2R_FINALLY;
}

struct comparison {
	size_t own, theirs; /* managed frames; ours without dynamic code */
	bool same, same_ips, dynamic, parts;
};

static struct comparison compare(
	const dnp_frame_word *own, size_t n, const struct snapshot *snapshot)
{
	struct comparison c = {.same = true, .same_ips = true};
	size_t i = 0, k = 0;

	for (;; i++, k++) {
		for (; i < n &&
			(!referee_is_managed(own[i]) || DNP_FRAME_KIND(own[i]) == DNP_WALK_DYNAMIC);
			i++)
			c.dynamic |= DNP_FRAME_KIND(own[i]) == DNP_WALK_DYNAMIC;
		while (k < snapshot->n && !snapshot->frames[k].function)
			k++;
		c.own += i < n;
		c.theirs += k < snapshot->n;
		if (i >= n || k >= snapshot->n)
			break;
		c.parts |= referee_is_part(own[i]);
		if (!same_function(own[i], &snapshot->frames[k]))
			c.same = false;
		else
			check_name(own[i], snapshot->frames[k].function);
		c.same_ips &= DNP_FRAME_ADDR(own[i]) == snapshot->frames[k].ip;
	}
	c.same &= i >= n && k >= snapshot->n && SUCCEEDED(snapshot->result);
	return c;
}

bool referee_same(const dnp_frame_word *own, size_t n, const struct snapshot *snapshot)
{
	struct comparison c;

	if (referee.times)
		return true;
	c = compare(own, n, snapshot);
	if (!c.own && !c.theirs) {
		referee_count(&referee.no_managed);
		return true;
	}
	referee_count(&referee.compared);
	if (!c.same || c.parts) {
		referee_count(&referee.different);
		return false;
	}
	referee_count(&referee.identical);
	if (c.same_ips)
		referee_count(&referee.same_ips);
	if (c.dynamic)
		referee_count(&referee.with_dynamic);
	return true;
}

void referee_keep(const dnp_frame_word *own, size_t n, enum dnp_walk_stop stop,
	const struct snapshot *snapshot, bool preemptive)
{
	struct difference d = {.n_own = (uint32_t)n,
		.n_snapshot = (uint32_t)snapshot->n,
		.result = snapshot->result,
		.stop = (uint8_t)stop,
		.preemptive = preemptive};
	size_t own_bytes = n * sizeof(own[0]);
	size_t their_bytes = snapshot->n * sizeof(snapshot->frames[0]);
	size_t bytes = sizeof(d) + own_bytes + their_bytes;
	size_t at = atomic_load(&referee.stored);
	uint8_t *to;

	do {
		if (bytes > REFEREE_STORE_BYTES - at) {
			referee_count(&referee.lost);
			return;
		}
	} while (!atomic_compare_exchange_weak(&referee.stored, &at, at + bytes));
	to = referee.store + at;
	memcpy(to, &d, sizeof(d));
	memcpy(to + sizeof(d), own, own_bytes);
	memcpy(to + sizeof(d) + own_bytes, snapshot->frames, their_bytes);
}

void referee_failed(HRESULT result)
{
	for (size_t i = 0; i < REFEREE_REASONS_MAX; i++) {
		HRESULT known = S_OK;

		if (atomic_compare_exchange_strong(&referee.failures[i].result, &known, result) ||
			known == result) {
			referee_count(&referee.failures[i].n);
			return;
		}
	}
}

void referee_took(enum referee_walker walker, size_t frames, uint64_t ns)
{
	struct referee_cost *cost = &referee.costs[walker];
	uint64_t number = atomic_fetch_add_explicit(&cost->walks, 1, memory_order_relaxed);

	if (number < REFEREE_WALKS_MAX)
		cost->each[number] = (struct referee_time){
			.ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX,
			.frames = (uint32_t)frames,
		};
}
