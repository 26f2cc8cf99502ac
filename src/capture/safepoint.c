/* SPDX-License-Identifier: MIT */
/*
 * How long threads take to stand still when the runtime stops them all, and where they did: each
 * says so itself when it has come to a safepoint, before it sleeps. The runtime counts it as
 * standing by then, so that taking its stack holds nobody up; and the last one may say it only when
 * all stand.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clean.h"
#include "base/vec.h"
#include "capture/engine.h"
#include "capture/happened.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/gate.h"
#include "os/mem.h"
#include "os/thread.h"

/* By COR_PRF_SUSPEND_REASON. */
static const char *const reasons[] = {
	[COR_PRF_SUSPEND_OTHER] = "other",
	[COR_PRF_SUSPEND_FOR_GC] = "collection",
	[COR_PRF_SUSPEND_FOR_APPDOMAIN_SHUTDOWN] = "types to be unloaded",
	[COR_PRF_SUSPEND_FOR_CODE_PITCHING] = "code to be thrown away",
	[COR_PRF_SUSPEND_FOR_SHUTDOWN] = "shutdown",
	[COR_PRF_SUSPEND_FOR_INPROC_DEBUGGER] = "debugger",
	[COR_PRF_SUSPEND_FOR_GC_PREP] = "collection, prepared for",
	[COR_PRF_SUSPEND_FOR_REJIT] = "methods to be compiled anew",
	[COR_PRF_SUSPEND_FOR_PROFILER] = "profiler",
};

/*
 * dotnet/runtime, class Thread: m_fPreemptiveGCDisabled, 1 while the thread runs managed code and
 * has to be waited for. Where it is, by the runtime's major version; the data descriptor of 10 says
 * the same.
 */
static const uint8_t offsets[] = {[8] = 12, [9] = 4, [10] = 4};

/* By the threads' places: of which suspension. */
struct of_thread {
	uint64_t awaited; /* it ran managed code when that began */
	uint64_t stood;   /* it said that it stood for that */
};

struct managed {
	uintptr_t id; /* ThreadID */
	uint32_t place;
};

/* Written in start, before the gate opens. */
static const struct dnp_engine_setting *setting;
static unsigned event;
static uint32_t labels[DNP_ARRAY_SIZE(reasons)];

static uint32_t offset; /* 0: not known */

static struct dnp_gate gate;

/* A leaf: of the threads, which stay while it is held, and of the suspension. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct managed_list dnp_vec_of(struct managed) managed;
static struct of_thread *threads; /* owned; NULL: nothing is recorded */

/* One at a time: the last that began. */
static struct {
	uint64_t number, began_ns, stood_ns; /* stood_ns 0: not all stand */
	uint32_t label;
	int tid; /* of who stops the others */
} suspension;

/* The word of threads is what it is taken for. */
static bool trusted;
static _Atomic uint64_t distrusted, no_memory;

#define THREADS_BYTES (DNP_THREADS_MAX * sizeof(*threads))

/* ---- Who is waited for; with the lock */

static uint32_t cooperative(uintptr_t id)
{
	/* The thread writes it meanwhile. NOLINTNEXTLINE(performance-no-int-to-ptr) */
	_Atomic uint32_t *word = (_Atomic uint32_t *)(id + offset);
	uint32_t value = atomic_load_explicit(word, memory_order_relaxed);

	if (value > 1)
		trusted = false;
	return value;
}

static void look_who_runs(void)
{
	for (size_t i = 0; trusted && i < managed.n; i++)
		if (cooperative(managed.p[i].id))
			threads[managed.p[i].place].awaited = suspension.number;
}

/*
 * How long the calling thread was waited for; 0: it was not, since it came back out of native code
 * meanwhile, or has said so before. It may wake up and sleep again for the same suspension. Who
 * stops the others says so of himself as well, and may run managed code all the while.
 */
static uint64_t waited_for(uintptr_t id, uint32_t place, uint64_t now_ns)
{
	struct of_thread *thread = &threads[place];
	bool first = suspension.number && thread->stood != suspension.number;

	if (suspension.tid == dnp_thread_id())
		return 0;
	if (trusted && cooperative(id))
		trusted = false; /* by now it is not */
	if (!trusted)
		atomic_fetch_add_explicit(&distrusted, 1, memory_order_relaxed);
	if (!first || (trusted ? thread->awaited != suspension.number : suspension.stood_ns))
		return 0;
	thread->stood = suspension.number;
	return (suspension.stood_ns ? suspension.stood_ns : now_ns) - suspension.began_ns;
}

