/* SPDX-License-Identifier: MIT */
/* Waits that end at a time, as exactly as Windows can (half a millisecond, else 16). */
#ifndef DNP_OS_WINDOWS_TIMER_H
#define DNP_OS_WINDOWS_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <windows.h>

/*
 * Waits for an object, NULL: for none, but no longer than until dnp_now_ns() has reached
 * deadline_ns (UINT64_MAX: for ever). Whether the object ended the wait.
 */
bool dnp_timer_wait(HANDLE object, uint64_t deadline_ns);

/* The same for the first of at most 63 objects, whose number it returns; -1: the time is over. */
int dnp_timer_wait_any(const HANDLE *objects, unsigned n, uint64_t deadline_ns);

#endif
