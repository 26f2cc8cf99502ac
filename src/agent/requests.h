/* SPDX-License-Identifier: MIT */
/* What can be asked for by the control socket (format/control.h). All is the recorder's. */
#ifndef DNP_AGENT_REQUESTS_H
#define DNP_AGENT_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/control.h"
#include "format/rec.h"

/* One who has asked, while the answer is made. */
struct dnp_asker {
	int fd;    /* borrowed: the connection */
	int pid;   /* at its other end, 0: in no process that we can see */
	int given; /* the one descriptor that came, -1: none; who takes it over puts -1 */
	bool (*meanwhile)(void); /* see dnp_control_serve */
};

/* Does what is asked for and answers. True: the connection is to stay. */
bool dnp_requests_handle(struct dnp_asker *asker, const struct dnp_control_message *message);

/* A connection that was to stay has ended. */
void dnp_requests_gone(int fd);

/* Nobody has asked for anything yet; who does not within `leave_ms` is not waited for. 0: he is. */
void dnp_requests_begin(uint32_t leave_ms);

/* When that time is over, dnp_now_ns(); UINT64_MAX: never. */
uint64_t dnp_requests_deadline(void);

/* It is: leaves the process, if it can. While nothing is recorded. */
void dnp_requests_leave(void);

/* The recording ends by itself: ends it well, and tells who holds it. */
void dnp_requests_end(enum dnp_end_reason reason);

#endif
