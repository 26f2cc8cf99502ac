/* SPDX-License-Identifier: MIT */
#include "referee.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/thread_names.h"
#include "clr/hresult.h"
#include "os/clock.h"
#include "os/stop.h"
#include "os/thread.h"
#include "unwind/managed.h"

struct referee referee;

/* ---- The functions that stand in front of the product's */

size_t __real_dnp_walk(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, size_t max, enum dnp_walk_stop *stop);
size_t __wrap_dnp_walk(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, size_t max, enum dnp_walk_stop *stop);
int __real_dnp_recorder_start(struct dnp_err *err);
int __wrap_dnp_recorder_start(struct dnp_err *err);
bool __real_dnp_recorder_stop(enum dnp_end_reason reason);
void __real_dnp_knowledge_end(void);
bool __wrap_dnp_recorder_stop(enum dnp_end_reason reason);
void __wrap_dnp_knowledge_end(void);
bool __wrap_dnp_engines_walk(void);

void __real_dnp_thread_names_started(ThreadID id, struct dnp_thread *thread);
void __wrap_dnp_thread_names_started(ThreadID id, struct dnp_thread *thread);

/*
 * The runtime knows the calling thread. Others must not be asked about: on a thread that has not
 * touched the runtime's thread-local storage the first touch calls malloc, which the signal may
 * have interrupted.
 */
static __thread bool known_thread __attribute__((tls_model("initial-exec")));

/* On the thread itself, when the runtime tells that it has begun. */
void __wrap_dnp_thread_names_started(ThreadID id, struct dnp_thread *thread)
{
	if (thread->tid == dnp_thread_id())
		known_thread = true;
	__real_dnp_thread_names_started(id, thread);
}

/* ---- What a handler needs, as many as may run at once (a preempted thread keeps its own) */

#define CONTEXT_BYTES 4096 /* of the runtime's CONTEXT, and room for a larger one */
#define SCRATCHES     64

struct scratch {
	_Atomic int taken;
	_Alignas(64) uint8_t context[CONTEXT_BYTES];
	dnp_frame_word frames[REFEREE_DEPTH_MAX];
	struct dnp_regs registers[REFEREE_DEPTH_MAX];
	struct snapshot snapshot;
};

static struct scratch scratches[SCRATCHES];

static SIGSAFE struct scratch *take_scratch(void)
{
	for (size_t i = 0; i < SCRATCHES; i++)
		if (!atomic_exchange_explicit(&scratches[i].taken, 1, memory_order_acquire))
			return &scratches[i];
	return NULL;
}

static SIGSAFE void give_back(struct scratch *scratch)
{
	atomic_store_explicit(&scratch->taken, 0, memory_order_release);
}

/* ---- The runtime's walk */

/* dotnet/runtime, pal.h: CONTEXT of x86-64, the fields that a seed needs. */
enum {
	CONTEXT_FLAGS = 0x30,
	CONTEXT_RBX = 0x90,
	CONTEXT_RSP = 0x98,
	CONTEXT_RBP = 0xa0,
	CONTEXT_RIP = 0xf8
};
#define CONTEXT_CONTROL_AND_INTEGER 0x100003u

static SIGSAFE void put_word(uint8_t *context, size_t at, uintptr_t value)
{
	memcpy(context + at, &value, sizeof(value));
}

static SIGSAFE void make_seed(uint8_t *context, const struct dnp_regs *regs)
{
	uint32_t flags = CONTEXT_CONTROL_AND_INTEGER;

	memset(context, 0, CONTEXT_BYTES);
	memcpy(context + CONTEXT_FLAGS, &flags, sizeof(flags));
	put_word(context, CONTEXT_RBX, regs->bx);
	put_word(context, CONTEXT_RSP, regs->sp);
	put_word(context, CONTEXT_RBP, regs->bp);
	put_word(context, CONTEXT_RIP, regs->pc);
}

static HRESULT DNP_COM on_snapshot_frame(FunctionID function, uintptr_t ip,
	COR_PRF_FRAME_INFO frame, uint32_t context_size, uint8_t *context, void *data)
{
	struct snapshot *snapshot = data;

	(void)frame;
	(void)context_size;
	(void)context;
	if (snapshot->n == REFEREE_DEPTH_MAX)
		return S_FALSE;
	snapshot->frames[snapshot->n++] = (struct snapshot_frame){function, ip};
	return S_OK;
}

static HRESULT DNP_COM on_frame_unwanted(FunctionID function, uintptr_t ip,
	COR_PRF_FRAME_INFO frame, uint32_t context_size, uint8_t *context, void *data)
{
	(void)function;
	(void)ip;
	(void)frame;
	(void)context_size;
	(void)context;
	(void)data;
	return S_FALSE;
}

/* `seed` NULL: the runtime begins where the thread left managed code. */
static void take_snapshot(struct scratch *scratch, const struct dnp_regs *seed)
{
	scratch->snapshot.n = 0;
	if (seed)
		make_seed(scratch->context, seed);
	scratch->snapshot.result = dnp_com(dnp_agent.info.com, DoStackSnapshot, 0,
		on_snapshot_frame, COR_PRF_SNAPSHOT_DEFAULT, &scratch->snapshot,
		seed ? scratch->context : NULL, seed ? CONTEXT_BYTES : 0);
}

/*
 * Whether the runtime takes the thread for one that runs native code ("preemptive"): it ignores
 * the seed then. A seed in no code at all tells: it is refused when it is looked at.
 */
