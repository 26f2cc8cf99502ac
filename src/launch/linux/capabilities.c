/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "launch/judging.h"
#include "os/sampler.h"

/* Privileges of capability.h. */
#define BIT(n)    (UINT64_C(1) << (n))
#define IPC_LOCK  BIT(14)
#define SYS_ADMIN BIT(21)
#define PERFMON   BIT(38)

#define SECCOMP_FILTER 2

/* What the ring of one thread takes, os/linux/sampler.c. */
#define RING_KB 12

/* Of a folder in whose path the runtime's socket has room for sure, see attach_error.c. */
#define TMPDIR_MAX 60u

/* Runtimes that the tests run under. */
#define TESTED ((struct dnp_tested){.oldest = 8, .newest = 10})

/* The oldest glibc that the agent's symbols are in (tools/check-exports). */
#define GLIBC_MINOR 27

static void judge_rights(const struct dnp_facts *facts, struct dnp_capability *can)
{
	int pid = (int)facts->pid;

	if (!pid && !facts->caller)
		yes(can, "uid 0: processes of all users");
	else if (!pid)
		yes(can,
			"uid %u: your own processes, those of others as they or as root "
			"(kernel.yama.ptrace_scope does not matter)",
			(unsigned)facts->caller);
	else if (facts->runtime.readable && (facts->state == 'T' || facts->state == 't'))
		partly(can,
			"it is stopped, by a signal or a debugger, and answers nobody; let it go "
			"on: kill -CONT %d",
			pid);
	else if (facts->runtime.readable)
		yes(can, "uid %u may look into a process of uid %u", (unsigned)facts->caller,
			(unsigned)facts->uid);
	else if (facts->uid != facts->caller)
		no(can,
			"it belongs to uid %u, you are uid %u; ask as the user that it runs as, or "
			"as root: sudo dnprof doctor %d",
			(unsigned)facts->uid, (unsigned)facts->caller, pid);
	else
		no(can,
			"it lets nobody look into it (PR_SET_DUMPABLE, or more privileges than "
			"you have); ask as root: sudo dnprof doctor %d",
			pid);
}

static void judge_runtime(const struct dnp_facts *facts, struct dnp_capability *can)
{
	dnp_judge_runtime(facts, TESTED, can);
}

static void judge_libc(const struct dnp_facts *facts, struct dnp_capability *can)
{
	const char *libc = facts->runtime.libc;
	unsigned major = 0, minor = 0;

	if (facts->pid && !facts->own_kind && *facts->kind)
		no(can,
			"it is %s; use a dnprof that is built for it, or run it on glibc and this "
			"processor",
			facts->kind);
	else if (!strcmp(libc, "musl"))
		no(can,
			"the program runs on musl, the agent is built for glibc; use an image with "
			"glibc (Debian, Ubuntu, Red Hat), not Alpine");
	else if (sscanf(libc, "glibc %u.%u", &major, &minor) == 2 && major == 2 &&
		minor < GLIBC_MINOR)
		no(can, "%s is older than the agent needs, 2.%d; run the program on a newer system",
			libc, GLIBC_MINOR);
	else if (*libc)
		yes(can, "%s", libc);
	else
		partly(can, "it does not show which one the program has");
}

static void judge_diagnostics(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (!facts->pid)
		dnp_judge_environment(facts, can);
	else if (facts->has_socket)
		yes(can, "the runtime's socket is in %s", facts->folder_path);
	else if (*facts->switched_off)
		no(can, "diagnostics are switched off: %s; start the program without that variable",
			facts->switched_off);
	else if (strlen(facts->folder_path) > TMPDIR_MAX)
		no(can,
			"%s is too long for the runtime's socket; start the program with a TMPDIR "
			"of %u bytes at most",
			facts->folder_path, TMPDIR_MAX);
	else
		no(can,
			"the runtime's socket is not in %s: it was removed, could not be made, or "
			"the runtime is just starting; start the program again",
			facts->folder_path);
}

static void judge_tmpdir(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (*facts->folder && facts->pid)
		no(can, "%s", facts->folder);
	else if (*facts->folder)
		partly(can, "a program that is started is recorded, but not found later: %s",
			facts->folder);
	else
		yes(can, "%s", facts->folder_path);
}

static void judge_library(const struct dnp_facts *facts, struct dnp_capability *can)
{
	if (*facts->place)
		no(can, "%s", facts->place);
	else
		yes(can, "it sees the file, or can be given a copy");
}

