/* SPDX-License-Identifier: MIT */
/* The agent in the process: how the runtime brings it there, and how it lets it go. */
#ifndef DNP_AGENT_LIFE_H
#define DNP_AGENT_LIFE_H

#include <stdbool.h>

#include "base/str.h"
#include "clr/com.h"

/*
 * The runtime has loaded us at the program's start, and this is the thread that it initialises on.
 * S_OK: a recording is made. On failure the reason is in the session and, with the option verbose,
 * on stderr.
 */
HRESULT dnp_life_load(IUnknown *unknown, bool notification);

/*
 * The same for a program that runs already. `data`: as dnp_agent_options_parse_client. On failure
 * the result is all that anybody learns: E_INVALIDARG: the data, DNPROF_E_…: see there.
 */
HRESULT dnp_life_attach(IUnknown *unknown, bool notification, struct dnp_str data);

/* The runtime says that it has attached us. */
void dnp_life_attached(void);

/*
 * It has let go of us: nothing of ours is left when this returns, but for a library that has to
 * stay (agent/forget.h), and a thread that the system or the runtime keeps from its end.
 */
void dnp_life_detached(void);

/* Whether that was just now, so that the runtime may have our place taken still. Any thread. */
bool dnp_life_may_be_unloaded(void);

/* Before the runtime is told whether we are there: that thread may have ended by now. Any thread.
 */
void dnp_life_settle(void);

/* The program ends: ends what is recorded well, and waits for it. */
void dnp_life_shut_down(void);

#endif