/* ---- What the runtime tells */

static void safepoint_suspending(COR_PRF_SUSPEND_REASON reason)
{
	size_t i = (size_t)reason < DNP_ARRAY_SIZE(reasons) && reasons[reason]
		? (size_t)reason
		: COR_PRF_SUSPEND_OTHER;

	pthread_mutex_lock(&lock);
	suspension.number++;
	suspension.began_ns = dnp_now_ns();
	suspension.stood_ns = 0;
	suspension.label = labels[i];
	suspension.tid = dnp_thread_id();
	if (threads)
		look_who_runs();
	pthread_mutex_unlock(&lock);
}

static void safepoint_suspended(void)
{
	pthread_mutex_lock(&lock);
	suspension.stood_ns = dnp_now_ns();
	pthread_mutex_unlock(&lock);
}

static void store(uintptr_t id)
{
	const struct dnp_thread *thread = dnp_happened_on(setting);
	struct dnp_happening happening = {.event = event};

	if (!thread)
		return;
	pthread_mutex_lock(&lock);
	happening.weight = waited_for(id, thread->place, dnp_now_ns());
	happening.time_ns = suspension.began_ns;
	happening.value = suspension.number;
	happening.label = suspension.label;
	pthread_mutex_unlock(&lock);
	if (happening.weight)
		dnp_happened(setting, &happening);
}

static void safepoint_reached(uintptr_t id)
{
	if (!dnp_gate_enter(&gate, 1))
		return;
	store(id);
	dnp_gate_leave(&gate);
}

/* ---- Threads */

static void safepoint_managed_begin(uintptr_t id, struct dnp_thread *thread)
{
	pthread_mutex_lock(&lock);
	if (threads && dnp_vec_push(&managed, ((struct managed){id, thread->place})))
		atomic_fetch_add_explicit(&no_memory, 1, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

static void safepoint_managed_end(uintptr_t id, int tid)
{
	(void)tid;
	pthread_mutex_lock(&lock);
	for (size_t i = managed.n; i-- > 0;)
		if (managed.p[i].id == id)
			managed.p[i] = managed.p[--managed.n];
	pthread_mutex_unlock(&lock);
}

/* ---- The engine */

static void forget(void)
{
	pthread_mutex_lock(&lock);
	if (threads)
		dnp_mem_unmap(threads, THREADS_BYTES);
	threads = NULL;
	dnp_vec_done(&managed);
	pthread_mutex_unlock(&lock);
}

static uint32_t find_offset(void)
{
	uint16_t major = dnp_info_runtime_major(setting->info);

	return major < DNP_ARRAY_SIZE(offsets) ? offsets[major] : 0;
}

static int safepoint_start(
	const struct dnp_engine_setting *given, unsigned index, struct dnp_err *err)
{
	forget();
	threads = dnp_mem_map(THREADS_BYTES);
	if (!threads)
		return dnp_err(err, -ENOMEM, "no memory for threads that are stopped; free some");
	for (size_t i = 0; i < DNP_ARRAY_SIZE(reasons); i++)
		labels[i] = reasons[i] ? dnp_label(dnp_str(reasons[i])) : DNP_LABEL_OTHER;
	setting = given;
	event = index;
	suspension.number = 0;
	offset = find_offset();
	trusted = offset;
	atomic_store(&distrusted, 0);
	atomic_store(&no_memory, 0);
	dnp_gate_open(&gate, 1);
	return 0;
}

static void safepoint_stop(void)
{
	dnp_gate_open(&gate, 0);
	forget();
}

static const char *safepoint_source(void)
{
	return "RuntimeSuspendStarted, RuntimeThreadSuspended";
}

static void safepoint_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "thread of which is not known whether it was waited for",
		atomic_load(&distrusted) + atomic_load(&no_memory));
}

const struct dnp_engine dnp_engine_safepoint = {
	.event = "safepoint",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.events_low = COR_PRF_MONITOR_SUSPENDS,
	.suspending = safepoint_suspending,
	.suspended = safepoint_suspended,
	.safepoint = safepoint_reached,
	.needs_managed = true,
	.managed_begin = safepoint_managed_begin,
	.managed_end = safepoint_managed_end,
	.start = safepoint_start,
	.source = safepoint_source,
	.stop = safepoint_stop,
	.failures = safepoint_failures,
};
