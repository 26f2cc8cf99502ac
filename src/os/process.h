/* SPDX-License-Identifier: MIT */
/* This process and others, as far as anybody may know of them. */
#ifndef DNP_OS_PROCESS_H
#define DNP_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * When a process began, in clock ticks since the system's start: with the pid it names a process
 * for ever. 0: there is no such process.
 */
uint64_t dnp_process_start_ticks(int pid);

/*
 * The argument vector of a process, each argument ended by a zero byte. Returns the bytes of it
 * that fit.
 */
size_t dnp_process_command(int pid, char *out, size_t capacity);

/* The processes that this one is, and that started it. */
int dnp_process_id(void);
int dnp_process_parent_id(void);

/* Whether a process has threads that can still run: one that was not waited for yet has none. */
bool dnp_process_is_alive(int pid);

/* When a process began, by the recording's clock; 0: before that began, or there is none. */
uint64_t dnp_process_start_ns(int pid);

/* The file that this process runs; returns the bytes of its name that fit, without a zero. */
size_t dnp_process_executable(char *out, size_t capacity);

/* The same of any process; 0: it may not be known. */
size_t dnp_process_executable_of(int pid, char *out, size_t capacity);

/* The system's name and version, as "Linux 6.1.0"; "" where it does not tell. */
void dnp_system_name(char *out, size_t capacity);

/* Processors that are there. */
unsigned dnp_processors(void);

/* A number that nobody can guess, or at least that nobody had before. */
uint64_t dnp_random_number(void);

/* Threads that this process has now, as cheaply as the system can tell. */
unsigned dnp_process_thread_count(void);
/* Whether it knows their number; else it is asked for each of them, as by dnp_thread_each. */
extern const bool dnp_process_threads_counted;

#endif
