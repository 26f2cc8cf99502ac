/* SPDX-License-Identifier: MIT */
/*
 * How facts are found. launch/finding.c has what is the same on each system, the folder of each
 * what its own tells.
 */
#ifndef DNP_LAUNCH_FINDING_H
#define DNP_LAUNCH_FINDING_H

#include "launch/facts.h"
#include "launch/target.h"

/* ---- Of the system */

void dnp_find_machine(struct dnp_facts *facts);

/* Of programs that the caller would start. */
void dnp_find_own(struct dnp_facts *facts);

/*
 * Of the process facts->pid. `library`: the agent's, "" there is none. 0, or -errno with err: there
 * is no such process.
 */
int dnp_find_process(
	struct dnp_facts *facts, const char *library, uint64_t patience_ns, struct dnp_err *err);

/* ---- For it */

/* Why something is so. */
void dnp_find_keep(dnp_fact_text out, const struct dnp_err *err);

/* What the program at that path is. */
void dnp_find_kind(struct dnp_facts *facts, const char *path);

/* What of its environment forbids diagnostics. */
void dnp_find_switched_off(struct dnp_facts *facts, const struct dnp_target *target);

/* What our agent says, if it is there. */
void dnp_find_answer(struct dnp_facts *facts, uint64_t patience_ns);

#endif
