/* SPDX-License-Identifier: MIT */
/*
 * The variables that brought the agent into the program. There are two environments: the runtime
 * made a copy before it loaded us, which is what managed code sees and hands on; the C library's is
 * what native code does. What is said over a diagnostic port is in the copy alone.
 *
 * While the runtime initialises us; dnp_agent.info is open.
 */
#ifndef DNP_AGENT_ENVIRONMENT_H
#define DNP_AGENT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Takes away what would have children of this process load the agent. Others' settings stay. */
void dnp_environment_clean(void);

/* Only the options: for who is to have no other variables of ours. */
void dnp_environment_clean_told(void);

/* The options that were given over a diagnostic port; false: none were. */
bool dnp_environment_told(char *out, size_t capacity);

#endif
