/* SPDX-License-Identifier: MIT */
/*
 * The rules of libdnprof-walk that are about order and waiting, with a runtime made for it: what it
 * is asked, and when. tests/walker has the walks themselves.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/sampling_signal.h"
#include "os/thread.h"
#include "test.h"
#include "walker/walks.h"

/* ---- A runtime of two threads: A has three managed frames and a native run, B none */

enum { THREAD_A = 0x1000, THREAD_B = 0x2000 };

static struct {
	uint32_t events;
	int refusals; /* suspensions still to be refused */
	int suspensions;
	bool suspended;
	bool answered;               /* a walk before anything was suspended */
	bool unsafe;                 /* no such walk is answered */
	ThreadID self;               /* of the calling thread, 0: it is none of the runtime's */
	void (*wait_for_list)(void); /* until nobody else has the list of threads */
} runtime;

#define CODE_BYTES 16

static const uint8_t code[4 * CODE_BYTES]; /* of methods 0x70 to 0x73 */

static uintptr_t code_of(FunctionID function)
{
	return (uintptr_t)code + (function - 0x70) * CODE_BYTES;
}

static HRESULT DNP_COM query(ICorProfilerInfo *self, const struct dnp_guid *iid, void **object)
{
	(void)iid;
	*object = self;
	return S_OK;
}

static uint32_t DNP_COM reference(ICorProfilerInfo *self)
{
	(void)self;
	return 1;
}

static HRESULT DNP_COM current_thread(ICorProfilerInfo *self, ThreadID *thread)
{
	(void)self;
	*thread = runtime.self;
	return runtime.self ? S_OK : CORPROF_E_NOT_MANAGED_THREAD;
}

static HRESULT DNP_COM event_mask(ICorProfilerInfo *self, uint32_t *events)
{
	(void)self;
	*events = runtime.events;
	return S_OK;
}

static HRESULT DNP_COM suspend(ICorProfilerInfo *self)
{
	(void)self;
	CHECK(runtime.answered);
	CHECK(!runtime.suspended);
	if (runtime.wait_for_list)
		runtime.wait_for_list();
	if (runtime.refusals-- > 0)
		return CORPROF_E_SUSPENSION_IN_PROGRESS;
	runtime.suspended = true;
	runtime.suspensions++;
	return S_OK;
}

static HRESULT DNP_COM resume(ICorProfilerInfo *self)
{
	(void)self;
	CHECK(runtime.suspended);
	runtime.suspended = false;
	return S_OK;
}

static HRESULT DNP_COM snapshot(ICorProfilerInfo *self, ThreadID thread,
	StackSnapshotCallback *callback, uint32_t flags, void *data, uint8_t *seed,
	uint32_t seed_bytes)
{
	static const FunctionID frames[] = {0, 0x71, 0x72, 0x73};

	(void)self;
	(void)flags;
	(void)seed_bytes;
	CHECK(!seed);
	if (!runtime.suspended && runtime.unsafe)
		return CORPROF_E_STACKSNAPSHOT_UNSAFE;
	if (!runtime.suspended) {
		runtime.answered = true;
		return E_NOTIMPL;
	}
	if (thread != THREAD_A)
		return E_FAIL;
	for (size_t i = 0; i < DNP_ARRAY_SIZE(frames); i++)
		if (callback(frames[i], frames[i] ? code_of(frames[i]) + 8 : 0, 0, 0, NULL, data) !=
			S_OK)
			return CORPROF_E_STACKSNAPSHOT_ABORTED;
	return S_OK;
}

static HRESULT DNP_COM code_starts(ICorProfilerInfo *self, FunctionID function, ReJITID rejit,
	uint32_t max, uint32_t *n, uintptr_t *starts)
{
	(void)self;
	CHECK(max);
	*n = !rejit;
	starts[0] = code_of(function);
	return S_OK;
}

static HRESULT DNP_COM code_info(ICorProfilerInfo *self, uintptr_t start, uint32_t max, uint32_t *n,
	COR_PRF_CODE_INFO *infos)
{
	(void)self;
	CHECK(max);
	*n = 1;
	infos[0] = (COR_PRF_CODE_INFO){.startAddress = start, .size = CODE_BYTES};
	return S_OK;
}