static void judge_profiler(const struct dnp_facts *facts, struct dnp_capability *can)
{
	const char *other = dnp_judge_other(facts);

	if (!other)
		yes(can, "there is none");
	else if (facts->pid)
		partly(can,
			"%s is loaded: dnprof stands beside it, as a notification profiler, "
			"without traced calls; for those start the program without it",
			other);
	else
		partly(can,
			"the environment names %s: dnprof stands beside it, as a notification "
			"profiler, without traced calls; for those unset CORECLR_ENABLE_PROFILING",
			other);
}

static void judge_stacks(const struct dnp_facts *facts, struct dnp_capability *can)
{
	int signo = SIGRTMIN;

	if (facts->pid && !(facts->caught & BIT(signo - 1)))
		no(can,
			"the runtime does not catch signal %d, by which threads are sampled: it is "
			"just starting, or of another kind; try again",
			signo);
	else
		yes(can, "by signals (anywhere), by the runtime's snapshots (at safe points)");
}

static bool is_privileged(const struct dnp_facts *facts)
{
	return !facts->user_namespace && (facts->privileges & (PERFMON | SYS_ADMIN));
}

static bool is_filtered(const struct dnp_facts *facts)
{
	return facts->seccomp == SECCOMP_FILTER;
}

/* The kernel's own rule: up to that value of kernel.perf_event_paranoid everybody may. */
static bool may_use_perf(const struct dnp_facts *facts, long up_to)
{
	return is_privileged(facts) || facts->perf_paranoid <= up_to;
}

/* Why perf events do not work that are allowed to all `up_to` a value; NULL: they do. */
static const char *why_no_perf(
	const struct dnp_facts *facts, int error, long up_to, char *out, size_t room)
{
	bool refused = facts->pid ? !may_use_perf(facts, up_to) : error != 0;

	if (facts->perf_paranoid == DNP_FACT_UNKNOWN)
		snprintf(out, room, "the kernel has no perf events (CONFIG_PERF_EVENTS)");
	else if (!refused && !(facts->pid && is_filtered(facts)))
		return NULL;
	else if (!may_use_perf(facts, up_to))
		snprintf(out, room,
			"kernel.perf_event_paranoid is %ld, and CAP_PERFMON is missing%s",
			facts->perf_paranoid, facts->user_namespace ? " (a user namespace)" : "");
	else if (is_filtered(facts))
		snprintf(out, room, "a seccomp filter is on%s",
			facts->pid ? ", which may refuse perf events" : " and refuses perf events");
	else
		snprintf(out, room, "perf events: %s", strerror(error));
	return out;
}

static void tell_remedy(const struct dnp_facts *facts, long up_to, char *out, size_t room)
{
	if (facts->perf_paranoid == DNP_FACT_UNKNOWN)
		*out = '\0';
	else if (!may_use_perf(facts, up_to))
		snprintf(out, room,
			"; as root: sysctl -w kernel.perf_event_paranoid=%ld, or give the program "
			"CAP_PERFMON",
			up_to);
	else if (is_filtered(facts))
		snprintf(out, room,
			"; let perf_event_open through, as with docker run --cap-add PERFMON");
	else
		*out = '\0';
}

/* Each thread that is sampled takes one: a pending signal for a timer, a descriptor for an event.
 */
static bool runs_out(const struct dnp_facts *facts, uint64_t limit, uint64_t used, const char *what,
	const char *resource, struct dnp_capability *can)
{
	uint64_t enough_for = limit > used ? limit - used : 0;

	if (limit == UINT64_MAX || facts->threads <= enough_for)
		return false;
	partly(can,
		"%" PRIu64 " threads, but %s for %" PRIu64
		" of them only; raise it: prlimit --pid %d --%s=%" PRIu64,
		facts->threads, what, enough_for, (int)facts->pid, resource,
		2 * (facts->threads + used));
	return true;
}

/* What os/traps.h needs, of a program that dnprof starts. */
static bool has_one_clock(const struct dnp_facts *facts)
{
	int major, minor;

	return !facts->pid && sscanf(facts->kernel, "%d.%d", &major, &minor) == 2 &&
		(major > 6 || (major == 6 && minor >= 1));
}

/* When single threads are sampled by events. */
static const char *by_events(const struct dnp_facts *facts)
{
	return facts->pid ? "--source perf" : "above that, or --source perf";
}

