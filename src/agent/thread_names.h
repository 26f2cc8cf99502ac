/* SPDX-License-Identifier: MIT */
/* Names of managed threads: programs give them before a thread starts as well as later. */
#ifndef DNP_AGENT_THREAD_NAMES_H
#define DNP_AGENT_THREAD_NAMES_H

#include "clr/prf.h"
#include "clr/com.h"
#include "store/threads.h"

/* From ThreadNameChanged, any thread: `length` units of UTF-16. */
void dnp_thread_names_set(ThreadID managed, const WCHAR *name, uint32_t length);

/* From ThreadAssignedToOSThread: a name that was given before is the thread's now. */
void dnp_thread_names_started(ThreadID managed, struct dnp_thread *thread);

/* Forgets names of threads that have not begun, for good: no callback runs. */
void dnp_thread_names_done(void);

#endif
