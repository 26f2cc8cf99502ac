/* SPDX-License-Identifier: MIT */
#include "agent/pipe.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <uchar.h>

#include "agent/agent.h"
#include "agent/listening.h"
#include "clr/hresult.h"
#include "os/clock.h"
#include "os/forks.h"
#include "os/gate.h"
#include "os/thread.h"

#define NAME_MAX_UNITS 64u
#define TRIES          50u /* at a thread, where there is no memory for one */
#define TRY_NS         UINT64_C(10000000)
#define LOOK_NS        UINT64_C(1000000) /* whether it is answered */

static const WCHAR *const names[DNP_PROVIDERS] = {
	[DNP_PROVIDER_RUNTIME] = (const WCHAR *)u"Microsoft-Windows-DotNETRuntime",
	[DNP_PROVIDER_MARK] = (const WCHAR *)u"Dnprof-Mark",
	[DNP_PROVIDER_DIAGNOSTIC] = (const WCHAR *)u"Microsoft-Diagnostics-DiagnosticSource",
	[DNP_PROVIDER_TASKS] = (const WCHAR *)u"System.Threading.Tasks.TplEventSource",
};

static bool has_session; /* of who starts recordings; and the session */
static EVENTPIPE_SESSION session;

static struct dnp_gate gate; /* open: what is delivered goes to the engines */

/* The runtime's providers, once one was seen; 0: not yet. */
static _Atomic EVENTPIPE_PROVIDER known[DNP_PROVIDERS];
static _Atomic EVENTPIPE_PROVIDER stranger; /* the last that is none of them */

/* ---- Who it comes from */

