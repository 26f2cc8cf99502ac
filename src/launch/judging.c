/* SPDX-License-Identifier: MIT */
#include "launch/judging.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dnp_judge(struct dnp_capability *can, enum dnp_answer answer, const char *format, ...)
{
	char text[sizeof(can->why) + sizeof(can->remedy)], *remedy;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	remedy = strstr(text, "; ");
	if (remedy) {
		*remedy = '\0';
		snprintf(can->remedy, sizeof(can->remedy), "%.383s", remedy + 2);
	}
	can->answer = answer;
	snprintf(can->why, sizeof(can->why), "%.511s", text);
}

void dnp_judge_agent(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (*facts->agent_file)
		no(can, "%s", facts->agent_file);
	else
		yes(can, "it is there, and loads");
}

static void judge_version(const char *version, struct dnp_tested tested, struct dnp_capability *can)
{
	char range[32];
	int major = atoi(version);

	if (major >= tested.oldest && major <= tested.newest) {
		yes(can, "CoreCLR %s", version);
		return;
	}
	if (tested.oldest < tested.newest)
		snprintf(range, sizeof(range), "%d to %d", tested.oldest, tested.newest);
	else
		snprintf(range, sizeof(range), "%d", tested.newest);
	partly(can,
		"CoreCLR %s: dnprof is tested with %s; try, and see what 'dnprof report' says of "
		"incomplete stacks",
		version, range);
}

void dnp_judge_runtime(
	const struct dnp_facts *facts, struct dnp_tested tested, struct dnp_capability *can)
{
	const char *version = facts->runtime.version;

	if (!facts->runtime.found && facts->nativeaot)
		no(can,
			"it was compiled with NativeAOT, which has no runtime that loads "
			"profilers; publish it without PublishAot");
	else if (!facts->runtime.found)
		no(can,
			"no .NET runtime was seen in it%s%s; give the id of a .NET process, "
			"'dnprof "
			"status' lists them",
			*facts->kind ? ": it is " : "", facts->kind);
	else if (!*version)
		partly(can, "it is .NET, of a version that does not show");
	else
		judge_version(version, tested, can);
}

void dnp_judge_environment(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (*facts->environment)
		no(can, "%s", facts->environment);
	else
		yes(can, "no variable of the environment forbids it");
}

void dnp_judge_answer(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (!facts->asked)
		no(can, "%s", facts->no_answer);
	else if (!facts->status.detachable)
		partly(can, "it is dnprof %s, %s, and cannot be detached: %s",
			facts->status.version, facts->status.state, facts->status.reason);
	else
		yes(can, "it is dnprof %s, %s", facts->status.version, facts->status.state);
}

const char *dnp_judge_other(const struct dnp_facts *facts)
{
	const char *path =
		facts->pid && facts->runtime.profiler ? facts->runtime.profiler : facts->other;

	return *path ? path : NULL;
}

static bool traces_now(const struct dnp_facts *facts)
{
	return facts->asked && strstr(facts->status.events, "trace");
}

void dnp_judge_trace(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (traces_now(facts))
		yes(can, "they are being recorded");
	else if (facts->pid)
		no(can,
			"hooks are possible from a program's start only; start it so: dnprof run "
			"-e trace -- COMMAND");
	else if (dnp_judge_other(facts))
		no(can,
			"hooks need the place of the profiler that the environment names; unset "
			"CORECLR_ENABLE_PROFILING");
	else
		yes(can, "from a program's start");
}

/* Whether it means something there; of a process without a runtime, hardly anything does. */
static bool is_asked(const struct dnp_facts *facts, enum dnp_capability_id id)
{
	const struct dnp_judgement *judgement = &dnp_judgements[id];

	if (!judgement->judge || judgement->whose == (facts->pid ? DNP_OF_STARTED : DNP_OF_RUNNING))
		return false;
	if (!facts->pid || id <= DNP_CAN_runtime)
		return true;
	if (!facts->runtime.found || !facts->runtime.readable)
		return false;
	if (id == DNP_CAN_answer)
		return facts->runtime.agent != NULL;
	if (id == DNP_CAN_library || id == DNP_CAN_diagnostics)
		return facts->runtime.agent == NULL;
	return true;
}

void dnp_capabilities_judge(
	const struct dnp_facts *facts, struct dnp_capability list[DNP_CAN_COUNT])
{
	for (unsigned i = 0; i < DNP_CAN_COUNT; i++) {
		list[i] = (struct dnp_capability){
			.name = dnp_judgements[i].name,
			.title = dnp_judgements[i].title,
			.needed = dnp_judgements[i].needed,
			.asked = is_asked(facts, (enum dnp_capability_id)i),
		};
		if (list[i].asked)
			dnp_judgements[i].judge(facts, &list[i]);
	}
}