static bool is_preemptive(struct scratch *scratch)
{
	static const struct dnp_regs nowhere;

	make_seed(scratch->context, &nowhere);
	return dnp_com(dnp_agent.info.com, DoStackSnapshot, 0, on_frame_unwanted,
		       COR_PRF_SNAPSHOT_DEFAULT, NULL, scratch->context,
		       CONTEXT_BYTES) != CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
}

static void ask_the_runtime(const struct dnp_regs *regs, struct dnp_stacks stacks,
	const dnp_frame_word *own, size_t n, enum dnp_walk_stop stop)
{
	enum dnp_walk_stop again;
	struct scratch *scratch;
	size_t first = 0;

	while (first < n && !referee_is_managed(own[first]))
		first++;
	if (first == n && !known_thread) {
		referee_count(&referee.no_managed);
		return;
	}
	scratch = take_scratch();
	if (!scratch) {
		referee_count(&referee.busy);
		return;
	}
	if (first < n && first < REFEREE_DEPTH_MAX) {
		dnp_walk_registers(
			regs, stacks, scratch->frames, scratch->registers, first + 1, &again);
		take_snapshot(scratch, &scratch->registers[first]);
	} else {
		take_snapshot(scratch, NULL);
	}
	if (!referee_same(own, n, &scratch->snapshot))
		referee_keep(own, n, stop, &scratch->snapshot, is_preemptive(scratch));
	give_back(scratch);
}

size_t __wrap_dnp_walk(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, size_t max, enum dnp_walk_stop *stop)
{
	uint64_t begin_ns = dnp_now_ns();
	size_t n = __real_dnp_walk(regs, stacks, frames, max, stop);

	if (!referee.path || referee.engine != REFEREE_SIGNAL)
		return n;
	referee_took(WALKER_SIGNAL, n, dnp_now_ns() - begin_ns);
	referee_count(&referee.samples);
	referee_count(&referee.stops[*stop]);
	if (!referee.times)
		ask_the_runtime(regs, stacks, frames, n, *stop);
	return n;
}

/* ---- Start and end */

static void *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* What the product does not ask for: it would cost the program something. */
static HRESULT allow(uint32_t events)
{
	uint32_t low = 0, high = 0;
	HRESULT hr = dnp_com(dnp_agent.info.com, GetEventMask2, &low, &high);

	return FAILED(hr) ? hr : dnp_com(dnp_agent.info.com, SetEventMask2, low | events, high);
}

static const struct {
	const char *name;
	uint32_t events;
} engines[] = {
	[REFEREE_SIGNAL] = {"signal", COR_PRF_ENABLE_STACK_SNAPSHOT},
	[REFEREE_SNAPSHOT] = {"snapshot", COR_PRF_ENABLE_STACK_SNAPSHOT},
	[REFEREE_STOPPED] = {"stopped", 0},
	[REFEREE_SYNC] = {"sync", COR_PRF_ENABLE_STACK_SNAPSHOT | REFEREE_SYNC_EVENTS},
};

static int choose_engine(struct dnp_err *err)
{
	const char *name = getenv(REFEREE_ENGINE_ENV);

	for (size_t i = 0; i < DNP_ARRAY_SIZE(engines); i++) {
		if (!name || !strcmp(name, engines[i].name)) {
			referee.engine = (enum referee_engine)i;
			return 0;
		}
	}
	return dnp_err(err, -EINVAL, "the referee knows no engine %s", name);
}

static int get_memory(struct dnp_err *err)
{
	referee.store = memory(REFEREE_STORE_BYTES);
	for (size_t i = 0; i < WALKERS; i++) {
		referee.costs[i].each = memory(REFEREE_WALKS_MAX * sizeof(*referee.costs[i].each));
		if (!referee.costs[i].each || !referee.store)
			return dnp_err(err, -ENOMEM, "no memory for the referee");
	}
	return 0;
}

static int begin(const char *path, struct dnp_err *err)
{
	int failed = choose_engine(err);
	HRESULT hr;

	if (!failed)
		failed = get_memory(err);
	if (failed)
		return failed;
	hr = allow(engines[referee.engine].events);
	if (FAILED(hr))
		return dnp_err(
			err, -EINVAL, "the runtime refuses snapshots: %s", dnp_hresult_name(hr));
	referee.map = dnp_walk_codemap();
	referee.times = getenv(REFEREE_TIMES_ENV);
	referee.path = path;
	if (referee.engine == REFEREE_SNAPSHOT || referee.engine == REFEREE_STOPPED)
		failed = dnp_stop_open(err);
	if (!failed && referee.engine == REFEREE_STOPPED)
		failed = referee_stopper_start(dnp_engines_options()->interval_ns);
	return failed;
}

int __wrap_dnp_recorder_start(struct dnp_err *err)
{
	const char *path = getenv(REFEREE_ENV);
	int failed = path ? begin(path, err) : 0;

	return failed ? failed : __real_dnp_recorder_start(err);
}

bool __wrap_dnp_recorder_stop(enum dnp_end_reason reason)
{
	if (referee.path && referee.engine == REFEREE_STOPPED)
		referee_stopper_end();
	return __real_dnp_recorder_stop(reason);
}

/* The referee takes stacks where no engine does, in callbacks: native modules must be known. */
bool __wrap_dnp_engines_walk(void)
{
	return true;
}

/* No walk is under way any more, and what is known of code is still there: frames get their names.
 */
void __wrap_dnp_knowledge_end(void)
{
	if (referee.path)
		findings_write();
	__real_dnp_knowledge_end();
}
