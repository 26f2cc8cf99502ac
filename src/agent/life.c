/* SPDX-License-Identifier: MIT */
#include "agent/life.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/allowed.h"
#include "agent/control.h"
#include "agent/detach.h"
#include "agent/engines.h"
#include "agent/environment.h"
#include "agent/forget.h"
#include "agent/recorder.h"
#include "agent/recording.h"
#include "agent/requests.h"
#include "base/clean.h"
#include "clr/hresult.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/forks.h"
#include "os/library.h"
#include "os/mem.h"
#include "os/process.h"
#include "format/agent_options.h"

/* So long one beside the profiler waits for word that it is attached, which may never come. */
#define SETTLE_NS UINT64_C(50000000)

/* So long the runtime may take after its last word until it has let go of us and our place. */
#define UNLOAD_NS UINT64_C(1000000000)

static struct dnp_agent_options given; /* what we were loaded with */

static void say(const struct dnp_err *err)
{
	if (dnp_agent.verbose)
		fprintf(stderr, "dnprof: %s\n", err->text);
	if (!dnp_agent.slot)
		return;
	snprintf(dnp_agent.slot->reason, sizeof(dnp_agent.slot->reason), "%.*s",
		(int)sizeof(dnp_agent.slot->reason) - 1, err->text);
	dnp_session_slot_set(dnp_agent.slot, DNP_SLOT_FAILED);
}

/*
 * The launcher's private folder goes with it, and the environment that names it stays: with a
 * program that is started later, whoever may make folders there could have made one of that name,
 * to have us write where he likes, or share memory with him that goes away. 0 or -errno.
 */
static int check_folder(void)
{
	const char *end = strrchr(given.session, '/');
	char folder[PATH_MAX];
	int failed = 0;

	if (end) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(end - given.session), given.session);
		failed = dnp_folder_is_own(folder, given.owner);
	}
	return failed || !given.dir[0] ? failed : dnp_folder_is_own(given.dir, given.owner);
}

static void map_session(const char *path)
{
	struct dnp_session *session = dnp_mem_share(path, DNP_SESSION_BYTES);

	if (!session)
		return;
	if (session->magic != DNP_SESSION_MAGIC || session->version != DNP_SESSION_VERSION) {
		dnp_mem_unshare(session, DNP_SESSION_BYTES);
		return;
	}
	dnp_agent.session = session;
}

static void leave_session(void)
{
	if (dnp_agent.session)
		dnp_mem_unshare(dnp_agent.session, DNP_SESSION_BYTES);
	dnp_agent.session = NULL;
}

/* So that the launcher sees this process. */
static void take_slot(void)
{
	if (!dnp_agent.session)
		return;
	dnp_agent.slot = dnp_session_slot_take(dnp_agent.session, dnp_process_id());
	if (dnp_agent.slot) {
		dnp_agent.slot->start_ticks = dnp_process_start_ticks(dnp_process_id());
		dnp_session_slot_set(dnp_agent.slot, DNP_SLOT_LOADED);
	}
}

/* Not a child of the program's, where those are not to be recorded. */
static bool is_meant(void)
{
	const struct dnp_session *session = dnp_agent.session;

	return !given.alone || !session || !session->program ||
		session->program == dnp_process_id();
}

/* The descriptor that the launcher left us, if it is that. */
static int inherited_file(const struct dnp_agent_options *options)
{
	int failed = options->pid == dnp_process_id()
		? dnp_file_inherited(options->fd, options->dev, options->ino)
		: -ENOENT;

	return failed ? failed : options->fd;
}

static int own_file(const struct dnp_agent_options *options)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%d-%llu.dnp", options->dir, dnp_process_id(),
		(unsigned long long)dnp_process_start_ticks(dnp_process_id()));
	return dnp_file_create_new(path);
}

static int open_meant(void)
{
	if (!is_meant()) {
		dnp_environment_clean();
		return -ENOENT;
	}
	return given.dir[0] ? own_file(&given) : inherited_file(&given);
}

/* Who was left a descriptor is recorded without the folder as well. */
static int open_file(void)
{
	int failed = check_folder(), fd;

	if (!failed && given.session[0])
		map_session(given.session);
	fd = failed && given.dir[0] ? failed : open_meant();
	if (fd >= 0 && !failed)
		failed = check_folder(); /* it may have been exchanged since */
	if (failed) {
		leave_session();
		given.session[0] = '\0';
	}
	if (fd >= 0 && failed && given.dir[0]) {
		close(fd);
		return failed;
	}
	return fd;
}

