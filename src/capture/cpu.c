/* SPDX-License-Identifier: MIT */
/* Where the CPU time goes (-e cpu). */
#include "capture/engine.h"
#include "capture/running.h"

static unsigned event;
static const char *told; /* of where samples come from */

static int cpu_start(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	int failed = dnp_running_start(setting, index, err);

	event = index;
	told = dnp_running_source();
	return failed;
}

static void cpu_thread_begin(struct dnp_thread *thread)
{
	dnp_running_thread_begin(thread, event);
}

static void cpu_thread_end(struct dnp_thread *thread)
{
	dnp_running_thread_end(thread, event);
}

static void cpu_look(void)
{
	dnp_running_look(event);
}

static bool cpu_changed(void)
{
	bool changed = dnp_running_source() != told;

	told = dnp_running_source();
	return changed;
}

static void cpu_stop(void)
{
	dnp_running_stop(event);
}

const struct dnp_engine dnp_engine_cpu = {
	.event = "cpu",
	.choice = DNP_ENGINE_SIGNAL,
	.walks = true,
	.start = cpu_start,
	.source = dnp_running_source,
	.note = dnp_running_note,
	.changed = cpu_changed,
	.at_once = dnp_running_at_once,
	.tells_threads = dnp_running_tells_threads,
	.thread_begin = cpu_thread_begin,
	.thread_end = cpu_thread_end,
	.look = cpu_look,
	.stop = cpu_stop,
};
