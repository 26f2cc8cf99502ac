/* SPDX-License-Identifier: MIT */
/*
 * The agent itself in a program that stands for the runtime: attached, recording, asked to leave,
 * and unloaded at once when it says that it may be. The real runtime waits 0.3 s before that.
 */
#include "host.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clr/callback.h"
#include "clr/hresult.h"
#include "format/control.h"
#include "os/process.h"

#define NAME "/libdnprof.so"

/* ---- The runtime */

static _Atomic int masks;      /* events that it was asked for */
static _Atomic int references; /* to its interface */
static _Atomic bool detach_wanted;
static _Atomic bool detach_held; /* who wants it does not get away from there */

static HRESULT DNP_COM not_there(void)
{
	return E_NOTIMPL;
}

static uint32_t DNP_COM add(ICorProfilerInfo *self)
{
	(void)self;
	return (uint32_t)atomic_fetch_add(&references, 1);
}

static uint32_t DNP_COM release(ICorProfilerInfo *self)
{
	(void)self;
	return (uint32_t)atomic_fetch_sub(&references, 1);
}

static HRESULT DNP_COM query(ICorProfilerInfo *self, const struct dnp_guid *iid, void **object)
{
	(void)iid;
	add(self);
	*object = self;
	return S_OK;
}

static HRESULT DNP_COM set_events(ICorProfilerInfo *self, uint32_t low, uint32_t high)
{
	(void)self;
	atomic_store(&masks, (low | high) != 0);
	return S_OK;
}

static HRESULT DNP_COM detach(ICorProfilerInfo *self, uint32_t ms)
{
	(void)self;
	(void)ms;
	atomic_store(&detach_wanted, true);
	while (atomic_load(&detach_held))
		rest_ns(MS_NS);
	return S_OK;
}

static IUnknown *runtime(void)
{
	static struct ICorProfilerInfoVtbl table;
	static ICorProfilerInfo info = {.vtbl = &table};
	HRESULT(DNP_COM * nothing)(void) = not_there;

	for (size_t i = 0; i < sizeof(table) / sizeof(void *); i++)
		memcpy((char *)&table + i * sizeof(void *), &nothing, sizeof(void *));
	table.QueryInterface = query;
	table.AddRef = add;
	table.Release = release;
	table.SetEventMask2 = set_events;
	table.RequestProfilerDetach = detach;
	return (IUnknown *)(void *)&info;
}

/* ---- Who asks the agent */

static char folder[] = "/tmp/leave-XXXXXX";

static uint8_t packet[DNP_CONTROL_MAX];

/* The connection. */
static int send_request(enum dnp_control_kind kind)
{
	struct dnp_control_message message = {.kind = kind};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" DNP_CONTROL_NAME, folder,
		(int)getpid(), (unsigned long long)dnp_process_start_ticks(getpid()));
	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(send(fd, packet, dnp_control_put(packet, &message), 0) > 0);
	return fd;
}

/* Its kind. */
static enum dnp_control_kind take_answer(int fd)
{
	struct dnp_control_message message;
	ssize_t n = recv(fd, packet, sizeof(packet), 0);

	CHECK(n > 0);
	CHECK_EQ(dnp_control_get(packet, (size_t)n, &message), 0);
	close(fd);
	return message.kind;
}

static enum dnp_control_kind ask(enum dnp_control_kind kind)
{
	return take_answer(send_request(kind));
}

/* ---- The agent */

typedef HRESULT(DNP_COM *get_class)(
	const struct dnp_guid *clsid, const struct dnp_guid *iid, void **object);

struct agent {
	void *library;
	ICorProfilerCallback *callback;
};

/* What it says when it is asked for its class. */
static HRESULT ask_class(struct agent *agent)
{
	IClassFactory *factory;
	get_class get;
	void *object;
	HRESULT hr;

	agent->library = dlopen(AGENT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!agent->library)
		FAIL("%s", dlerror());
	get = (get_class)dlsym(agent->library, "DllGetClassObject");
	CHECK(get);
	hr = get(&dnp_clsid_agent, &dnp_iid_IClassFactory, &object);
	if (FAILED(hr))
		return hr;
	factory = object;
	CHECK_EQ(dnp_com(factory, CreateInstance, NULL, &dnp_iid_IUnknown, &object), S_OK);
	agent->callback = object;
	return S_OK;
}

static struct agent load(void)
{
	struct agent agent;

	CHECK_EQ(ask_class(&agent), S_OK);
	return agent;
}

static HRESULT attach(struct agent agent, const char *data)
{
	char copy[256];

	snprintf(copy, sizeof(copy), "%s", data);
	return dnp_com(
		agent.callback, InitializeForAttach, runtime(), copy, (uint32_t)strlen(copy));
}

static void unload(struct agent agent)
{
	CHECK(dlclose(agent.library) == 0);
	CHECK_EQ(look(NAME).of_library, 0);
	CHECK_EQ(references, 0);
}

/* The recording that was made; it goes. */
static off_t take_recording(void)
{
	char path[sizeof(folder) + 64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d-%llu.dnp", folder, (int)getpid(),
		(unsigned long long)dnp_process_start_ticks(getpid()));
	CHECK(stat(path, &st) == 0);
	unlink(path);
	return st.st_size;
}

static struct agent come(uint64_t ns)
{
	struct agent agent = load();
	char data[128];

