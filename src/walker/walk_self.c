/* SPDX-License-Identifier: MIT */
/* Walks of the calling thread. */
#include <string.h>

#include "clr/codemap.h"
#include "unwind/code.h"
#include "unwind/managed.h"
#include "walker/walks.h"

/* Takes out the frames below the caller. */
static void drop_ours(struct dnp_gathered *gathered, uintptr_t caller)
{
	size_t ours = 0;

	while (ours < gathered->n && gathered->registers[ours].sp &&
		gathered->registers[ours].sp < caller)
		ours++;
	gathered->n -= ours;
	memmove(gathered->frames, gathered->frames + ours,
		gathered->n * sizeof(gathered->frames[0]));
	memmove(gathered->registers, gathered->registers + ours,
		gathered->n * sizeof(gathered->registers[0]));
	memmove(gathered->functions, gathered->functions + ours,
		gathered->n * sizeof(gathered->functions[0]));
}

/*
 * Nobody else can change this stack, so it is read as it is; but below the stack pointer there may
 * be no memory.
 */
static HRESULT gather_own(struct dnprof_walker *walker, const struct dnp_wish *wish,
	const struct dnp_here *here, struct dnp_gathered *gathered)
{
	struct dnp_stack_range stack;
	HRESULT hr = S_OK;

	if (!dnp_walker_own_stack(here->regs.sp, &stack))
		return CORPROF_E_STACKSNAPSHOT_UNSAFE;
	stack.low = here->regs.sp;
	if (wish->seeded)
		hr = dnp_wish_check_seed(&wish->seed, &stack);
	if (FAILED(hr))
		return hr;
	gathered->n = dnp_walk_registers(wish->seeded ? &wish->seed : &here->regs,
		(struct dnp_stacks){.now = stack}, gathered->frames, gathered->registers,
		gathered->max, &gathered->stop);
	dnp_walker_functions(walker, gathered);
	return gathered->stop == DNP_STOP_END ? S_OK : S_FALSE;
}

/*
 * Where the walk ended in managed code that the host has not told of: it has not heard of it yet
 * (another thread compiled it a moment ago), or does not forward it. The thread is in it, so that
 * it lives. True: it is known now, go on.
 */
static bool learn_missing(struct dnprof_walker *walker, const struct dnp_gathered *gathered)
{
	dnp_frame_word last = gathered->n ? gathered->frames[gathered->n - 1] : 0;
	uintptr_t ip = dnp_code_of_frame(last);
	FunctionID function = 0;
	struct dnp_code code;
	BOOL dynamic = 0;

	if (gathered->stop != DNP_STOP_UNKNOWN || !last || !dnp_code_may_be_asked_for(ip) ||
		FAILED(dnp_com(
			walker->info.com, GetFunctionFromIP, (const uint8_t *)ip, &function)) ||
		!function)
		return false;
	if (dnp_info_has(&walker->info, IsFunctionDynamic))
		dnp_com(walker->info.com, IsFunctionDynamic, function, &dynamic);
	dnp_walker_compiled(walker, function, dynamic);
	return dnp_codemap_find_at(dnp_walk_codemap(), ip, UINT64_MAX, &code);
}

#define MISSING_MAX 16 /* methods of one stack that are learnt on the way */

static HRESULT gather_own_whole(struct dnprof_walker *walker, const struct dnp_wish *wish,
	const struct dnp_here *here, struct dnp_gathered *gathered)
{
	HRESULT hr;
	int learnt = 0;

	do {
		unsigned ticket = dnp_gather_begin();

		hr = gather_own(walker, wish, here, gathered);
		dnp_gather_end(ticket);
	} while (hr == S_FALSE && !wish->seeded && learnt++ < MISSING_MAX &&
		learn_missing(walker, gathered));
	return hr;
}

static HRESULT gather_own_by_runtime(struct dnprof_walker *walker, enum dnprof_native native,
	const struct dnp_here *here, struct dnp_gathered *gathered)
{
	struct dnp_dss_place place = {.native = true, .leaf = &here->regs};
	struct dnp_dss dss;
	HRESULT hr = dnp_walker_dss_open(walker, &dss);
	unsigned ticket;

	if (FAILED(hr))
		return hr;
	dnp_dss_walk(&walker->info, 0, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, &dss);
	dnp_walker_own_stack(here->regs.sp, &place.stack);
	ticket = dnp_gather_begin();
	hr = dnp_walker_dss_fill(&dss, native, &place, gathered);
	dnp_gather_end(ticket);
	dnp_walker_dss_close(&dss);
	return hr;
}

HRESULT dnp_walk_here(struct dnprof_walker *walker, const struct dnp_wish *wish,
	const struct dnp_here *here, const struct dnp_teller *teller)
{
	struct dnp_gathered gathered;
	HRESULT hr = dnp_gathered_open(&gathered, walker->depth_max);

	if (FAILED(hr))
		return hr;
	dnp_walker_look();
	if (wish->flags & DNPROF_WALK_BY_RUNTIME)
		hr = gather_own_by_runtime(walker, wish->native, here, &gathered);
	else
		hr = gather_own_whole(walker, wish, here, &gathered);
	if (!wish->seeded)
		drop_ours(&gathered, here->caller);
	hr = dnp_tell_result(hr, teller, &gathered, 0, gathered.n);
	dnp_gathered_close(&gathered);
	return hr;
}

int32_t dnprof_walk_self(dnprof_walker *walker, const struct dnprof_walk_options *options,
	dnprof_frame_callback *frame, void *context)
{
	struct dnp_teller teller = {.frame = frame, .context = context};
	struct dnp_here here = DNP_HERE();
	struct dnp_wish wish;
	HRESULT hr;

	hr = dnp_wish_read(walker, options, &wish, &teller);
	if (FAILED(hr))
		return hr;
	teller.thread = dnp_walker_own_id(walker);
	return dnp_walk_here(walker, &wish, &here, &teller);
}
