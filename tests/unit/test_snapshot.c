/* SPDX-License-Identifier: MIT */
/* The snapshot engine against a runtime of ours that keeps count of what it is asked for. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/engine.h"
#include "capture/managed.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "os/clock.h"
#include "os/forks.h"
#include "os/thread.h"
#include "test.h"
#include "unwind/dss.h"

/* ---- The runtime */

static struct {
	_Atomic int suspended;
	_Atomic unsigned suspensions, resumptions, refusals, walks;
	_Atomic unsigned
		at_once; /* refusals that came much sooner than a round after the one before */
	_Atomic unsigned early; /* suspensions before a walk was answered: must not be */
	_Atomic int answered;   /* an unsuspended walk */
	/* What it is to do. */
	_Atomic unsigned refuse;                      /* so many suspensions */
	_Atomic unsigned unsafe;                      /* so many unsuspended walks get no answer */
	_Atomic HRESULT result;                       /* of walks */
	_Atomic int hold_walk, hold_suspension, held; /* wait in there */
} runtime;

static void hold(_Atomic int *held)
{
	while (atomic_load(held)) {
		atomic_store(&runtime.held, 1);
		dnp_sleep_until_ns(dnp_now_ns() + 1000000);
	}
}

static struct dnp_agent_options options;

static void refused(void)
{
	static uint64_t before_ns;
	uint64_t now_ns = dnp_now_ns();

	if (atomic_fetch_add(&runtime.refusals, 1) && now_ns - before_ns < options.interval_ns / 2)
		atomic_fetch_add(&runtime.at_once, 1);
	before_ns = now_ns;
}

static HRESULT DNP_COM suspend(ICorProfilerInfo *self)
{
	(void)self;
	if (!atomic_load(&runtime.answered))
		atomic_fetch_add(&runtime.early, 1);
	if (atomic_load(&runtime.refuse)) {
		atomic_fetch_sub(&runtime.refuse, 1);
		refused();
		return CORPROF_E_SUSPENSION_IN_PROGRESS;
	}
	hold(&runtime.hold_suspension);
	atomic_store(&runtime.suspended, 1);
	atomic_fetch_add(&runtime.suspensions, 1);
	return S_OK;
}

static HRESULT DNP_COM resume(ICorProfilerInfo *self)
{
	(void)self;
	atomic_store(&runtime.suspended, 0);
	atomic_fetch_add(&runtime.resumptions, 1);
	return S_OK;
}

static HRESULT DNP_COM walk(ICorProfilerInfo *self, ThreadID thread, StackSnapshotCallback *frame,
	uint32_t flags, void *data, uint8_t *context, uint32_t context_size)
{
	(void)self;
	(void)thread;
	(void)flags;
	(void)context;
	(void)context_size;
	if (!atomic_load(&runtime.suspended)) {
		if (atomic_load(&runtime.unsafe)) {
			atomic_fetch_sub(&runtime.unsafe, 1);
			return CORPROF_E_STACKSNAPSHOT_UNSAFE;
		}
		atomic_store(&runtime.answered, 1);
		return E_NOTIMPL;
	}
	atomic_fetch_add(&runtime.walks, 1);
	hold(&runtime.hold_walk);
	if (FAILED(runtime.result))
		return runtime.result;
	return frame(1, (uintptr_t)&walk, 0, 0, NULL, data) == S_OK
		? S_OK
		: CORPROF_E_STACKSNAPSHOT_ABORTED;
}

/* ---- A program with one managed thread, which works */

static struct dnp_info info;
static struct dnp_thread *worker;
static const struct dnp_engine *engine;
static struct dnp_err err;

static void *work(void *context)
{
	_Atomic int *tid = context;

	atomic_store(tid, dnp_thread_id());
	while (atomic_load(tid))
		;
	return NULL;
}

