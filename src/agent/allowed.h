/* SPDX-License-Identifier: MIT */
/*
 * Which of the runtime's notifications may do something: they come also before they were asked for
 * and after they no longer are.
 */
#ifndef DNP_AGENT_ALLOWED_H
#define DNP_AGENT_ALLOWED_H

#include <stdbool.h>

enum dnp_allowed {
	DNP_ALLOWED_NONE = 0,
	DNP_ALLOWED_CODE = 1,    /* modules and methods are taken note of */
	DNP_ALLOWED_THREADS = 2, /* threads are */
};

/*
 * From now on these and no others; returns when none of the others is under way any more. By who
 * starts and ends recordings.
 */
void dnp_allowed_set(unsigned what);

/* In a notification, any thread. True: it may, until it leaves. */
bool dnp_allowed_enter(unsigned what);
void dnp_allowed_leave(void);

/* In a child that the program has forked: none, for ever. */
void dnp_allowed_forked(void);
/* Whether this is one. Any thread. */
bool dnp_allowed_is_forked(void);

#endif
