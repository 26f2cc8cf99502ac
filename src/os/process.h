/* SPDX-License-Identifier: MIT */
/* This process and others, as far as anybody may know of them. */
#ifndef DNP_OS_PROCESS_H
#define DNP_OS_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/*
 * When a process began, in clock ticks since the system's start: with the pid it names a process
 * for ever. 0: there is no such process.
 */
uint64_t dnp_process_start_ticks(int pid);

/*
 * The argument vector of this process, each argument ended by a zero byte. Returns the bytes of it
 * that fit.
 */
size_t dnp_process_command(char *out, size_t capacity);

/* Threads that this process has now, as cheaply as the system can tell. */
unsigned dnp_process_thread_count(void);

#endif
