/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/methods.h"
#include "clr/hresult.h"
#include "os/process.h"
#include "os/thread.h"
#include "unwind/managed.h"
#include "unwind/target.h"

struct dnp_agent dnp_agent = {.fd = -1};

static void say(const struct dnp_err *err)
{
	if (dnp_agent.options.verbose)
		fprintf(stderr, "dnprof: %s\n", err->text);
	if (!dnp_agent.slot)
		return;
	snprintf(dnp_agent.slot->reason, sizeof(dnp_agent.slot->reason), "%.*s",
		(int)sizeof(dnp_agent.slot->reason) - 1, err->text);
	dnp_session_slot_set(dnp_agent.slot, DNP_SLOT_FAILED);
}

static void map_session(const char *path)
{
	struct dnp_session *session;
	auto_close int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	session = mmap(NULL, DNP_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (session == MAP_FAILED)
		return;
	if (session->magic != DNP_SESSION_MAGIC || session->version != DNP_SESSION_VERSION) {
		munmap(session, DNP_SESSION_BYTES);
		return;
	}
	dnp_agent.session = session;
	dnp_agent.slot = dnp_session_slot_take(session, getpid());
	if (dnp_agent.slot) {
		dnp_agent.slot->start_ticks = dnp_process_start_ticks(getpid());
		dnp_session_slot_set(dnp_agent.slot, DNP_SLOT_LOADED);
	}
}

/* The descriptor that the launcher left us, if it is that. */
static int inherited_file(const struct dnp_agent_options *options)
{
	struct stat st; /* read by system call: libc's fstat is newer than the oldest libc */

	if (options->pid != getpid() || syscall(SYS_fstat, options->fd, &st) ||
		(uint64_t)st.st_dev != options->dev || (uint64_t)st.st_ino != options->ino)
		return -ENOENT;
	if (fcntl(options->fd, F_SETFD, FD_CLOEXEC))
		return -errno;
	return options->fd;
}

static int own_file(const struct dnp_agent_options *options)
{
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/%d-%llu.dnp", options->dir, (int)getpid(),
		(unsigned long long)dnp_process_start_ticks(getpid()));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/*
 * Without --children no child of this process is to be profiled: what the launcher set goes away
 * before any code can hand it on. The runtime made a copy of the environment before it loaded us,
 * which is what managed code sees; the C library's is what native code sees.
 */
static void clean_environment(void)
{
	static const char *const names[] = {
		DNP_OPTIONS_ENV,
		"CORECLR_ENABLE_PROFILING",
		"CORECLR_PROFILER",
		"CORECLR_PROFILER_PATH",
		"CORECLR_PROFILER_PATH_64",
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++) {
		WCHAR wide[40] = {0};

		for (size_t k = 0; names[i][k]; k++)
			wide[k] = (WCHAR)names[i][k];
		unsetenv(names[i]);
		if (dnp_info_has(&dnp_agent.info, SetEnvironmentVariable))
			dnp_com(dnp_agent.info.com, SetEnvironmentVariable, wide, NULL);
	}
}

/* 1: this process is to be recorded. 0: it is not meant. Negative: it cannot be. */
static int open_recording(struct dnp_err *err)
{
	struct dnp_agent_options *options = &dnp_agent.options;
	const char *text = getenv(DNP_OPTIONS_ENV);
	int failed;

	if (!text)
		return 0;
	failed = dnp_agent_options_parse(options, text, err);
	if (failed)
		return failed;
	dnp_agent.fd = options->dir[0] ? own_file(options) : inherited_file(options);
	if (dnp_agent.fd == -ENOENT)
		return 0;
	if (options->session[0])
		map_session(options->session);
	if (dnp_agent.fd < 0)
		return dnp_err(err, dnp_agent.fd, "the recording in '%s' cannot be made: %s",
			options->dir, strerror(-dnp_agent.fd));
	return 1;
}

static void read_runtime_version(void)
{
	uint16_t instance, major = 0, minor = 0, build = 0, qfe = 0;
	COR_PRF_RUNTIME_TYPE type;
	uint32_t n = 0;
	WCHAR text[48] = {0};
	size_t i;

	if (FAILED(dnp_com(dnp_agent.info.com, GetRuntimeInformation, &instance, &type, &major,
		    &minor, &build, &qfe, DNP_ARRAY_SIZE(text), &n, text)))
		return;
	/* The text is the version that people know, where the runtime gives one. */
	for (i = 0; i + 1 < DNP_ARRAY_SIZE(text) &&
		(text[i] == '.' || (text[i] >= '0' && text[i] <= '9'));
		i++)
		dnp_agent.runtime[i] = (char)text[i];
	if (!i)
		snprintf(dnp_agent.runtime, sizeof(dnp_agent.runtime), "%u.%u.%u", major, minor,
			build);
}

static HRESULT set_events(struct dnp_err *err)
{
	uint32_t low = COR_PRF_MONITOR_THREADS | COR_PRF_MONITOR_MODULE_LOADS |
		COR_PRF_MONITOR_JIT_COMPILATION;
	uint32_t high = COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS | COR_PRF_HIGH_BASIC_GC;
	HRESULT hr;

	for (unsigned i = 0; i < dnp_agent.n_engines; i++)
		low |= dnp_agent.engines[i]->events_low;
	hr = dnp_com(dnp_agent.info.com, SetEventMask2, low, high);

	if (FAILED(hr))
		dnp_err(err, -EINVAL,
			"the runtime refuses the events that dnprof needs: %s (0x%08x)",
			dnp_hresult_name(hr), (unsigned)hr);
	return hr;
}

struct dnp_thread *dnp_agent_thread(int tid, int before)
{
	int is_new;
	struct dnp_thread *thread = dnp_thread_begin(tid, &is_new);

	if (thread && is_new) {
		if (before)
			atomic_fetch_or(&thread->flags, DNP_THREAD_LATE);
		for (unsigned i = 0; i < dnp_agent.n_engines; i++)
			if (dnp_agent.engines[i]->thread_begin)
				dnp_agent.engines[i]->thread_begin(thread);
	}
	return thread;
}

void dnp_agent_managed_begin(ThreadID id, struct dnp_thread *thread)
{
	for (unsigned i = 0; i < dnp_agent.n_engines; i++)
		if (dnp_agent.engines[i]->managed_begin)
			dnp_agent.engines[i]->managed_begin(id, thread);
}

void dnp_agent_managed_end(ThreadID id, int tid)
{
	for (unsigned i = 0; i < dnp_agent.n_engines; i++)
		if (dnp_agent.engines[i]->managed_end)
			dnp_agent.engines[i]->managed_end(id, tid);
	dnp_target_wait(tid); /* the recorder walks, too */
}

/* Which engines the options ask for. */
static int choose_engines(struct dnp_err *err)
{
	const struct dnp_agent_options *options = &dnp_agent.options;
	struct dnp_str rest = dnp_str(options->event), event;

	while (dnp_str_cut(&rest, ',', &event)) {
		const struct dnp_engine *engine = dnp_engine_find(event, options->engine);

		if (!engine || dnp_agent.n_engines == DNP_EVENTS_MAX)
			return dnp_err(err, -EINVAL, "'%.*s' cannot be recorded in this way",
				(int)event.n, event.p);
		dnp_agent.engines[dnp_agent.n_engines++] = engine;
	}
	return 0;
}

/* The first `n`: they have threads of their own, perhaps, and this library may be unloaded. */
static void stop_engines(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		dnp_agent.engines[i]->stop();
}

static int start_engines(struct dnp_err *err)
{
	static const struct dnp_engine_setting setting = {
		.options = &dnp_agent.options,
		.info = &dnp_agent.info,
		.is_ours = dnp_thread_is_own,
	};

	for (unsigned i = 0; i < dnp_agent.n_engines; i++) {
		int failed = dnp_agent.engines[i]->start(&setting, i, err);

		if (failed) {
			stop_engines(i);
			return failed;
		}
	}
	return 0;
}

static HRESULT start(IUnknown *unknown, struct dnp_err *err)
{
	HRESULT hr = dnp_info_open(&dnp_agent.info, unknown);

	if (FAILED(hr)) {
		dnp_err(err, -ENOTSUP, "the runtime has no profiling interface: %s (0x%08x)",
			dnp_hresult_name(hr), (unsigned)hr);
		return hr;
	}
	if (!dnp_info_has(&dnp_agent.info, GetCodeInfo4)) {
		dnp_err(err, -ENOTSUP,
			"this runtime is too old (ICorProfilerInfo%d): dnprof needs "
			"CoreCLR 3.0 or newer, and is tried with 8 to 10",
			dnp_agent.info.version);
		return E_NOTIMPL;
	}
	if (!dnp_agent.options.dir[0])
		clean_environment();
	read_runtime_version();
	if (choose_engines(err))
		return E_INVALIDARG;
	dnp_threads_init(dnp_agent.options.depth);
	if (!dnp_walk_codemap()) {
		dnp_err(err, -ENOMEM, "no memory for the map of managed code");
		return E_OUTOFMEMORY;
	}
	hr = set_events(err);
	if (FAILED(hr))
		return hr;
	if (start_engines(err))
		return E_FAIL;
	if (dnp_recorder_start(err)) {
		stop_engines(dnp_agent.n_engines);
		return E_FAIL;
	}
	return S_OK;
}

HRESULT dnp_agent_start(IUnknown *unknown, int *recording)
{
	struct dnp_err err = {0};
	int meant = open_recording(&err);
	HRESULT hr = E_FAIL;

	*recording = 0;
	if (meant == 0)
		return CORPROF_E_PROFILER_CANCEL_ACTIVATION;
	if (meant > 0)
		hr = start(unknown, &err);
	if (FAILED(hr)) {
		say(&err);
		return hr;
	}
	*recording = 1;
	return S_OK;
}

void dnp_agent_stop(enum dnp_end_reason reason)
{
	dnp_recorder_stop(reason);
}
