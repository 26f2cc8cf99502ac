/* SPDX-License-Identifier: MIT */
/*
 * Threads by handles that only let ask about them. They are kept while threads are asked about
 * again and again: an id is nobody else's as long as there is one, and a look takes two calls.
 */
#include "os/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/windows/error.h"
#include "os/windows/nt.h"
#include "os/windows/thread_name.h"
#include "os/windows/wide.h"

#define TICK_NS UINT64_C(100) /* of a FILETIME */

/* Ticks from 1601, where a FILETIME begins, to 1970. */
#define TICKS_TO_1970 UINT64_C(116444736000000000)

#define ACCESS (SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION)

/* A thread has one place only, which is the newest's that has it. Ids are multiples of 4. */
#define PLACES      1024u
#define PLACE_OF(t) (((unsigned)(t) / 4) % PLACES)

/* Under the lock. */
static struct held {
	HANDLE handle; /* owned; NULL: none */
	int pid, tid;
	bool ended; /* it was found to have */
} held[PLACES];
static SRWLOCK lock = SRWLOCK_INIT;

static uint64_t number_of(FILETIME time)
{
	return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

static void let_go(struct held *place)
{
	if (place->handle)
		CloseHandle(place->handle);
	*place = (struct held){0};
}

void dnp_tasks_let_go(void)
{
	AcquireSRWLockExclusive(&lock);
	for (unsigned i = 0; i < PLACES; i++)
		let_go(&held[i]);
	ReleaseSRWLockExclusive(&lock);
}

/* With the lock. NULL: that process has no such thread. */
static HANDLE open_thread(int pid, int tid)
{
	HANDLE thread = OpenThread(ACCESS, FALSE, (DWORD)tid);

	if (!thread || GetProcessIdOfThread(thread) == (DWORD)pid)
		return thread;
	CloseHandle(thread);
	return NULL;
}

/*
 * With the lock; it stays good until that is given back. NULL: there is no such thread. It may have
 * ended.
 */
static HANDLE hold(int pid, int tid)
{
	struct held *place = &held[PLACE_OF(tid)];

	if (!place->handle || place->pid != pid || place->tid != tid) {
		let_go(place);
		*place = (struct held){open_thread(pid, tid), pid, tid, false};
	}
	return place->handle;
}

static bool has_ended(HANDLE thread)
{
	return WaitForSingleObject(thread, 0) == WAIT_OBJECT_0;
}

/* With the lock. false: it has ended. When it did so says nothing of one that has not. */
static bool read_times(HANDLE thread, uint64_t *begin, uint64_t *cpu_ns)
{
	FILETIME began, ended, kernel, user;

	if (!thread || !GetThreadTimes(thread, &began, &ended, &kernel, &user) ||
		(number_of(ended) && has_ended(thread)))
		return false;
	*begin = number_of(began);
	*cpu_ns = (number_of(kernel) + number_of(user)) * TICK_NS;
	return true;
}

static int ask_times(int pid, int tid, uint64_t *begin, uint64_t *cpu_ns)
{
	bool known;

	AcquireSRWLockExclusive(&lock);
	known = read_times(hold(pid, tid), begin, cpu_ns);
	held[PLACE_OF(tid)].ended |= !known;
	ReleaseSRWLockExclusive(&lock);
	return known ? 0 : -ESRCH;
}

/* ---- Processes */

bool dnp_process_is_alive(int pid)
{
	return dnp_process_start_ticks(pid);
}

/* Closing the handle of this process that stands for none has no effect. */
static HANDLE open_process(int pid, DWORD access)
{
	return pid == dnp_process_id() ? GetCurrentProcess()
				       : OpenProcess(access, FALSE, (DWORD)pid);
}

uint64_t dnp_process_cpu_ns(int pid)
{
	FILETIME begin, end, kernel, user;
	HANDLE process = open_process(pid, PROCESS_QUERY_LIMITED_INFORMATION);
	BOOL known = process && GetProcessTimes(process, &begin, &end, &kernel, &user);

	if (process)
		CloseHandle(process);
	return known ? (number_of(kernel) + number_of(user)) * TICK_NS : 0;
}

#define PATH_UNITS 32768

/* That of the file it runs, without its folder. */
void dnp_process_name(int pid, char name[16])
{
	HANDLE process = open_process(pid, PROCESS_QUERY_LIMITED_INFORMATION);
	auto_free wchar_t *path = calloc(PATH_UNITS, sizeof(*path));
	DWORD units = PATH_UNITS;
	bool known = process && path && QueryFullProcessImageNameW(process, 0, path, &units);
	const wchar_t *slash = known ? wcsrchr(path, L'\\') : NULL;
	auto_free char *file = known ? dnp_narrow(slash ? slash + 1 : path) : NULL;
	size_t n = file ? dnp_utf8_fit(dnp_str(file), 15) : 0;

	if (process)
		CloseHandle(process);
	if (n)
		memcpy(name, file, n);
	name[n] = '\0';
}

int dnp_tasks_allowed(int pid, struct dnp_err *err)
{
	HANDLE process = OpenProcess(PROCESS_QUERY_INFORMATION, FALSE, (DWORD)pid);
	DWORD error = GetLastError();
	bool other = process && GetProcessId(process) != (DWORD)pid; /* ids are rounded off */

	if (process)
		CloseHandle(process);
	if (process && !other)
		return 0;
	if (other || error == ERROR_INVALID_PARAMETER)
		return dnp_err(err, -ESRCH, "there is no process %d", pid);
	return dnp_err(err, -EACCES,
		"the threads of process %d may not be looked at: Windows gives its error %lu; it "
		"takes the process's own user, or an administrator",
		pid, error);
}

/* One that is known: its next look tells whether it has ended. */
static bool is_held(int pid, int tid)
{
	const struct held *place = &held[PLACE_OF(tid)];
	bool known;

	AcquireSRWLockExclusive(&lock);
	known = place->handle && place->pid == pid && place->tid == tid && !place->ended;
	ReleaseSRWLockExclusive(&lock);
	return known;
}

/* One that has ended stays in the list as long as somebody has a handle to it. */
static int visit_one(int pid, HANDLE thread, int (*visit)(int tid, void *context), void *context)
{
	int tid = (int)GetThreadId(thread);

	return is_held(pid, tid) || !has_ended(thread) ? visit(tid, context) : 0;
}

static int visit_all(int pid, HANDLE process, int (*visit)(int tid, void *context), void *context)
{
	HANDLE thread = NULL, next;
	int result = 0;

	while (!result && NT_SUCCESS(NtGetNextThread(process, thread, ACCESS, 0, 0, &next))) {
		if (thread)
			CloseHandle(thread);
		thread = next;
		result = visit_one(pid, thread, visit, context);
	}
	if (thread)
		CloseHandle(thread);
	return result;
}

int dnp_tasks_each(int pid, int (*visit)(int tid, void *context), void *context)
{
	HANDLE process = open_process(pid, PROCESS_QUERY_INFORMATION);
	int result;

	if (!process)
		return -ESRCH;
	result = visit_all(pid, process, visit, context);
	CloseHandle(process);
	return result;
}

/* ---- Clocks */

const bool dnp_task_runs_counted = false;

/* How long it could have run, and how often it did, the system tells nobody of one thread alone. */
int dnp_task_clock(int pid, int tid, struct dnp_task_clock *clock)
{
	uint64_t begin;
	int failed;

	memset(clock, 0, sizeof(*clock));
	failed = ask_times(pid, tid, &begin, &clock->cpu_ns);
	clock->time_ns = dnp_now_ns();
	return failed;
}

int dnp_task_cpu(int pid, int tid, uint64_t *cpu_ns)
{
	uint64_t begin;

	return ask_times(pid, tid, &begin, cpu_ns);
}

/* By the clock that times are given in here. */
static uint64_t when(FILETIME time)
{
	uint64_t unix_ns = (number_of(time) - TICKS_TO_1970) * TICK_NS;
	uint64_t ago_ns = dnp_unix_ns() - unix_ns;

	return dnp_now_ns() - ago_ns;
}

/* With the lock. */
static int read_end(const struct held *place, struct dnp_task_clock *clock)
{
	FILETIME began, ended, kernel, user;

	if (!place->ended || !GetThreadTimes(place->handle, &began, &ended, &kernel, &user))
		return -ESRCH;
	*clock = (struct dnp_task_clock){
		.time_ns = when(ended),
		.cpu_ns = (number_of(kernel) + number_of(user)) * TICK_NS,
	};
	return 0;
}

int dnp_task_end(int pid, int tid, struct dnp_task_clock *clock)
{
	struct held *place = &held[PLACE_OF(tid)];
	int failed = -ESRCH;

	AcquireSRWLockExclusive(&lock);
	if (place->handle && place->pid == pid && place->tid == tid) {
		failed = read_end(place, clock);
		let_go(place);
	}
	ReleaseSRWLockExclusive(&lock);
	return failed;
}

/* Wine counts none: the caller has used some, or else they are not asked for. */
bool dnp_task_has_cycles(void)
{
	ULONG64 cycles = 0;

	return QueryThreadCycleTime(GetCurrentThread(), &cycles) && cycles;
}

uint64_t dnp_task_cycles(int pid, int tid)
{
	ULONG64 cycles = 0;
	HANDLE thread;

	if (!dnp_task_has_cycles())
		return 0;
	AcquireSRWLockExclusive(&lock);
	thread = hold(pid, tid);
	if (thread && !QueryThreadCycleTime(thread, &cycles))
		cycles = 0;
	ReleaseSRWLockExclusive(&lock);
	return cycles;
}

/* Whose turn it is at a tick of the system's clock gets all of the time since the one before. */
uint64_t dnp_task_step_ns(void)
{
	DWORD adjustment, increment;
	BOOL disabled;

	if (!GetSystemTimeAdjustment(&adjustment, &increment, &disabled))
		return 0;
	return increment * TICK_NS;
}

/* ---- What a thread is */

int dnp_task_ask(int pid, int tid, struct dnp_task *task)
{
	uint64_t cpu_ns;
	HANDLE thread;
	bool known;

	*task = (struct dnp_task){0};
	AcquireSRWLockExclusive(&lock);
	thread = hold(pid, tid);
	known = read_times(thread, &task->start_ticks, &cpu_ns);
	if (known)
		dnp_windows_thread_name(thread, task->name, sizeof(task->name));
	ReleaseSRWLockExclusive(&lock);
	return known ? 0 : -ESRCH;
}

uint64_t dnp_task_start_ticks(int pid, int tid)
{
	uint64_t begin, cpu_ns;

	return ask_times(pid, tid, &begin, &cpu_ns) ? 0 : begin;
}

void dnp_task_name(int pid, int tid, char name[16])
{
	struct dnp_task task;

	dnp_task_ask(pid, tid, &task);
	memcpy(name, task.name, sizeof(task.name));
}

int dnp_task_set_name(int tid, const char *name)
{
	HANDLE thread = OpenThread(THREAD_SET_LIMITED_INFORMATION, FALSE, (DWORD)tid);
	auto_free wchar_t *wide = thread ? dnp_wide(name) : NULL;
	int failed = wide && SUCCEEDED(SetThreadDescription(thread, wide)) ? 0 : -ESRCH;

	if (thread)
		CloseHandle(thread);
	return failed;
}
