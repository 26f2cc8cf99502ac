/* SPDX-License-Identifier: MIT */
#include "unwind/suspended.h"

#include <errno.h>
#include <string.h>

#include "clr/hresult.h"
#include "os/stop.h"
#include "os/thread.h"
#include "unwind/turn.h"

struct job {
	ThreadID id;
	struct dnp_suspended *out;
	int result;
};

STOPPED static int find_stack(uintptr_t sp, struct dnp_suspended *out)
{
	if (sp >= out->stack.low && sp < out->stack.high)
		return 0;
	return dnp_thread_stack_find(sp, &out->stack.low, &out->stack.high) ? -EFAULT : 0;
}

STOPPED static size_t first_managed(const dnp_frame_word *frames, size_t n)
{
	size_t i = 0;

	while (i < n && !dnp_frame_is_managed(frames[i]))
		i++;
	return i;
}

/* With our walk in mixed: the fifth step. */
STOPPED static void ask(const struct dnp_regs *leaf, size_t managed, struct job *job)
{
	struct dnp_suspended *out = job->out;
	struct dnp_regs seed = out->mixed.registers[managed];
	struct dnp_dss_place place = {
		.native = managed > 0, .leaf = leaf, .stack = out->stack, .stands = true};
	size_t n = out->mixed.n;
	enum dnp_walk_stop stop = out->mixed.stop;

	out->asked = true;
	out->result = dnp_dss_walk(
		out->info, job->id, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, &seed, &out->dss);
	if (FAILED(out->result) && !out->dss.full)
		return;
	memcpy(out->own, out->mixed.frames, n * sizeof(out->own[0]));
	dnp_dss_fill(&out->dss, DNP_NATIVE_ALL, &place, &out->mixed);
	if (out->mixed.n)
		return;
	/* The runtime knows none of these frames. */
	memcpy(out->mixed.frames, out->own, n * sizeof(out->own[0]));
	out->mixed.n = n;
	out->mixed.stop = stop;
}

STOPPED static void look(const void *context, void *arg)
{
	struct dnp_regs leaf = dnp_dss_registers(context);
	struct job *job = arg;
	struct dnp_suspended *out = job->out;
	struct dnp_stacks stacks = {.runtime_thread = job->id, .stands = true};
	size_t managed;

	job->result = find_stack(leaf.sp, out);
	if (job->result)
		return;
	stacks.now = (struct dnp_stack_range){leaf.sp, out->stack.high};
	out->mixed.n = dnp_walk_registers(&leaf, stacks, out->mixed.frames, out->mixed.registers,
		out->mixed.max, &out->mixed.stop);
	managed = first_managed(out->mixed.frames, out->mixed.n);
	out->managed = managed < out->mixed.n;
	if (out->managed && out->ask != DNP_ASK_NEVER &&
		(out->ask == DNP_ASK_ALWAYS || !dnp_suspended_is_all(out->mixed.stop)))
		ask(&leaf, managed, job);
}

int dnp_suspended_walk(int tid, ThreadID id, struct dnp_suspended *out)
{
	struct job job = {.id = id, .out = out};
	int result;

	out->asked = out->managed = false;
	out->result = S_OK;
	out->mixed.n = 0;
	out->mixed.stop = DNP_STOP_DEPTH;
	dnp_turn_take(tid);
	result = dnp_stop_while(tid, 0, look, &job);
	out->stopped_ns = dnp_stop_last_ns();
	dnp_turn_end();
	return result ? result : job.result;
}