static struct ICorProfilerInfoVtbl table = {
	.QueryInterface = query,
	.AddRef = reference,
	.Release = reference,
	.GetCurrentThreadID = current_thread,
	.GetEventMask = event_mask,
	.SuspendRuntime = suspend,
	.ResumeRuntime = resume,
	.DoStackSnapshot = snapshot,
	.GetNativeCodeStartAddresses = code_starts,
	.GetCodeInfo4 = code_info,
};
static ICorProfilerInfo info = {.vtbl = &table};

static dnprof_walker *open_walker(void)
{
	dnprof_walker *walker = NULL;

	runtime.events = COR_PRF_ENABLE_STACK_SNAPSHOT;
	CHECK_EQ(dnprof_walker_open(&info, NULL, &walker), DNPROF_S_OK);
	for (FunctionID function = 0x71; function <= 0x73; function++)
		dnprof_walker_method_compiled(walker, function, 1);
	/* Threads that are there: a walk of either would find them. */
	dnprof_walker_thread_assigned(walker, THREAD_A, (uint32_t)dnp_thread_id());
	dnprof_walker_thread_assigned(walker, THREAD_B, (uint32_t)dnp_thread_id());
	return walker;
}

/* ---- What is told */

struct told {
	uint32_t frames, runs, threads, failed;
	uint32_t abort_at;
	uint64_t functions[8];
};

static int on_frame(const struct dnprof_frame *frame, void *context)
{
	struct told *told = context;

	CHECK(!runtime.suspended);
	CHECK_EQ(frame->thread, THREAD_A);
	CHECK_EQ(frame->struct_size, sizeof(*frame));
	if (frame->kind == DNPROF_FRAME_NATIVE_RUN)
		told->runs++;
	else if (told->frames < DNP_ARRAY_SIZE(told->functions))
		told->functions[told->frames++] = frame->function;
	return told->abort_at && told->frames == told->abort_at;
}

static int on_thread(uint64_t thread, int32_t result, void *context)
{
	struct told *told = context;

	CHECK(!runtime.suspended);
	CHECK_EQ(result, thread == THREAD_A ? DNPROF_S_OK : DNPROF_E_FAIL);
	told->threads++;
	told->failed += result < 0;
	return 0;
}

static const struct dnprof_walk_options none = {
	.struct_size = sizeof(none), .native = DNPROF_NATIVE_NONE};

TEST(walker_tells_all_threads_after_the_runtime_goes_on)
{
	dnprof_walker *walker = open_walker();
	struct dnprof_snapshot snapshot = {.struct_size = sizeof(snapshot)};
	struct told told = {0};

	runtime.refusals = 3;
	CHECK_EQ(
		dnprof_walk_all(walker, &none, on_frame, on_thread, &told, &snapshot), DNPROF_S_OK);
	CHECK_EQ(told.frames, 3);
	CHECK_EQ(told.runs, 1);
	CHECK_EQ(told.functions[0], 0x71);
	CHECK_EQ(told.functions[2], 0x73);
	CHECK_EQ(told.threads, 2);
	CHECK_EQ(snapshot.threads, 2);
	CHECK_EQ(snapshot.failed, 1);
	CHECK_EQ(snapshot.refused, 3);
	CHECK_EQ(runtime.suspensions, 1);
	CHECK(!runtime.suspended);
	dnprof_walker_close(walker);
}

/* As long as it is not refused a suspension finds some more threads than the one before it did. */
static dnprof_walker *of_new;
static uint32_t n_new;

static void begin_threads(void)
{
	for (uint32_t begun = 0; n_new < 300 && begun < 100; begun++)
		dnprof_walker_thread_assigned(
			of_new, 0x10000 + 0x10 * n_new++, (uint32_t)dnp_thread_id());
}

