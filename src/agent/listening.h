/* SPDX-License-Identifier: MIT */
/* Whether it does the program any harm that somebody listens to its runtime. */
#ifndef DNP_AGENT_LISTENING_H
#define DNP_AGENT_LISTENING_H

#include "base/err.h"
#include "capture/engine.h"

/*
 * 0, or -EOPNOTSUPP with err: the runtime would end the program by and by if it were asked to
 * deliver wishes[DNP_PROVIDERS]. `events`: as asked for, for messages.
 */
int dnp_listening_check(
	const struct dnp_provider_wish *wishes, const char *events, struct dnp_err *err);

#endif
