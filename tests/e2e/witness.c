/* SPDX-License-Identifier: MIT */
/*
 * witness FILE COMMAND…: runs a command and sees, by ptrace, every signal that the kernel delivers
 * to a thread of it or of its children. FILE gets a line `tid signals intervals` for each thread
 * that samplers of dnprof's have interrupted: how often, and for how many intervals where the
 * signal says so (a timer's overruns; one else). Exits as the command does; with 125 where nothing
 * can be traced.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT  125
#define TID_END (1 << 22) /* the kernel's PID_MAX_LIMIT */

static struct seen {
	uint64_t signals, intervals;
} seen[TID_END];

static void look(int tid, int signo)
{
	siginfo_t info;

	if (signo != SIGRTMIN || ptrace(PTRACE_GETSIGINFO, tid, NULL, &info))
		return;
	if (info.si_code != SI_TIMER && info.si_code != POLL_IN && info.si_code != POLL_HUP)
		return;
	seen[tid].signals++;
	seen[tid].intervals += 1 + (info.si_code == SI_TIMER ? (uint64_t)info.si_overrun : 0);
}

/* What a thread has stopped for goes on as it would. */
static void go_on(int tid, int status)
{
	int signo = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_STOP &&
		(signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU)) {
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
		return;
	}
	if (!event)
		look(tid, signo);
	ptrace(PTRACE_CONT, tid, NULL, event ? 0 : signo);
}

static int watch(int child)
{
	int status, ended = CANNOT;

	for (;;) {
		int tid = waitpid(-1, &status, __WALL);

		if (tid < 0 && errno == ECHILD)
			return ended;
		if (tid < 0)
			continue;
		if (WIFSTOPPED(status))
			go_on(tid, status);
		else if (tid == child)
			ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

static int tell(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return CANNOT;
	for (int tid = 0; tid < TID_END; tid++)
		if (seen[tid].signals)
			fprintf(file, "%d %llu %llu\n", tid, (unsigned long long)seen[tid].signals,
				(unsigned long long)seen[tid].intervals);
	return fclose(file) ? CANNOT : 0;
}

int main(int argc, char **argv)
{
	int go[2], child, ended, told;
	char byte = 0;

	if (argc < 3 || pipe(go))
		return CANNOT;
	child = fork();
	if (!child) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1) {
			close(go[0]);
			execvp(argv[2], argv + 2);
		}
		_exit(CANNOT);
	}
	close(go[0]);
	if (child < 0 ||
		ptrace(PTRACE_SEIZE, child, NULL,
			PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
				PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)) {
		fprintf(stderr, "witness: cannot trace: %s\n", strerror(errno));
		return CANNOT;
	}
	if (write(go[1], &byte, 1) != 1)
		return CANNOT;
	ended = watch(child);
	told = tell(argv[1]);
	return told ? told : ended;
}
