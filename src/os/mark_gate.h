/* SPDX-License-Identifier: MIT */
/* What mark_gates.c asks the system for, and what that does with each gate. One thread at a time.
 */
#ifndef DNP_OS_MARK_GATE_H
#define DNP_OS_MARK_GATE_H

#include <stdbool.h>

#define DNPROF_MARK_TYPES_ONLY
#include <dnprof/mark.h>

struct dnp_mark_visit {
	bool closes; /* else they are opened */
	bool busy;   /* out: somebody is inside of one */
};

/* Turns the gate as it is wanted. On Windows also on threads of the program's. */
void dnp_mark_gate_turn(struct dnprof_mark_gate *gate, struct dnp_mark_visit *visit);

/* Turns all that are there now, while none of them can go. False: some were not seen. */
bool dnp_mark_gates_visit(struct dnp_mark_visit *visit);

/*
 * Gates of libraries that come from now on are opened before anything of these runs, so that they
 * call it; NULL: they are not.
 */
void dnp_mark_gates_later(dnprof_mark_function say);

#endif
