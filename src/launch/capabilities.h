/* SPDX-License-Identifier: MIT */
/*
 * What can be done on this machine, with a process or with programs that are started: judged from
 * facts, without any further look.
 */
#ifndef DNP_LAUNCH_CAPABILITIES_H
#define DNP_LAUNCH_CAPABILITIES_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/facts.h"

enum dnp_answer {
	DNP_ANSWER_NO,
	DNP_ANSWER_PARTLY, /* it works, with less than there could be */
	DNP_ANSWER_YES,
};

enum dnp_capability_id {
#define DNP_CAPABILITY(name, ...) DNP_CAN_##name,
#define DNP_LINUX_CAPABILITY      DNP_CAPABILITY
#define DNP_WINDOWS_CAPABILITY    DNP_CAPABILITY
#include "launch/capabilities.def"
	DNP_CAN_COUNT
};

struct dnp_capability {
	const char *name, *title; /* static */
	bool asked;               /* it means something here */
	bool needed;              /* without it nothing can be recorded */
	enum dnp_answer answer;
	char why[512];
	char remedy[384]; /* empty: nothing has to be done, or nothing can be */
};

void dnp_capabilities_judge(
	const struct dnp_facts *facts, struct dnp_capability list[DNP_CAN_COUNT]);

#endif