/* 1: this process is to be recorded, to *fd. 0: it is not meant. Negative: it cannot be. */
static int open_recording(const char *text, int *fd, struct dnp_err *err)
{
	int failed;

	if (!text)
		return 0;
	failed = dnp_agent_options_parse(&given, text, err);
	dnp_agent.verbose = given.verbose;
	if (failed)
		return failed;
	*fd = open_file();
	if (*fd == -ENOENT) {
		leave_session();
		return 0;
	}
	take_slot();
	if (*fd == -EPERM)
		return dnp_err(err, *fd,
			"the recording in '%s' cannot be made: the folder is not of who started "
			"dnprof; run the program without " DNP_OPTIONS_ENV " of a 'dnprof run' "
			"that has ended",
			given.dir);
	if (*fd < 0)
		return dnp_err(err, *fd, "the recording in '%s' cannot be made: %s", given.dir,
			strerror(-*fd));
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

/*
 * In a child that the program has forked there is nothing to be recorded, and no recorder: who
 * would wait for it, or for a lock that it had, would wait for ever.
 */
static void be_forked(void)
{
	atomic_store(&dnp_agent.presence, DNP_AWAY);
	dnp_allowed_forked();
	dnp_engines_forked();
}

/* What the runtime offers. */
static HRESULT open_info(IUnknown *unknown, struct dnp_err *err)
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
	read_runtime_version();
	return S_OK;
}

/* ---- The recorder */

static int first_fd = -1; /* owned: of the recording that the client data asked for, -1: none */

static void drop_first(void)
{
	if (first_fd >= 0)
		close(first_fd);
	first_fd = -1;
}

/* The runtime takes our calls from now on. Recorder. */
static void begin(void)
{
	struct dnp_recording_order order = {.options = &given, .fd = first_fd};
	struct dnp_err err = {0};

	dnp_requests_begin(dnp_agent.attached ? given.leave_ms : 0);
	if (first_fd < 0)
		return;
	first_fd = -1;
	if (dnp_detach_is_lost())
		dnp_sleep_until_ns(dnp_now_ns() + SETTLE_NS);
	if (dnp_recording_start(&order, &err))
		say(&err);
}

/* Where the socket is. */
static void tell_launcher(void)
{
	const char *end = strrchr(given.session, '/');
	char folder[PATH_MAX];

	if (!end)
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(end - given.session), given.session);
	dnp_control_tell(folder);
}

/* A program without its socket is recorded as well: only nobody can ask it anything. */
static void open_recorder(void)
{
	int failed = dnp_recorder_open(begin);

	if (failed && dnp_agent.verbose)
		fprintf(stderr,
			"dnprof: no control socket: %s; 'dnprof stack' will not find this "
			"process\n",
			strerror(-failed));
	if (!failed)
		tell_launcher();
}

static int record_and_go(const struct dnp_recording_order *order, struct dnp_err *err)
{
	int failed = dnp_recording_start(order, err);

	if (failed)
		return failed;
	dnp_recorder_go();
	failed = dnp_recorder_start(err);
	if (failed)
		dnp_recording_end(DNP_END_STOP, &(struct dnp_err){0});
	return failed;
}

static HRESULT start(IUnknown *unknown, int fd, struct dnp_err *err)
{
	struct dnp_recording_order order = {.options = &given, .fd = fd, .at_startup = true};
	HRESULT hr = open_info(unknown, err);

	if (FAILED(hr))
		return hr;
	/* Without --children no child of this process is to be profiled. */
	if (!given.dir[0] || given.alone)
		dnp_environment_clean();
	dnp_forks_watch(be_forked); /* where that fails, forked children take their chance */
	open_recorder();
	atomic_store(&dnp_agent.presence, DNP_HERE);
	return record_and_go(&order, err) ? E_FAIL : S_OK;
}

/* Whom we refuse to profile unloads this library. */
static void give_up(void)
{
	dnp_control_close();
	dnp_agent_forget();
	atomic_store(&dnp_agent.presence, DNP_AWAY);
}

/* Options that came over a diagnostic port; NULL: none did. */
static const char *told_options(IUnknown *unknown)
{
	static char text[DNP_OPTIONS_MAX + 1];
	struct dnp_err err;
	bool told = SUCCEEDED(open_info(unknown, &err)) && dnp_environment_told(text, sizeof(text));

	dnp_info_close(&dnp_agent.info);
	return told ? text : NULL;
}

/*
 * Nothing is recorded yet: as if attached, only that the runtime, which has nobody else to tell of,
 * will not say when it is.
 */
static HRESULT wait_idle(IUnknown *unknown)
{
	HRESULT hr = dnp_life_attach(unknown, false, dnp_str(""));

	if (FAILED(hr))
		return hr;
	dnp_environment_clean_told();
	dnp_life_attached();
	return S_OK;
}