static bool same_name(const WCHAR *a, const WCHAR *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Its name is asked for once: a provider stays where it is while a session has it. */
static enum dnp_provider ask(EVENTPIPE_PROVIDER provider)
{
	WCHAR name[NAME_MAX_UNITS] = {0};
	uint32_t n;
	HRESULT hr = dnp_com(dnp_agent.info.com, EventPipeGetProviderInfo, provider,
		NAME_MAX_UNITS - 1, &n, name);

	for (enum dnp_provider i = 0; SUCCEEDED(hr) && i < DNP_PROVIDERS; i++)
		if (same_name(name, names[i])) {
			atomic_store(&known[i], provider);
			return i;
		}
	atomic_store(&stranger, provider);
	return DNP_PROVIDERS;
}

static enum dnp_provider provider_of(EVENTPIPE_PROVIDER provider)
{
	for (enum dnp_provider i = 0; i < DNP_PROVIDERS; i++)
		if (atomic_load_explicit(&known[i], memory_order_relaxed) == provider)
			return i;
	if (atomic_load_explicit(&stranger, memory_order_relaxed) == provider)
		return DNP_PROVIDERS;
	return ask(provider);
}

/* Those of managed code come and go. */
static void forget_providers(void)
{
	for (enum dnp_provider i = 0; i < DNP_PROVIDERS; i++)
		atomic_store(&known[i], 0);
	atomic_store(&stranger, 0);
}

/* ---- What comes */

void dnp_pipe_delivered(EVENTPIPE_PROVIDER provider, uint32_t id, uint32_t version,
	const uint8_t *data, size_t bytes, void (*tell)(const struct dnp_delivered *delivered))
{
	struct dnp_delivered delivered = {
		.id = id, .version = version, .data = data, .bytes = bytes};

	if (!dnp_gate_enter(&gate, 1))
		return;
	delivered.provider = provider_of(provider);
	if (delivered.provider != DNP_PROVIDERS)
		tell(&delivered);
	dnp_gate_leave(&gate);
}

/* ---- The session */

/*
 * Providers are told of a session where it is asked for, and those of managed code run such code
 * then: the thread becomes one of the runtime's. The recorder must not, or the runtime would answer
 * most of its other questions no more. So it has a thread made for each of these, which then ends.
 */
struct question {
	COR_PRF_EVENTPIPE_PROVIDER_CONFIG *configs; /* NULL: ends the session */
	uint32_t n;
	void (*meanwhile)(void); /* NULL: nothing is to be done until it is answered */
	HRESULT answer;
	_Atomic bool answered;
};

static void put(struct question *question)
{
	ICorProfilerInfo *info = dnp_agent.info.com;

	dnp_forks_hold();
	question->answer = question->configs
		? dnp_com(info, EventPipeStartSession, question->n, question->configs, 0, &session)
		: dnp_com(info, EventPipeStopSession, session);
	dnp_forks_release();
}

static void *put_there(void *question)
{
	dnp_thread_set_name("dnprof-ask");
	dnp_own_thread_open_signals();
	put(question);
	atomic_store(&((struct question *)question)->answered, true);
	return NULL;
}

static void put_elsewhere(struct question *question)
{
	struct dnp_own_thread thread = {0};

	for (unsigned i = 0; i < TRIES; i++) {
		if (!dnp_own_thread_start(&thread, put_there, question)) {
			while (question->meanwhile && !atomic_load(&question->answered)) {
				question->meanwhile();
				dnp_sleep_until_ns(dnp_now_ns() + LOOK_NS);
			}
			dnp_own_thread_join(&thread);
			return;
		}
		dnp_sleep_until_ns(dnp_now_ns() + TRY_NS);
	}
	question->answer = E_OUTOFMEMORY;
}

/* While the runtime initialises us there is no managed code yet. */
static HRESULT ask_runtime(
	COR_PRF_EVENTPIPE_PROVIDER_CONFIG *configs, uint32_t n, void (*meanwhile)(void))
{
	struct question question = {.configs = configs, .n = n, .meanwhile = meanwhile};

	if (dnp_thread_is_own(dnp_thread_id()))
		put_elsewhere(&question);
	else
		put(&question);
	return question.answer;
}

static uint32_t configure(
	const struct dnp_provider_wish *wishes, COR_PRF_EVENTPIPE_PROVIDER_CONFIG *configs)
{
	uint32_t n = 0;

	for (enum dnp_provider i = 0; i < DNP_PROVIDERS; i++)
		if (wishes[i].keywords)
			configs[n++] = (COR_PRF_EVENTPIPE_PROVIDER_CONFIG){
				.providerName = names[i],
				.keywords = wishes[i].keywords,
				.loggingLevel = wishes[i].level,
				.filterData = wishes[i].arguments,
			};
	return n;
}

static int start(COR_PRF_EVENTPIPE_PROVIDER_CONFIG *configs, uint32_t n, const char *events,
	void (*meanwhile)(void), struct dnp_err *err)
{
	HRESULT hr;

	forget_providers();
	dnp_gate_open(&gate, 1);
	hr = ask_runtime(configs, n, meanwhile);
	if (FAILED(hr)) {
		dnp_gate_open(&gate, 0);
		return dnp_err(err, -EOPNOTSUPP,
			"'%s' cannot be recorded: the runtime does not deliver its events: %s "
			"(0x%08x); %srecord something else",
			events, dnp_hresult_name(hr), (unsigned)hr,
			hr == E_FAIL ? "end what else listens to it, for which it has 64 places, "
				       "or "
				     : "");
	}
	has_session = true;
	return 0;
}

int dnp_pipe_start(const struct dnp_provider_wish *wishes, const char *events,
	void (*meanwhile)(void), struct dnp_err *err)
{
	COR_PRF_EVENTPIPE_PROVIDER_CONFIG configs[DNP_PROVIDERS];
	uint32_t n = configure(wishes, configs);
	int harmful;

	if (!n)
		return 0;
	harmful = dnp_listening_check(wishes, events, err);
	if (harmful)
		return harmful;
	if (!dnp_pipe_stop())
		return dnp_err(err, -ENOMEM,
			"'%s' cannot be recorded: the last recording's events could not be ended: "
			"no memory for a thread; free some",
			events);
	if (!dnp_info_has(&dnp_agent.info, EventPipeStartSession))
		return dnp_err(err, -EOPNOTSUPP,
			"'%s' cannot be recorded: this runtime is too old to deliver its events "
			"(ICorProfilerInfo%d); it takes .NET 5 or newer",
			events, dnp_agent.info.version);
	return start(configs, n, events, meanwhile, err);
}

bool dnp_pipe_stop(void)
{
	if (!has_session)
		return true;
	dnp_gate_open(&gate, 0);
	/* A runtime that ends has ended all sessions before it says so. */
	if (dnp_agent_presence() != DNP_AWAY && ask_runtime(NULL, 0, NULL) == E_OUTOFMEMORY)
		return false;
	has_session = false;
	return true;
}
