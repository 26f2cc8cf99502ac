/* SPDX-License-Identifier: MIT */
/*
 * The two events by which the runtime tells of a method that it compiles
 * (Microsoft-Windows-DotNETRuntime). Both come on the thread that compiles.
 *
 * MethodJittingStarted: before. MethodLoadVerbose: there is code; of methods that were compiled
 * ahead of time as well.
 */
#ifndef DNP_CLR_COMPILATION_H
#define DNP_CLR_COMPILATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define DNP_EVENT_METHOD_LOAD_VERBOSE    143u
#define DNP_EVENT_METHOD_JITTING_STARTED 145u

#define DNP_KEYWORD_JIT UINT64_C(0x10)

struct dnp_compilation {
	uint64_t method; /* the runtime's number of it */
	uint64_t address;
	uint32_t bytes; /* of code */
	bool jitted;
	const char *tier;          /* what kind of code it is, static */
	bool rejected;             /* there is ReadyToRun code, and the runtime cannot use it */
	bool rejected_by_profiler; /* … and may not, by the word of a profiler */
};

/* The method of a payload; 0 or -EBADMSG, as the next. */
int dnp_compilation_started(const uint8_t *data, size_t n, uint64_t *method);

/* Its name without arguments goes to `name`. */
int dnp_compilation_loaded(
	const uint8_t *data, size_t n, struct dnp_compilation *compilation, struct dnp_text *name);

#endif