static void judge_cpu(const struct dnp_facts *facts, struct dnp_capability *can)
{
	char why[256], remedy[192];
	const char *reason = why_no_perf(facts, facts->perf_error, 1, why, sizeof(why));

	if (runs_out(facts, facts->signals_max, facts->signals + DNP_SAMPLER_SPARED,
		    "pending signals", "sigpending", can))
		return;
	if (!reason && has_one_clock(facts)) {
		yes(can,
			"at exact rates, by one perf event for all threads (.NET 8: for each, "
			"above %ld a second)",
			facts->tick_hz);
		return;
	}
	if (!reason) {
		if (!runs_out(facts, facts->files_max, facts->files,
			    "with --source perf descriptors", "nofile", can))
			yes(can,
				"up to %ld times a second by timers, at exact rates by a perf "
				"event for each thread (%s)",
				facts->tick_hz, by_events(facts));
		return;
	}
	tell_remedy(facts, 1, remedy, sizeof(remedy));
	partly(can, "%s: a timer samples %s, %ld times a second at most%s", reason,
		facts->pid && is_filtered(facts) && may_use_perf(facts, 1) ? "where it does"
									   : "instead",
		facts->tick_hz, remedy);
}

/* Threads whose rings fit into the memory that may be locked; UINT64_MAX: all. */
static uint64_t rings(const struct dnp_facts *facts)
{
	bool unlimited = (facts->privileges & IPC_LOCK && !facts->user_namespace) ||
		facts->perf_paranoid < 0 || facts->memlock_max == UINT64_MAX ||
		facts->perf_mlock_kb == DNP_FACT_UNKNOWN;

	return unlimited ? UINT64_MAX
			 : ((uint64_t)(facts->perf_mlock_kb * facts->processors) +
				   facts->memlock_max / 1024) /
			RING_KB;
}

static void judge_kernel(const struct dnp_facts *facts, struct dnp_capability *can)
{
	char why[256], remedy[192];
	const char *reason = why_no_perf(facts, facts->perf_error, 1, why, sizeof(why));
	const char *how = has_one_clock(facts) ? "" : by_events(facts);
	const char *comma = *how ? ", " : "";
	uint64_t threads = rings(facts);

	if (reason && !(facts->pid && may_use_perf(facts, 1))) {
		tell_remedy(facts, 1, remedy, sizeof(remedy));
		no(can, "%s%s", reason, remedy);
	} else if (reason) {
		tell_remedy(facts, 1, remedy, sizeof(remedy));
		partly(can, "%s%s", reason, remedy);
	} else if (!facts->kernel_names) {
		partly(can,
			"without names: the kernel hides its addresses from you "
			"(kernel.kptr_restrict is %ld, kernel.perf_event_paranoid %ld); write the "
			"report as root, or: sysctl -w kernel.kptr_restrict=0 "
			"kernel.perf_event_paranoid=1",
			facts->kptr_restrict, facts->perf_paranoid);
	} else if (facts->threads > threads) {
		partly(can,
			"of %" PRIu64 " threads of %" PRIu64
			": memory that may be locked is short; as root: sysctl -w "
			"kernel.perf_event_mlock_kb=%" PRIu64,
			threads, facts->threads, facts->threads * RING_KB);
	} else if (threads != UINT64_MAX) {
		yes(can, "of up to %" PRIu64 " threads (locked memory)%s%s", threads, comma, how);
	} else {
		yes(can, "with names%s%s", comma, how);
	}
}

static void judge_wall(const struct dnp_facts *facts, struct dnp_capability *can)
{
	(void)facts;
	yes(can, "it needs no rights, and threads that sleep are not woken");
}

static void judge_timeline(const struct dnp_facts *facts, struct dnp_capability *can)
{
	char why[256], remedy[192];
	const char *reason = why_no_perf(facts, facts->switches_error, 2, why, sizeof(why));

	tell_remedy(facts, 2, remedy, sizeof(remedy));
	if (!reason)
		yes(can, "of a program's own threads");
	else
		partly(can,
			"%s: 'dnprof timeline' looks at the threads a thousand times a second "
			"%s, and shows when they ran, not each switch%s",
			reason, facts->pid && may_use_perf(facts, 2) ? "where it does" : "instead",
			remedy);
}

#define judge_agent  dnp_judge_agent
#define judge_answer dnp_judge_answer
#define judge_trace  dnp_judge_trace

const struct dnp_judgement dnp_judgements[DNP_CAN_COUNT] = {
#define DNP_CAPABILITY       DNP_JUDGEMENT
#define DNP_LINUX_CAPABILITY DNP_JUDGEMENT
#include "launch/capabilities.def"
};