HRESULT dnp_life_load(IUnknown *unknown, bool notification)
{
	const char *text = getenv(DNP_OPTIONS_ENV);
	struct dnp_err err = {0};
	int fd = -1, meant;
	HRESULT hr = E_FAIL;

	if (!text)
		text = told_options(unknown);
	if (text && !strcmp(text, DNP_OPTIONS_IDLE))
		return wait_idle(unknown);
	meant = open_recording(text, &fd, &err);
	if (meant == 0)
		return CORPROF_E_PROFILER_CANCEL_ACTIVATION;
	dnp_agent.notification = notification;
	if (meant > 0)
		hr = start(unknown, fd, &err);
	if (FAILED(hr)) {
		say(&err);
		give_up();
	}
	return hr;
}

/* ---- Attached */

/* What the client data asks for. */
static HRESULT open_given(struct dnp_str data)
{
	struct dnp_err err = {0};
	int failed = dnp_agent_options_parse_client(&given, data, &err);

	dnp_agent.verbose = given.verbose;
	if (failed) {
		say(&err);
		return E_INVALIDARG;
	}
	if (!given.dir[0])
		return S_OK;
	first_fd = own_file(&given);
	return first_fd < 0 ? DNPROF_E_NO_FILE : S_OK;
}

static HRESULT attach(IUnknown *unknown, struct dnp_str data)
{
	struct dnp_err err = {0};
	HRESULT hr = open_given(data);

	if (SUCCEEDED(hr))
		hr = open_info(unknown, &err);
	if (FAILED(hr))
		return hr;
	if (dnp_recorder_open(begin))
		return DNPROF_E_NO_SOCKET;
	dnp_forks_watch(be_forked);
	if (dnp_recorder_start(&err)) {
		dnp_control_close();
		return DNPROF_E_NO_THREAD;
	}
	return S_OK;
}

HRESULT dnp_life_attach(IUnknown *unknown, bool notification, struct dnp_str data)
{
	enum dnp_presence before = DNP_AWAY;
	HRESULT hr;

	if (!atomic_compare_exchange_strong(&dnp_agent.presence, &before, DNP_HERE))
		return DNPROF_E_ALREADY_HERE;
	dnp_agent.untold = false;
	atomic_store(
		&dnp_agent.complete, false); /* of another life, in a library that had to stay */
	dnp_agent.attached = true;
	dnp_agent.notification = notification;
	hr = attach(unknown, data);
	/* See dnp_detach_is_lost. */
	if (SUCCEEDED(hr) && notification)
		dnp_recorder_go();
	if (FAILED(hr)) {
		drop_first();
		dnp_agent_forget();
		atomic_store(&dnp_agent.presence, DNP_AWAY);
	}
	return hr;
}

void dnp_life_attached(void)
{
	atomic_store(&dnp_agent.complete, true);
	dnp_recorder_go();
}

/* ---- The end */

/* The runtime has let go of us, and the recorder has not ended yet. */
static _Atomic bool overdue;

static _Atomic uint64_t away_ns; /* since when we are; 0: we never were here */

static void be_away(void)
{
	drop_first(); /* the recorder was stopped before it began */
	dnp_agent_forget();
	atomic_store(&away_ns, dnp_now_ns());
	atomic_store(&dnp_agent.presence, DNP_AWAY);
}

bool dnp_life_may_be_unloaded(void)
{
	uint64_t since_ns = atomic_load(&away_ns);

	return since_ns && dnp_now_ns() - since_ns < UNLOAD_NS;
}

/*
 * Another attach may have the runtime ask for our class all the while. A recorder that does not get
 * to its end has its socket and its files still: what came to life beside it would have none, and
 * whoever asks would ask it.
 */
void dnp_life_detached(void)
{
	if (atomic_load(&dnp_agent.presence) != DNP_AWAY && !dnp_recorder_stop(DNP_END_STOP)) {
		dnp_library_keep();
		atomic_store(&dnp_agent.presence, DNP_LEAVING);
		atomic_store(&overdue, true);
		return;
	}
	be_away();
}

void dnp_life_settle(void)
{
	if (!atomic_exchange(&overdue, false))
		return;
	if (dnp_recorder_has_stopped())
		be_away();
	else
		atomic_store(&overdue, true);
}

void dnp_life_shut_down(void)
{
	if (atomic_exchange(&dnp_agent.presence, DNP_AWAY) != DNP_AWAY)
		dnp_recorder_stop(DNP_END_EXIT);
}