static void prepare(const char *event)
{
	static struct ICorProfilerInfoVtbl table = {
		.SuspendRuntime = suspend,
		.ResumeRuntime = resume,
		.DoStackSnapshot = walk,
	};
	static ICorProfilerInfo com = {.vtbl = &table};
	static _Atomic int tid;
	pthread_t thread;
	int is_new;

	info = (struct dnp_info){.com = &com, .version = 15};
	dnp_agent_options_init(&options);
	options.interval_ns = 1000000;
	options.depth = 64;
	dnp_threads_init(options.depth, DNP_EVENTS_MAX);
	CHECK(pthread_create(&thread, NULL, work, &tid) == 0);
	while (!atomic_load(&tid))
		dnp_sleep_until_ns(dnp_now_ns() + 100000);
	worker = dnp_thread_begin(tid, &is_new);
	CHECK(worker);
	engine = dnp_engine_find(dnp_str(event), DNP_ENGINE_SNAPSHOT, false);
	CHECK(engine);
}

static struct dnp_engine_setting setting;

static void start(void)
{
	setting = (struct dnp_engine_setting){.options = &options, .info = &info};
	CHECK_EQ(engine->start(&setting, 0, &err), 0);
	engine->managed_begin(0x1000, worker);
}

/* Until it is so, or nothing comes of it. */
#define WAIT(condition)                                                                            \
	do {                                                                                       \
		uint64_t end_ns = dnp_now_ns() + TEST_HANG_NS;                                     \
                                                                                                   \
		while (!(condition)) {                                                             \
			CHECK(dnp_now_ns() < end_ns);                                              \
			dnp_sleep_until_ns(dnp_now_ns() + 1000000);                                \
		}                                                                                  \
	} while (0)

static uint64_t samples(void)
{
	return atomic_load(&worker->outside.counts[0].samples);
}

static struct {
	uint64_t refused, unmanaged;
	int reasons;
} told;

static void tell(unsigned event, const char *reason, uint64_t count)
{
	CHECK_EQ(event, 0);
	told.reasons++;
	if (!strcmp(reason, "CORPROF_E_SUSPENSION_IN_PROGRESS"))
		told.refused += count;
	if (!strcmp(reason, "CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX"))
		told.unmanaged += count;
}

TEST(snapshot_suspends_nobody_before_its_first_walk_is_answered)
{
	prepare("cpu");
	runtime.unsafe = 20;
	start();
	WAIT(samples() > 30);
	engine->stop();
	CHECK_EQ(runtime.unsafe, 0);
	CHECK_EQ(runtime.early, 0);
	CHECK(runtime.walks > 5);
	CHECK_EQ(runtime.suspensions, runtime.resumptions);
	CHECK_EQ(engine->walking_since(), UINT64_MAX);
}

TEST(snapshot_is_asked_for_again_when_it_was_refused)
{
	prepare("cpu");
	runtime.refuse = 50;
	start();
	WAIT(runtime.walks > 5);
	engine->stop();
	CHECK_EQ(runtime.refusals, 50);
	engine->failures(0, tell);
	CHECK_EQ(told.refused, 50);
	CHECK_EQ(told.reasons, 1);
	CHECK_EQ(runtime.suspensions, runtime.resumptions);
}

/* If it gave up for the round each time, a whole interval would be between any two. */
TEST(snapshot_is_asked_for_again_in_the_same_round)
{
	prepare("cpu");
	options.interval_ns = TEST_HANG_NS / 200;
	runtime.refuse = 20;
	start();
	WAIT(runtime.walks);
	engine->stop();
	CHECK_EQ(runtime.refusals, 20);
	CHECK(runtime.at_once > 0);
}

TEST(snapshot_counts_walks_that_fail_by_name_and_loses_nothing)
{
	prepare("cpu");
	runtime.refuse = 3;
	runtime.result = CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
	start();
	WAIT(runtime.walks > 5);
	engine->stop();
	engine->failures(0, tell);
	CHECK_EQ(told.unmanaged, runtime.walks);
	CHECK_EQ(told.refused, 3);
	CHECK_EQ(told.reasons, 2);
	/* And of what was due when it was stopped. */
	CHECK(samples() == runtime.walks || samples() == runtime.walks + 1);
	for (int i = 0; i < DNP_LOSS_COUNT; i++)
		CHECK_EQ(worker->outside.counts[0].lost[i], 0);
}

