/* SPDX-License-Identifier: MIT */
#include "launch/attach_error.h"

#include <ctype.h>
#include <string.h>

#include "base/clean.h"
#include "launch/runtime.h"

/* Of the diagnostics server, not of a profiler. */
#define UNKNOWN_COMMAND ((HRESULT)0x80131385)

static int pid_of(const struct dnp_attach_case *attach)
{
	return (int)attach->target->pid;
}

bool dnp_attach_may_change(int failed, HRESULT result)
{
	if (failed)
		return failed == -ENOENT || failed == -ECONNREFUSED || failed == -ECONNRESET;
	return result == CORPROF_E_NOT_YET_AVAILABLE || result == CORPROF_E_RUNTIME_UNINITIALIZED ||
		result == CORPROF_E_PROFILER_NOT_YET_INITIALIZED ||
		result == CORPROF_E_PROFILER_DETACHING ||
		result == CORPROF_E_TIMEOUT_WAITING_FOR_CONCURRENT_GC ||
		result == HRESULT_ERROR_TIMEOUT;
}

int dnp_attach_already(const struct dnp_attach_case *attach, struct dnp_err *err)
{
	return dnp_err(err, -EALREADY,
		"cannot attach to process %d: dnprof's agent is in it already; use it ('dnprof "
		"start %d'), or have it leave first ('dnprof detach %d')",
		pid_of(attach), pid_of(attach), pid_of(attach));
}

int dnp_attach_detaching(const struct dnp_attach_case *attach, struct dnp_err *err)
{
	return dnp_err(err, -ETIMEDOUT,
		"cannot attach to process %d: CORPROF_E_PROFILER_DETACHING (0x80131367): the "
		"profiler in it is leaving, and its runtime has not let it go within %.1f s; give "
		"it more time with --timeout",
		pid_of(attach), (double)attach->timeout_ns / 1e9);
}

int dnp_attach_interrupted(const struct dnp_attach_case *attach, struct dnp_err *err)
{
	if (!attach->asked)
		return dnp_err(err, -EINTR, "interrupted; process %d is as it was", pid_of(attach));
	if (attach->passing)
		return dnp_err(err, -EINTR,
			"interrupted; if the agent gets into process %d all the same, it leaves by "
			"itself in some seconds",
			pid_of(attach));
	return dnp_err(err, -EINTR,
		"interrupted; the profiler may get into process %d all the same: look with 'dnprof "
		"status %d'",
		pid_of(attach), pid_of(attach));
}

int dnp_attach_no_runtime(const struct dnp_attach_case *attach, struct dnp_err *err)
{
	if (attach->program->kind == DNP_PROGRAM_NATIVEAOT)
		return dnp_err(err, -ENOEXEC,
			"cannot attach to process %d: it was compiled with NativeAOT and has no "
			"runtime that loads profilers; publish it without PublishAot",
			pid_of(attach));
	return dnp_err(err, -ENOEXEC,
		"cannot attach to process %d: no .NET runtime was seen in it; give the id of a "
		".NET process ('dnprof status' lists them)",
		pid_of(attach));
}

/* The port that it waits at for a word to begin, as far as its environment tells. */
static char *port_of(const struct dnp_target *target)
{
	char *ports = dnp_target_variable(target, "DOTNET_DiagnosticPorts");

	if (ports && strstr(ports, "nosuspend")) {
		free(ports);
		return NULL;
	}
	return ports;
}

int dnp_attach_not_up(const struct dnp_attach_case *attach, struct dnp_err *err)
{
	auto_free char *port = port_of(attach->target);

	if (port)
		return dnp_err(err, -ETIMEDOUT,
			"cannot attach to process %d: it waits at its diagnostic port for a word "
			"to begin (DOTNET_DiagnosticPorts=%s); give it one with 'dnprof attach "
			"--port'",
			pid_of(attach), port);
	return dnp_err(err, -ETIMEDOUT,
		"cannot attach to process %d: its runtime was not up within %.1f s; give it more "
		"time with --timeout, or start it with 'dnprof run'",
		pid_of(attach), (double)attach->timeout_ns / 1e9);
}