	snprintf(data, sizeof(data), "dir=%s;event=cpu,wall;interval_ns=500000", folder);
	CHECK_EQ(attach(agent, data), S_OK);
	dnp_com(agent.callback, ProfilerAttachComplete);
	while (!atomic_load(&masks))
		rest_ns(MS_NS / 10);
	rest_ns(ns);
	return agent;
}

static void go(struct agent agent)
{
	atomic_store(&detach_wanted, false);
	CHECK_EQ(ask(DNP_CONTROL_DETACH), DNP_CONTROL_DONE);
	while (!atomic_load(&detach_wanted))
		rest_ns(MS_NS / 10);
	dnp_com(agent.callback, ProfilerDetachSucceeded);
	CHECK_EQ(masks, 0);
	CHECK(take_recording() > 500);
}

static void come_and_go(uint64_t ns)
{
	struct agent agent = come(ns);

	go(agent);
	unload(agent);
}

static void begin(void)
{
	CHECK(mkdtemp(folder));
	setenv("TMPDIR", folder, 1);
	act_as_the_runtime();
}

/* Nothing is in the folder any more. */
static void end(void)
{
	CHECK(rmdir(folder) == 0);
}

TEST(agent_that_is_refused_leaves_nothing)
{
	struct trace before, after;

	begin();
	for (int i = 0; i < TEST_ROUNDS(1000); i++) {
		struct agent agent = load();

		CHECK_EQ(attach(agent, "nonsense"), E_INVALIDARG);
		unload(agent);
		if (!i)
			before = look(NAME);
	}
	after = look(NAME);
	check_same(&before, &after);
	end();
}

TEST(agent_comes_and_goes_while_threads_are_busy)
{
	struct trace before, after;
	time_t end_s;
	int cycles;

	begin();
	end_s = seconds() + seconds_wanted();
	begin_threads(threads_wanted());
	for (cycles = 0; cycles < 3 || seconds() < end_s; cycles++)
		come_and_go(10 * MS_NS);
	printf("# %d cycles, %llu activations\n", cycles,
		(unsigned long long)atomic_load(&activations));
	end_threads(threads_wanted());
	come_and_go(MS_NS);
	before = look(NAME);
	for (int i = 0; i < 10; i++)
		come_and_go(MS_NS);
	after = look(NAME);
	check_same(&before, &after);
	end();
}

static struct sigaction below;

static void on_top(int signo, siginfo_t *info, void *context)
{
	below.sa_sigaction(signo, info, context);
}

/* The agent puts its own there once it records. */
static void wait_for_other_handler(const struct sigaction *than)
{
	struct sigaction now;

	do {
		rest_ns(MS_NS / 10);
		CHECK(sigaction(SIGNAL, NULL, &now) == 0);
	} while (now.sa_sigaction == than->sa_sigaction);
}

/* Who has put a handler over ours calls it for ever. The agent can come back all the same. */
TEST(agent_stays_where_a_handler_is_over_its_own)
{
	struct sigaction top = {.sa_sigaction = on_top, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction of_runtime;
	struct agent agent;

	begin();
	CHECK(sigaction(SIGNAL, NULL, &of_runtime) == 0);
	begin_threads(4);
	agent = come(10 * MS_NS);
	wait_for_other_handler(&of_runtime);
	CHECK(sigaction(SIGNAL, &top, &below) == 0);
	go(agent);
	CHECK(dlclose(agent.library) == 0);
	CHECK(look(NAME).of_library > 0);
	rest_ns(100 * MS_NS); /* activations go on to be passed on */
	agent = come(10 * MS_NS);
	CHECK(sigaction(SIGNAL, &below, NULL) == 0);
	go(agent);
	CHECK(dlclose(agent.library) == 0);
	end_threads(4);
	end();
}

/*
 * The runtime lets go of an agent whose thread, asked to leave, gets no turn for longer than that
 * waits for it. Until it has ended there is an agent that leaves; then the next one may come.
 */
TEST(agent_that_does_not_end_in_time_is_still_leaving)
{
	struct agent agent;
	HRESULT hr;
	int asked;

	begin();
	agent = come(10 * MS_NS);
	atomic_store(&detach_held, true);
	asked = send_request(DNP_CONTROL_DETACH);
	while (!atomic_load(&detach_wanted))
		rest_ns(MS_NS);
	dnp_com(agent.callback, ProfilerDetachSucceeded);
	CHECK(dlclose(agent.library) == 0);
	CHECK(look(NAME).of_library > 0);
	CHECK_EQ(ask_class(&agent), CORPROF_E_PROFILER_DETACHING);
	CHECK(dlclose(agent.library) == 0);
	atomic_store(&detach_held, false);
	CHECK_EQ(take_answer(asked), DNP_CONTROL_DONE);
	do {
		hr = ask_class(&agent);
		CHECK(dlclose(agent.library) == 0);
	} while (hr == CORPROF_E_PROFILER_DETACHING);
	CHECK_EQ(hr, S_OK);
	CHECK_EQ(masks, 0);
	CHECK(take_recording() > 500);
	agent = come(10 * MS_NS);
	CHECK_EQ(ask(DNP_CONTROL_STATUS), DNP_CONTROL_DONE);
	go(agent);
	CHECK(dlclose(agent.library) == 0);
	end();
}