/* One that runs, and one that never does: that one has to be walked once only. */
TEST(snapshot_of_the_wall_clock_walks_only_who_has_moved)
{
	struct dnp_thread *sleeper;
	int is_new;

	prepare("wall");
	sleeper = dnp_thread_begin(getpid(), &is_new);
	start();
	engine->managed_begin(0x2000, sleeper);
	WAIT(atomic_load(&worker->outside.counts[0].samples) > 20);
	engine->stop();
	CHECK(sleeper->outside.counts[0].samples > 0);
	CHECK(runtime.walks <= runtime.suspensions * 2);
	CHECK_EQ(runtime.suspensions, runtime.resumptions);
}

static void *stop(void *context)
{
	_Atomic int *stopped = context;

	engine->stop();
	atomic_store(stopped, 1);
	return NULL;
}

TEST(snapshot_that_is_stopped_while_it_walks_resumes_the_runtime)
{
	static _Atomic int stopped;
	pthread_t thread;

	prepare("cpu");
	runtime.hold_walk = 1;
	start();
	WAIT(runtime.held);
	CHECK_EQ(runtime.suspended, 1);
	CHECK(engine->walking_since() <= dnp_now_ns());
	CHECK(pthread_create(&thread, NULL, stop, &stopped) == 0);
	dnp_sleep_until_ns(dnp_now_ns() + 20000000);
	CHECK_EQ(stopped, 0);
	runtime.hold_walk = 0;
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(stopped, 1);
	CHECK_EQ(runtime.suspended, 0);
	CHECK_EQ(runtime.resumptions, runtime.suspensions);
}

/*
 * The runtime does not come back: whoever stops the engine does, and all that is known of threads
 * goes. When the sampler is back it looks at none, and makes room for the next one.
 */
static void stop_in_the_middle(const char *event, _Atomic int *held)
{
#ifdef __SANITIZE_THREAD__
	SKIP("the thread that is left alone counts as a leak");
#endif
	prepare(event);
	atomic_store(held, 1);
	start();
	WAIT(runtime.held);
	engine->stop();
	CHECK_EQ(dnp_managed_places(), 0);
	CHECK_EQ(engine->start(&setting, 0, &err), -EBUSY);
	dnp_threads_done();
	atomic_store(held, 0);
	WAIT(!engine->start(&setting, 0, &err));
	CHECK_EQ(runtime.suspended, 0);
	CHECK_EQ(runtime.resumptions, runtime.suspensions);
	engine->stop();
}

TEST(snapshot_stops_in_the_middle_of_a_suspension)
{
	stop_in_the_middle("cpu", &runtime.hold_suspension);
	CHECK_EQ(runtime.walks, 0);
}

TEST(snapshot_stops_in_the_middle_of_a_walk)
{
	stop_in_the_middle("wall", &runtime.hold_walk);
	CHECK_EQ(runtime.walks, 1);
}

static void not_needed(void)
{
}

static void *let_walk_end(void *context)
{
	(void)context;
	dnp_sleep_until_ns(dnp_now_ns() + 50000000);
	runtime.hold_walk = 0;
	return NULL;
}

/* Its runtime would stay suspended: nobody is there who could resume it. */
TEST(a_child_is_not_forked_while_the_runtime_is_suspended)
{
	pthread_t thread;
	uint64_t begin_ns;
	pid_t child;
	int status;

	CHECK_EQ(dnp_forks_watch(not_needed), 0);
	prepare("cpu");
	runtime.hold_walk = 1;
	start();
	WAIT(runtime.held);
	CHECK_EQ(runtime.suspended, 1);
	CHECK(!pthread_create(&thread, NULL, let_walk_end, NULL));
	begin_ns = dnp_now_ns();
	child = fork();
	if (!child)
		test_end_child(runtime.suspended);
	/* On a machine so busy that the walk goes on for longer than a fork waits nothing is shown.
	 */
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(!status || dnp_now_ns() - begin_ns >= UINT64_C(1000000000));
	CHECK(!pthread_join(thread, NULL));
	engine->stop();
	CHECK_EQ(runtime.suspensions, runtime.resumptions);
}

/* ---- Ends of threads */

static _Atomic int ended;

static void last(uint32_t place, const struct dnp_managed *managed)
{
	(void)place;
	CHECK(managed->id == 0x2000);
	CHECK(managed->thread == worker);
}

