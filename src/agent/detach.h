/* SPDX-License-Identifier: MIT */
/* Whether the agent can leave a program that goes on, and that it does. */
#ifndef DNP_AGENT_DETACH_H
#define DNP_AGENT_DETACH_H

#include <stdbool.h>

#include "clr/com.h"

/*
 * Whether the runtime tells us nothing and would not survive to let us go, see beside.h: as it was
 * when last looked, and now. The second: while nothing is recorded, recorder.
 */
bool dnp_detach_is_lost(void);
bool dnp_detach_look_lost(void);

/*
 * Has the runtime let go of us. S_OK: it will, and the recorder is to call it no more. While
 * nothing is recorded, recorder.
 */
HRESULT dnp_detach_request(void);

#endif
