/* SPDX-License-Identifier: MIT */
/*
 * Threads of this or any other process, as the system tells of them to whoever may ask. Any thread;
 * not for handlers.
 */
#ifndef DNP_OS_TASKS_H
#define DNP_OS_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "os/process.h"

/* CPU time of all threads of a process, ended ones as well; 0: there is no such process. */
uint64_t dnp_process_cpu_ns(int pid);

/* Its name, "" when it has gone. `name` holds at least 16 bytes. */
void dnp_process_name(int pid, char name[16]);

/* Whether this user may ask about the threads of a process: 0, or -errno and err says why. */
int dnp_tasks_allowed(int pid, struct dnp_err *err);

/*
 * Where the system wants to be held to what is asked about again and again, it is let go: what was
 * asked about may be asked about again.
 */
void dnp_tasks_let_go(void);

/*
 * Calls visit(tid) for each thread of a process. 0: for all of them that were there when it was
 * called; -EAGAIN: one ended meanwhile, and others may be missing; -ESRCH: there is no such
 * process; or what visit returned, which ends the listing when it is not 0.
 */
int dnp_tasks_each(int pid, int (*visit)(int tid, void *context), void *context);

/* What the scheduler has booked for a thread. */
struct dnp_task_clock {
	uint64_t time_ns; /* when it was read */
	uint64_t cpu_ns;  /* of this process exact; of others booked at switches and ticks only */
	uint64_t wait_ns; /* ready to run, but without a processor */
	uint64_t runs;    /* how often it was given a processor */
	bool waits_known; /* the last two were told; else they are 0 */
};

/*
 * What a thread has waited since *before_ns, which is then as of now; *known: it was told before.
 * Nothing where it is not told, or was not yet, or where less is told than before.
 */
static inline int64_t dnp_task_waited_since(
	const struct dnp_task_clock *clock, uint64_t *before_ns, bool *known)
{
	int64_t waited = *known ? (int64_t)(clock->wait_ns - *before_ns) : 0;

	if (!clock->waits_known || clock->wait_ns < *before_ns)
		return 0;
	*before_ns = clock->wait_ns;
	*known = true;
	return waited;
}

/* Whether `runs` are told of where this user may know of them. */
extern const bool dnp_task_runs_counted;

/* 0, or -ESRCH. What the system does not tell, or not where no descriptor is left, is 0. */
int dnp_task_clock(int pid, int tid, struct dnp_task_clock *clock);

/* Only cpu_ns, for the cheapest look; 0 or -ESRCH. */
int dnp_task_cpu(int pid, int tid, uint64_t *cpu_ns);

/*
 * What a thread has got that has ended, and when that was: where the system keeps it for who has
 * asked about the thread before. Once. 0 or -ESRCH.
 */
int dnp_task_end(int pid, int tid, struct dnp_task_clock *clock);

/*
 * A number that grows whenever the thread runs, where its CPU time goes by steps; 0: nothing of the
 * kind is counted.
 */
uint64_t dnp_task_cycles(int pid, int tid);
bool dnp_task_has_cycles(void);

/* By how much a thread's CPU time grows at once; 0: as it runs. */
uint64_t dnp_task_step_ns(void);

struct dnp_task {
	bool ready;           /* it runs, or could if it had a processor */
	uint64_t start_ticks; /* when it began, in clock ticks since the system's start */
	char name[16];
};

/* What a thread is. 0 or -ESRCH. */
int dnp_task_ask(int pid, int tid, struct dnp_task *task);

/* When it began, in clock ticks since the system's start; 0: there is no such thread. */
uint64_t dnp_task_start_ticks(int pid, int tid);

/* Its name, "" when it has gone. `name` holds at least 16 bytes. */
void dnp_task_name(int pid, int tid, char name[16]);

/* Names a thread of this process, of which the system keeps 15 bytes. 0 or -errno. */
int dnp_task_set_name(int tid, const char *name);

#endif