static void *end(void *context)
{
	(void)context;
	dnp_managed_remove(0x2000, last);
	atomic_store(&ended, 1);
	return NULL;
}

static void never(uint32_t place, const struct dnp_managed *managed)
{
	(void)place;
	(void)managed;
}

TEST(a_thread_does_not_end_while_it_is_looked_at)
{
	struct dnp_managed managed;
	pthread_t thread;

	prepare("cpu");
	dnp_managed_watch();
	dnp_managed_add(0x1000, worker);
	dnp_managed_add(0x2000, worker);
	dnp_managed_add(0x2000, worker);
	CHECK_EQ(dnp_managed_places(), 2);
	CHECK(dnp_managed_enter(1, &managed));
	CHECK_EQ(managed.id, 0x2000);
	dnp_managed_remove(0x1000, never); /* another one: does not wait */
	CHECK(!pthread_create(&thread, NULL, end, NULL));
	dnp_sleep_until_ns(dnp_now_ns() + 50000000);
	CHECK_EQ(ended, 0);
	dnp_managed_leave();
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(ended, 1);
	CHECK(!dnp_managed_enter(1, &managed));
	dnp_managed_add(0x3000, worker);
	CHECK_EQ(dnp_managed_places(), 2);
	CHECK(dnp_managed_enter(0, &managed));
	CHECK_EQ(managed.serial, 3);
	dnp_managed_leave();
	dnp_managed_remove(0x4000, never); /* not there */
}

/* Its end would be told to nobody: the next recording must not ask the runtime about it. */
TEST(a_thread_that_begins_as_a_recording_ends_is_not_listed)
{
	prepare("cpu");
	dnp_managed_watch();
	dnp_managed_add(0x1000, worker);
	dnp_managed_forget();
	dnp_managed_add(0x2000, worker);
	CHECK_EQ(dnp_managed_places(), 0);
	dnp_managed_watch();
	CHECK_EQ(dnp_managed_places(), 0);
	dnp_managed_add(0x3000, worker);
	CHECK_EQ(dnp_managed_places(), 1);
}

static unsigned n_last;

static void count_last(uint32_t place, const struct dnp_managed *managed)
{
	(void)place;
	CHECK(managed->id == 0x1000 && managed->thread == worker);
	n_last++;
}

TEST(a_thread_that_has_gone_is_not_looked_at_though_its_id_stays)
{
	struct dnp_managed managed;
	struct dnp_thread other = {0};

	prepare("cpu");
	dnp_managed_watch();
	dnp_managed_add(0x1000, worker);
	dnp_managed_add(0x2000, &other);
	dnp_managed_gone(worker, 0, count_last);
	dnp_managed_gone(worker, 0, count_last);
	CHECK_EQ(n_last, 1);
	CHECK(!dnp_managed_enter(0, &managed));
	CHECK(dnp_managed_enter(1, &managed));
	dnp_managed_leave();
	dnp_managed_remove(0x1000, count_last); /* the runtime has found it out */
	CHECK_EQ(n_last, 1);
	dnp_managed_remove(0x2000, never);
}

static _Atomic uint64_t looks;

static void *come_and_go(void *context)
{
	uintptr_t id = 0x1000 * (1 + (uintptr_t)context);

	for (int i = 0; i < 2000; i++) {
		dnp_managed_add(id, worker);
		dnp_managed_remove(id, never);
	}
	atomic_fetch_add(&ended, 1);
	return NULL;
}

TEST(threads_come_and_go_while_they_are_looked_at)
{
	struct dnp_managed managed;
	pthread_t threads[4];

	prepare("cpu");
	dnp_managed_watch();
	for (uintptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, come_and_go,
			(void *)i)); /* NOLINT(performance-no-int-to-ptr) */
	while (atomic_load(&ended) < 4)
		for (uint32_t place = 0; place < dnp_managed_places(); place++)
			if (dnp_managed_enter(place, &managed)) {
				CHECK(managed.id && managed.id % 0x1000 == 0 && managed.thread);
				dnp_managed_leave();
				atomic_fetch_add(&looks, 1);
			}
	for (size_t i = 0; i < 4; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(dnp_managed_places() <= 4);
}