int dnp_attach_no_answer(const struct dnp_attach_case *attach, int error, struct dnp_err *err)
{
	struct dnp_process now;
	bool ended = error == ECONNRESET || error == ECONNREFUSED || error == ENOENT
		? dnp_target_has_ended_soon(attach->target, &now)
		: dnp_target_has_ended(attach->target, &now);

	if (ended)
		return dnp_target_ended(attach->target, err);
	if (error == EINTR)
		return dnp_attach_interrupted(attach, err);
	if (error == EACCES || error == EPERM)
		return dnp_target_no_rights(attach->target, err);
	if (error == EBADE)
		return dnp_target_not_own(attach->target, "dotnet-diagnostic-*-socket", err);
	if (error == ENOENT || error == ENOTDIR || error == ECONNREFUSED)
		return dnp_attach_no_socket(attach, err);
	if (now.state == 'T' || now.state == 't')
		return dnp_target_timed_out(attach->target, &now, 0, err);
	if (error == EBUSY)
		return dnp_err(err, -EBUSY,
			"cannot attach to process %d: its diagnostics server is busy, and others "
			"wait for it, too; try again",
			pid_of(attach));
	if (error == EAGAIN)
		return dnp_err(err, -ETIMEDOUT,
			"cannot attach to process %d: no answer within %.1f s, and the profiler "
			"may be loaded all the same; look with 'dnprof status %d', and give it "
			"more time with --timeout",
			pid_of(attach), (double)attach->timeout_ns / 1e9, pid_of(attach));
	return dnp_err(err, -error,
		"cannot attach to process %d: its diagnostics server ended the connection: %s; try "
		"again",
		pid_of(attach), strerror(error));
}

static int other_profiler(const struct dnp_attach_case *attach, struct dnp_err *err)
{
	struct dnp_runtime runtime;
	int ret;

	if (dnp_runtime_look(&runtime, attach->target->pid))
		return dnp_target_ended(attach->target, err);
	ret = dnp_err(err, -EBUSY,
		"cannot attach to process %d: CORPROF_E_PROFILER_ALREADY_ACTIVE (0x8013136a): "
		"another profiler is active in it%s%s; detach that one, or start the program "
		"without it",
		pid_of(attach), runtime.profiler ? ", " : "",
		runtime.profiler ? runtime.profiler : "");
	dnp_runtime_done(&runtime);
	return ret;
}

static int cannot_load(const struct dnp_attach_case *attach, HRESULT result, struct dnp_err *err)
{
	return dnp_err(err, -ELIBBAD,
		"cannot attach to process %d: its runtime could not load %s: %s (0x%08x); see "
		"whether all libraries that it needs are there, and whether the process's user may "
		"read it",
		pid_of(attach), attach->path, dnp_hresult_name(result), (unsigned)result);
}

/* "It is so." as a part of a sentence. */
static void begin_small(char *out, size_t capacity, const char *sentence)
{
	size_t n = strlen(sentence);

	snprintf(out, capacity, "%.*s", (int)(n - (n && sentence[n - 1] == '.')), sentence);
	*out = (char)tolower((unsigned char)*out);
}

int dnp_attach_refused(const struct dnp_attach_case *attach, HRESULT result, struct dnp_err *err)
{
	const char *name = dnp_hresult_name(result);
	int pid = pid_of(attach);
	char meaning[160];

	if (result == CORPROF_E_PROFILER_ALREADY_ACTIVE)
		return other_profiler(attach, err);
	if (result == CORPROF_E_PROFILER_DETACHING)
		return dnp_attach_detaching(attach, err);
	if (dnp_attach_may_change(0, result))
		return dnp_attach_not_up(attach, err);
	if (result == HRESULT_ERROR_MOD_NOT_FOUND || result == HRESULT_ERROR_PROC_NOT_FOUND)
		return cannot_load(attach, result, err);
	if (result == CLASS_E_CLASSNOTAVAILABLE)
		return dnp_err(err, -EPROTO,
			"cannot attach to process %d: CLASS_E_CLASSNOTAVAILABLE (0x80040111): the "
			"library has no class %s; see whether --profiler-clsid is its class",
			pid, attach->clsid);
	if (result == CORPROF_E_PROFILER_NOT_ATTACHABLE)
		return dnp_err(err, -EPROTO,
			"cannot attach to process %d: CORPROF_E_PROFILER_NOT_ATTACHABLE "
			"(0x80131368): the profiler works from a program's start only; use 'dnprof "
			"run --profiler-clsid'",
			pid);
	if (result == UNKNOWN_COMMAND)
		return dnp_err(err, -ENOEXEC,
			"cannot attach to process %d: its runtime takes no profilers; publish it "
			"without PublishAot, or for .NET 8 or later",
			pid);
	if (result == DNPROF_E_ALREADY_HERE)
		return dnp_attach_already(attach, err);
	if (result == E_INVALIDARG)
		return dnp_err(err, -EPROTO,
			"cannot attach to process %d: E_INVALIDARG (0x80070057): the profiler "
			"does not understand its client data; see what it takes",
			pid);
	begin_small(meaning, sizeof(meaning), dnp_hresult_text(result));
	return dnp_err(err, -EPROTO,
		"cannot attach to process %d: %s (0x%08x): %s; see docs/troubleshooting.md", pid,
		name ? name : "an HRESULT of the profiler's own", (unsigned)result, meaning);
}
