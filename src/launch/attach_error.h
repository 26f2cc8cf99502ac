/* SPDX-License-Identifier: MIT */
/* Why a profiler could not be attached: each function fills err and returns its code. */
#ifndef DNP_LAUNCH_ATTACH_ERROR_H
#define DNP_LAUNCH_ATTACH_ERROR_H

#include <stdbool.h>

#include "base/hresult.h"
#include "launch/program.h"
#include "launch/target.h"

/* What was tried; all borrowed. */
struct dnp_attach_case {
	const struct dnp_target *target;
	const struct dnp_program *program; /* its file */
	const char *clsid;
	const char *path; /* of the library, as the target sees it */
	uint64_t timeout_ns;
	bool asked;   /* the runtime was, so that it may still come about */
	bool passing; /* and then does not last */
};

/* Our agent is there. */
int dnp_attach_already(const struct dnp_attach_case *attach, struct dnp_err *err);

/* Our agent is there, and was about to leave all the time. */
int dnp_attach_detaching(const struct dnp_attach_case *attach, struct dnp_err *err);

/* The caller was interrupted. */
int dnp_attach_interrupted(const struct dnp_attach_case *attach, struct dnp_err *err);

/* It is not .NET. */
int dnp_attach_no_runtime(const struct dnp_attach_case *attach, struct dnp_err *err);

/* Its runtime has no socket. */
int dnp_attach_no_socket(const struct dnp_attach_case *attach, struct dnp_err *err);

/* Its runtime was not up in time. */
int dnp_attach_not_up(const struct dnp_attach_case *attach, struct dnp_err *err);

/* Nothing was answered, for `error` (an errno, as of dnp_ipc_ask). */
int dnp_attach_no_answer(const struct dnp_attach_case *attach, int error, struct dnp_err *err);

/* The answer was that failure. */
int dnp_attach_refused(const struct dnp_attach_case *attach, HRESULT result, struct dnp_err *err);

/* Whether it may be different in a moment: no answer (`failed`, -errno), or that one. */
bool dnp_attach_may_change(int failed, HRESULT result);

#endif
