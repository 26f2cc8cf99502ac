/* SPDX-License-Identifier: MIT */
/*
 * Word from the system of each time that a processor goes from one thread to another, with the
 * threads that begin and end and the names they get.
 *
 * Of a process's threads, and of all that come of them, any user may ask who may debug it, where
 * perf events are allowed at all. Of all threads of the machine only who may see its performance
 * (CAP_PERFMON).
 *
 * The system writes into one ring a processor. What does not fit into it before it is read is lost
 * and told as such; or else (`newest`) what is old gives way, and nobody needs to read.
 */
#ifndef DNP_OS_SWITCHES_H
#define DNP_OS_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum dnp_switch_kind {
	DNP_SWITCH_IN,        /* the thread gets a processor */
	DNP_SWITCH_WAITS,     /* it gives it back, since it waits for something */
	DNP_SWITCH_PREEMPTED, /* it loses it, but could go on */
	DNP_SWITCH_BEGIN,     /* the thread has been made */
	DNP_SWITCH_END,       /* it is about to end, and will give its processor back once more */
	DNP_SWITCH_NAME,      /* it has got a name */
	DNP_SWITCH_LOST,      /* `count` records of this processor or more, since `since_ns` */
	DNP_SWITCH_GAP,       /* all before time_ns is missing, of all processors (`newest`) */
};

struct dnp_switch {
	uint64_t time_ns;
	uint64_t since_ns, count; /* of DNP_SWITCH_LOST */
	int pid, tid;             /* none of DNP_SWITCH_LOST and _GAP */
	int parent_tid;           /* of DNP_SWITCH_BEGIN */
	uint16_t cpu;
	uint8_t kind;
	char name[16]; /* of DNP_SWITCH_NAME */
};

struct dnp_switches_options {
	int pid;           /* whose threads */
	bool all;          /* of all processes; `pid` does not matter */
	bool newest;       /* keep the newest; else, what was not read yet */
	size_t ring_bytes; /* a processor; fewer where the system does not give as much memory */
};

struct dnp_switches;

/*
 * Opens it for all threads that there are, without missing one that begins meanwhile; nothing is
 * told before start. A process of many threads needs a descriptor for each of them and processor,
 * the caller's own one that has not made a thread yet, only for each processor. Err says which
 * right is missing.
 *
 * -EACCES, -EPERM, -ENOSYS: not allowed here; -ENOMEM: no memory for rings; -EMFILE; -ESRCH: no
 * such process.
 */
int dnp_switches_open(struct dnp_switches **switches, const struct dnp_switches_options *options,
	struct dnp_err *err);
void dnp_switches_close(struct dnp_switches *switches);

void dnp_switches_start(struct dnp_switches *switches);
void dnp_switches_stop(struct dnp_switches *switches);

size_t dnp_switches_ring_bytes(const struct dnp_switches *switches);

/*
 * Waits until a ring is half full, `bell` (os/bell.h) can be read from, or CLOCK_MONOTONIC has
 * reached deadline_ns.
 */
void dnp_switches_wait(struct dnp_switches *switches, int bell, uint64_t deadline_ns);

typedef void dnp_switch_visit(const struct dnp_switch *it, void *context);

/*
 * Calls visit for what was not told yet, in order of time: nothing younger than a millisecond while
 * it is being recorded, since a processor may be late to tell. Each thing is told once. Returns up
 * to when that was. One thread at a time, of all functions but close.
 */
uint64_t dnp_switches_read(struct dnp_switches *switches, dnp_switch_visit *visit, void *context);

#endif
