/* SPDX-License-Identifier: MIT */
/* What those who ask by the control socket are told. */
#ifndef DNP_AGENT_ANSWER_H
#define DNP_AGENT_ANSWER_H

#include <stdint.h>

#include "format/control.h"

/*
 * Sends what was asked for, or what nobody asked for, with a descriptor, -1: with none. 0 or
 * -errno: -EPIPE, the client has gone. Recorder.
 */
int dnp_answer_send(
	int fd, enum dnp_control_kind kind, uint32_t value, const char *text, int passed);

#endif