TEST(walker_leaves_out_no_thread_that_begins_until_the_runtime_is_suspended)
{
	struct dnprof_snapshot snapshot = {.struct_size = sizeof(snapshot)};
	struct told told = {0};

	of_new = open_walker();
	runtime.wait_for_list = begin_threads;
	runtime.refusals = 1;
	CHECK_EQ(
		dnprof_walk_all(of_new, &none, on_frame, on_thread, &told, &snapshot), DNPROF_S_OK);
	CHECK_EQ(told.frames, 3);
	CHECK_EQ(told.threads, 302);
	CHECK_EQ(snapshot.threads, 302);
	CHECK(!runtime.suspended);
	dnprof_walker_close(of_new);
}

struct unloading {
	dnprof_walker *walker;
	struct told told;
};

/* At the first frame. */
static int unload(const struct dnprof_frame *frame, void *context)
{
	struct unloading *unloading = context;

	if (frame->function == 0x71) {
		dnprof_walker_dynamic_method_unloaded(unloading->walker, 0x72);
		/* What is told of it later is of another method in its place. */
		dnprof_walker_dynamic_method_unloaded(unloading->walker, 0x73);
		dnprof_walker_method_compiled(unloading->walker, 0x73, 1);
	}
	return on_frame(frame, &unloading->told);
}

TEST(walker_tells_no_function_that_was_unloaded_since_the_walk)
{
	struct unloading unloading = {.walker = open_walker()};

	CHECK_EQ(dnprof_walk_all(unloading.walker, &none, unload, NULL, &unloading, NULL),
		DNPROF_S_OK);
	CHECK_EQ(unloading.told.frames, 3);
	CHECK_EQ(unloading.told.functions[0], 0x71);
	CHECK_EQ(unloading.told.functions[1], 0);
	CHECK_EQ(unloading.told.functions[2], 0);
	dnprof_walker_close(unloading.walker);
}

TEST(walker_suspends_nobody_before_its_first_walk_was_answered)
{
	dnprof_walker *walker = open_walker();
	struct dnprof_snapshot snapshot = {.struct_size = sizeof(snapshot)};
	struct told told = {0};

	runtime.unsafe = true; /* suspend() checks, too */
	CHECK_EQ(dnprof_walk_all(walker, &none, on_frame, on_thread, &told, &snapshot),
		DNPROF_CORPROF_E_STACKSNAPSHOT_UNSAFE);
	CHECK_EQ(runtime.suspensions, 0);
	CHECK_EQ(told.threads, 0);
	dnprof_walker_close(walker);
}

TEST(walker_gives_up_suspending_after_a_while)
{
	dnprof_walker *walker = open_walker();
	struct dnprof_snapshot snapshot = {.struct_size = sizeof(snapshot)};
	struct told told = {0};

	runtime.refusals = 1000000;
	CHECK_EQ(dnprof_walk_all(walker, &none, on_frame, on_thread, &told, &snapshot),
		DNPROF_CORPROF_E_SUSPENSION_IN_PROGRESS);
	CHECK(snapshot.refused > 1);
	CHECK_EQ(snapshot.threads, 0);
	CHECK_EQ(runtime.suspensions, 0);
	dnprof_walker_close(walker);
}

TEST(walker_is_ended_by_the_callback)
{
	dnprof_walker *walker = open_walker();
	struct dnprof_snapshot snapshot = {.struct_size = offsetof(struct dnprof_snapshot, failed)};
	struct told told = {.abort_at = 2};

	snapshot.refused = 77;
	CHECK_EQ(dnprof_walk_all(walker, &none, on_frame, on_thread, &told, &snapshot),
		DNPROF_CORPROF_E_STACKSNAPSHOT_ABORTED);
	CHECK_EQ(told.frames, 2);
	CHECK_EQ(snapshot.refused, 77); /* what an older host does not have is left alone */
	dnprof_walker_close(walker);
}

