/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "format/agent_options.h"
#include "launch/judging.h"
#include "launch/program.h"

/* The runtime that the tests run under, under Wine. */
#define TESTED ((struct dnp_tested){.oldest = 10, .newest = 10})

#define STEPS 64 /* room for what is said of a clock's */

/* Who may look into another user's cannot ask the agent in it: that lets in its user alone. */
static void judge_rights(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (!facts->pid)
		yes(can, "user %s: your own processes, those of others as they", facts->user);
	else if (*facts->user && *facts->user != '?' &&
		strcmp(facts->user, facts->caller_user) != 0)
		no(can, "it belongs to user %s, you are user %s; ask from a console of that user",
			facts->user, facts->caller_user);
	else if (facts->runtime.readable)
		yes(can, "user %s may look into a process of user %s", facts->caller_user,
			facts->user);
	else
		no(can,
			"it belongs to another user, or has rights that you have not; ask from a "
			"console of that user, or from a console of an administrator where it was "
			"started by one");
}

static void judge_runtime(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (!facts->own_kind && *facts->kind)
		no(can, "it is %s; the agent is for %s: run one of these", facts->kind,
			dnp_program_profiled);
	else
		dnp_judge_runtime(facts, TESTED, can);
}

static void judge_diagnostics(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (!facts->pid)
		dnp_judge_environment(facts, can);
	else if (facts->has_socket)
		yes(can, "the runtime's pipe is there");
	else if (*facts->switched_off)
		no(can, "diagnostics are switched off: %s; start the program without that variable",
			facts->switched_off);
	else
		no(can,
			"the runtime has no pipe for them: it is just starting, or they are "
			"switched off in its runtimeconfig.json; start the program without that");
}

/* What `run` refuses, attach stands beside: launch/start.c, launch/attach.c. */
static void judge_profiler(const struct dnp_facts *facts, struct dnp_capability *can)
{
	const char *other = dnp_judge_other(facts);

	can->needed = !facts->pid;
	if (!other)
		yes(can, "the environment names none");
	else if (facts->pid)
		partly(can,
			"its environment names %s: dnprof stands beside it, as a notification "
			"profiler; if one is in the way of the other, start the program without it",
			other);
	else
		no(can, "the environment names %s; unset CORECLR_ENABLE_PROFILING", other);
}

static void judge_stacks(const struct dnp_facts *facts, struct dnp_capability *can)
{
	(void)facts;
	yes(can,
		"each thread is suspended for its own walk (anywhere): by its unwind data, with "
		"--engine snapshot by the runtime");
}

/* "", or that the clock goes by steps. */
static void tell_steps(const struct dnp_facts *facts, char out[STEPS])
{
	*out = '\0';
	if (facts->step_ns)
		snprintf(
			out, STEPS, ", which go by steps of %.1f ms", (double)facts->step_ns / 1e6);
}

static void judge_cpu(const struct dnp_facts *facts, struct dnp_capability *can)
{
	char steps[STEPS];

	tell_steps(facts, steps);
	yes(can, "at any rate, by the threads' clocks%s%s", steps,
		*steps ? ": samples are taken evenly over a step" : "");
}

static void judge_wall(const struct dnp_facts *facts, struct dnp_capability *can)
{
	(void)facts;
	yes(can, "of threads that ran managed code at some time, without any rights");
}

static void judge_events(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (facts->low_code)
		no(can,
			"its runtime would end the program, for an error that it has where code "
			"lies low in memory, as under Wine; start the program "
			"with " DNP_IN_PLACE_ENV "=0");
	else
		yes(can, "the runtime can be listened to");
}

static void judge_temp(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (*facts->folder)
		no(can, "%s", facts->folder);
	else
		yes(can, "%s", facts->folder_path);
}

static void judge_timeline(const struct dnp_facts *facts, struct dnp_capability *can)
{
	char steps[STEPS];

	tell_steps(facts, steps);
	if (*facts->threads_shut)
		no(can, "%s", facts->threads_shut);
	else
		partly(can,
			"sampled, by looks at the threads' clocks%s: Windows tells of switches to "
			"administrators only",
			steps);
}

#define judge_agent  dnp_judge_agent
#define judge_answer dnp_judge_answer
#define judge_trace  dnp_judge_trace

const struct dnp_judgement dnp_judgements[DNP_CAN_COUNT] = {
#define DNP_CAPABILITY         DNP_JUDGEMENT
#define DNP_WINDOWS_CAPABILITY DNP_JUDGEMENT
#include "launch/capabilities.def"
};
