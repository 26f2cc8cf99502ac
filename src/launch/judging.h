/* SPDX-License-Identifier: MIT */
/*
 * How facts are judged, one capability at a time. launch/judging.c has what is the same on
 * each system, the folder of each what is its own, and the table of those that there are on it.
 */
#ifndef DNP_LAUNCH_JUDGING_H
#define DNP_LAUNCH_JUDGING_H

#include "launch/capabilities.h"

enum dnp_judged_of { DNP_OF_ANY, DNP_OF_STARTED, DNP_OF_RUNNING };

struct dnp_judgement {
	const char *name, *title;
	enum dnp_judged_of whose;
	bool needed;
	/* NULL: this system has no such thing. */
	void (*judge)(const struct dnp_facts *facts, struct dnp_capability *can);
};

extern const struct dnp_judgement dnp_judgements[DNP_CAN_COUNT];

/* A row of it, in whose file the functions are called judge_NAME. */
#define DNP_JUDGEMENT(name, title, whose, needed)                                                  \
	[DNP_CAN_##name] = {#name, title, DNP_OF_##whose, needed, judge_##name},

/* `format` is "why; what to do". */
__attribute__((format(printf, 3, 4))) void dnp_judge(
	struct dnp_capability *can, enum dnp_answer answer, const char *format, ...);

#define yes(can, ...)    dnp_judge(can, DNP_ANSWER_YES, __VA_ARGS__)
#define partly(can, ...) dnp_judge(can, DNP_ANSWER_PARTLY, __VA_ARGS__)
#define no(can, ...)     dnp_judge(can, DNP_ANSWER_NO, __VA_ARGS__)

/* The runtimes that the tests run under on this system, by their first number. */
struct dnp_tested {
	int oldest, newest;
};

void dnp_judge_agent(const struct dnp_facts *facts, struct dnp_capability *can);
void dnp_judge_runtime(
	const struct dnp_facts *facts, struct dnp_tested tested, struct dnp_capability *can);
void dnp_judge_answer(const struct dnp_facts *facts, struct dnp_capability *can);
void dnp_judge_trace(const struct dnp_facts *facts, struct dnp_capability *can);

/* The variable of the environment that forbids diagnostics, or none does: of programs that are
 * started. */
void dnp_judge_environment(const struct dnp_facts *facts, struct dnp_capability *can);

/* What names another profiler, NULL: there is none. */
const char *dnp_judge_other(const struct dnp_facts *facts);

#endif