TEST(walker_refuses_by_name)
{
	dnprof_walker *walker = open_walker(), *second = walker;
	struct told told = {0};

	CHECK_EQ(
		dnprof_walker_open(&info, NULL, &second), DNPROF_CORPROF_E_PROFILER_ALREADY_ACTIVE);
	CHECK(!second);
	runtime.events = 0;
	CHECK_EQ(dnprof_walk_all(walker, &none, on_frame, NULL, &told, NULL),
		DNPROF_CORPROF_E_INCONSISTENT_WITH_FLAGS);
	runtime.self = THREAD_B;
	CHECK_EQ(dnprof_walk_all(walker, &none, on_frame, NULL, &told, NULL),
		DNPROF_CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
	CHECK_EQ(dnprof_walk_thread(walker, THREAD_A, &none, on_frame, &told),
		DNPROF_CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
	runtime.self = 0;
	dnprof_walker_thread_destroyed(walker, THREAD_A);
	CHECK_EQ(dnprof_walk_thread(walker, THREAD_A, &none, on_frame, &told),
		DNPROF_CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
	CHECK_EQ(told.frames, 0);
	CHECK_STR(dnprof_result_name(DNPROF_CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX),
		"CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX");
	CHECK(!dnprof_result_name(0x7fff1234));
	CHECK(*dnprof_result_text(0x7fff1234));
	dnprof_walker_close(walker);
}

/* ---- Waiting */

struct ending {
	dnprof_walker *walker;
	ThreadID thread;
	_Atomic bool over;
};

static void *end_thread(void *context)
{
	struct ending *ending = context;

	dnprof_walker_thread_destroyed(ending->walker, ending->thread);
	atomic_store(&ending->over, true);
	return NULL;
}

static void rest(void)
{
	nanosleep(&(struct timespec){0, 5000000}, NULL);
}

TEST(walker_thread_end_waits_for_its_own_walk_and_no_other)
{
	struct ending a = {open_walker(), THREAD_A, false}, b = {a.walker, THREAD_B, false};
	struct dnp_walker_thread held, again;
	pthread_t end_a, end_b;

	CHECK(dnp_walker_thread_hold(THREAD_A, &held));
	CHECK_EQ(held.tid, dnp_thread_id());
	CHECK(pthread_create(&end_a, NULL, end_thread, &a) == 0);
	CHECK(pthread_create(&end_b, NULL, end_thread, &b) == 0);
	pthread_join(end_b, NULL);
	CHECK(b.over);
	/* Once it has begun to end nobody begins a walk of it any more. */
	while (dnp_walker_thread_hold(THREAD_A, &again)) {
		dnp_walker_thread_release(THREAD_A);
		rest();
	}
	CHECK(!dnp_walker_thread_hold(THREAD_A, &again));
	CHECK(!a.over);
	dnp_walker_thread_release(THREAD_A);
	pthread_join(end_a, NULL);
	CHECK(!dnp_walker_thread_hold(THREAD_A, &again));
	dnprof_walker_close(a.walker);
}

static struct ending of_list;

/* A thread has the runtime's list of threads until it has ended. */
static void wait_for_ending(void)
{
	struct timespec deadline;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += TEST_HANG_S;
	CHECK(pthread_create(&thread, NULL, end_thread, &of_list) == 0);
	CHECK_EQ(pthread_timedjoin_np(thread, NULL, &deadline), 0);
}

TEST(walker_holds_no_thread_while_the_runtime_is_to_be_suspended)
{
	struct dnprof_snapshot snapshot = {.struct_size = sizeof(snapshot)};
	struct told told = {0};

	of_list = (struct ending){open_walker(), THREAD_B, false};
	runtime.wait_for_list = wait_for_ending;
	CHECK_EQ(dnprof_walk_all(of_list.walker, &none, on_frame, on_thread, &told, &snapshot),
		DNPROF_S_OK);
	CHECK(of_list.over);
	CHECK_EQ(told.threads, 1);
	CHECK_EQ(told.frames, 3);
	dnprof_walker_close(of_list.walker);
}

static _Atomic int busy_tid;
static _Atomic bool busy_may_end;

static void *be_busy(void *context)
{
	atomic_store(&busy_tid, dnp_thread_id());
	while (!atomic_load(&busy_may_end))
		;
	return context;
}

static int on_any(const struct dnprof_frame *frame, void *context)
{
	(void)frame;
	++*(unsigned *)context;
	return 0;
}

static void on_activation(int signal, siginfo_t *told, void *context)
{
	(void)signal;
	(void)told;
	(void)context;
}

static void *handler_of(int number)
{
	struct sigaction action;

	CHECK_EQ(sigaction(number, NULL, &action), 0);
	return (void *)action.sa_sigaction; /* NOLINT(bugprone-casting-through-void) */
}

/* What walks of threads that run took of the process is there again as it was. */
TEST(walker_gives_the_signal_back)
{
	struct sigaction runtime_has = {.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO};
	dnprof_walker *walker = open_walker();
	unsigned frames = 0;
	pthread_t thread;
	void *before;

	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(dnp_signal_number(), &runtime_has, NULL) == 0);
	before = handler_of(dnp_signal_number());
	CHECK(pthread_create(&thread, NULL, be_busy, NULL) == 0);
	while (!atomic_load(&busy_tid))
		rest();
	dnprof_walker_thread_assigned(walker, 0x3000, (uint32_t)atomic_load(&busy_tid));
	for (int i = 0; i < 2; i++) {
		while (dnprof_walk_thread(walker, 0x3000, NULL, on_any, &frames) < 0)
			rest();
		CHECK(frames && handler_of(dnp_signal_number()) != before);
		dnprof_walker_close(walker);
		CHECK(handler_of(dnp_signal_number()) == before);
		walker = open_walker();
		dnprof_walker_thread_assigned(walker, 0x3000, (uint32_t)atomic_load(&busy_tid));
	}
	dnprof_walker_close(walker);
	atomic_store(&busy_may_end, true);
	pthread_join(thread, NULL);
}

/* ---- Libraries that come and go */

/* Until a thread sleeps in a system call with that first argument. */
static void await(int tid, long number, uintptr_t argument)
{
	char path[64], line[256], waits[64];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	snprintf(waits, sizeof(waits), "%ld 0x%zx ", number, (size_t)argument);
	while (!found) {
		FILE *file = fopen(path, "r");

		CHECK(file);
		found = fgets(line, sizeof(line), file) && !strncmp(line, waits, strlen(waits));
		fclose(file);
		rest();
	}
}

/* A thread that waits in one of two libraries, whose functions need unlike room. */
struct guest {
	int come[2], go[2], gone[2]; /* pipes */
	char (*wait)(int pipe);
	_Atomic int tid;
};

static void tell(const int pipe[2])
{
	CHECK_EQ(write(pipe[1], "x", 1), 1);
}

static void hear(const int pipe[2])
{
	char byte;

	CHECK_EQ(read(pipe[0], &byte, 1), 1);
}

static void *be_guest(void *context)
{
	struct guest *guest = context;

	atomic_store(&guest->tid, dnp_thread_id());
	for (;;) {
		hear(guest->come);
		if (!guest->wait)
			return NULL;
		CHECK_EQ(guest->wait(guest->go[0]), 'x');
		tell(guest->gone);
	}
}

static void *enter(struct guest *guest, const char *path)
{
	void *library = dlopen(path, RTLD_NOW), *function;

	CHECK(library);
	function = dlsym(library, "dnp_test_wait");
	CHECK(function);
	memcpy(&guest->wait, &function, sizeof(function));
	tell(guest->come);
	await(guest->tid, SYS_read, (uintptr_t)guest->go[0]);
	return library;
}

static void leave(struct guest *guest, void *library)
{
	tell(guest->go);
	hear(guest->gone);
	CHECK_EQ(dlclose(library), 0);
}

struct walk {
	dnprof_walker *walker;
	_Atomic int tid;
	unsigned frames;
	int32_t result;
};

static void *walk_guest(void *context)
{
	struct walk *walk = context;

	atomic_store(&walk->tid, dnp_thread_id());
	walk->result = dnprof_walk_thread(walk->walker, 0x3000, NULL, on_any, &walk->frames);
	return NULL;
}

/* Whether the other library is where the one was that has gone. */
static bool walk_meanwhile(struct walk *walk, struct guest *guest, void **library)
{
	uintptr_t before = (uintptr_t)guest->wait;
	pthread_t thread;

	atomic_store(&walk->tid, 0);
	walk->frames = 0;
	pthread_mutex_lock(&dnp_walks_of_others);
	CHECK(pthread_create(&thread, NULL, walk_guest, walk) == 0);
	while (!atomic_load(&walk->tid))
		rest();
	await(walk->tid, SYS_futex, (uintptr_t)&dnp_walks_of_others);
	leave(guest, *library);
	*library = enter(guest, OTHER_LIBRARY);
	pthread_mutex_unlock(&dnp_walks_of_others);
	pthread_join(thread, NULL);
	return (uintptr_t)guest->wait == before;
}

TEST(walker_does_not_take_a_library_for_one_that_has_gone)
{
	struct walk walk = {.walker = open_walker()};
	struct guest guest = {.wait = NULL};
	unsigned frames = 0;
	bool in_its_place = false;
	void *library;
	pthread_t thread;

	CHECK(pipe(guest.come) == 0 && pipe(guest.go) == 0 && pipe(guest.gone) == 0);
	CHECK(pthread_create(&thread, NULL, be_guest, &guest) == 0);
	while (!atomic_load(&guest.tid))
		rest();
	dnprof_walker_thread_assigned(walk.walker, 0x3000, (uint32_t)guest.tid);
	for (int i = 0; i < 10 && !in_its_place; i++) {
		library = enter(&guest, NEW_LIBRARY);
		walk.frames = 0;
		walk_guest(&walk);
		CHECK_EQ(walk.result, DNPROF_S_OK);
		frames = walk.frames;
		in_its_place = walk_meanwhile(&walk, &guest, &library);
		CHECK_EQ(walk.result, DNPROF_S_OK);
		CHECK_EQ(walk.frames, frames);
		leave(&guest, library);
	}
	guest.wait = NULL;
	tell(guest.come);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++) {
		close(guest.come[i]);
		close(guest.go[i]);
		close(guest.gone[i]);
	}
	dnprof_walker_close(walk.walker);
	if (!in_its_place)
		SKIP("no library comes to the place of another here");
}

static int walk_own(void *context)
{
	struct walk *walk = context;

	walk->frames = 0;
	walk->result = dnprof_walk_self(walk->walker, NULL, on_any, &walk->frames);
	return 0;
}

/* From in a library; returns where the function is that called. */
static uintptr_t walk_from(const char *path, bool refresh, struct walk *walk)
{
	void *library = dlopen(path, RTLD_NOW), *function;
	int (*call)(int (*)(void *), void *);

	CHECK(library);
	function = dlsym(library, "dnp_test_call");
	CHECK(function);
	memcpy(&call, &function, sizeof(call));
	if (refresh)
		dnprof_walker_refresh(walk->walker);
	CHECK_EQ(call(walk_own, walk), 0);
	CHECK_EQ(dlclose(library), 0);
	return (uintptr_t)function;
}

TEST(walker_does_not_take_a_library_on_its_own_stack_for_one_that_has_gone)
{
	struct walk walk = {.walker = open_walker()};
	bool in_its_place = false;
	unsigned frames;

	for (int i = 0; i < 10 && !in_its_place; i++) {
		uintptr_t before = walk_from(NEW_LIBRARY, true, &walk);

		CHECK_EQ(walk.result, DNPROF_S_OK);
		frames = walk.frames;
		in_its_place = walk_from(OTHER_LIBRARY, false, &walk) == before;
		CHECK_EQ(walk.result, DNPROF_S_OK);
		CHECK_EQ(walk.frames, frames);
	}
	dnprof_walker_close(walk.walker);
	if (!in_its_place)
		SKIP("no library comes to the place of another here");
}

static void *settle(void *context)
{
	_Atomic bool *over = context;

	dnp_gather_settle();
	atomic_store(over, true);
	return NULL;
}

TEST(walker_forgets_code_when_those_who_gather_are_done)
{
	_Atomic bool over = false;
	unsigned first = dnp_gather_begin(), later;
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, settle, &over) == 0);
	/* Until it waits: those that begin from then on are counted elsewhere ... */
	do {
		later = dnp_gather_begin();
		dnp_gather_end(later);
	} while (later == first);
	rest();
	CHECK(!atomic_load(&over));
	/* ... and do not keep it. */
	later = dnp_gather_begin();
	dnp_gather_end(first);
	pthread_join(thread, NULL);
	CHECK(over);
	dnp_gather_end(later);
}
