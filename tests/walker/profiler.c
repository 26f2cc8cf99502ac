/* SPDX-License-Identifier: MIT */
/*
 * A profiler that is no part of dnprof, for the tests of libdnprof-walk: its own class id, and of
 * dnprof only the public header and the lists of the runtime's interfaces. What it does is in the
 * environment:
 *
 *	WALKER_OUT=file     one JSON object, when it ends
 *	WALKER_DO=word,...
 *		callbacks   walks in each callback
 *		threads     walks of other threads, one after the other
 *		snapshot    walks of all threads
 *		seeds=N     bad seeds
 *		noflag      without COR_PRF_ENABLE_STACK_SNAPSHOT
 *		deaf        forwards threads and nothing else
 *		late        forwards nothing for a while, and catches up then
 *		nameless    functions may be unloaded: does not ask for names
 *		anew        has one method (Truth.Exceptions.FarDown) compiled anew again and again,
 *by ReJIT
 *
 * It judges what it must, in "wrong", and writes down the rest (each distinct stack once, with its
 * count) for test_walker.py to judge by what the programs are known to do.
 */
#include <dnprof/walk.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/text.h"
#include "base/u64map.h"
#include "clr/callback.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "clr/names.h"
#include "com.h"

static struct {
	bool callbacks, threads, snapshot, noflag, deaf, late, nameless, anew;
	long seeds;
	const char *out;
} wanted;

static dnprof_walker *walker;
static _Atomic bool deaf;    /* forwards nothing now */
static _Atomic bool checked; /* that errors are what they should be */
static struct dnp_info info;

/* ---- What is wrong */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char wrong[4608];
static size_t wrong_bytes;

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	pthread_mutex_lock(&lock);
	if (wrong_bytes < 4000) {
		wrong_bytes += (size_t)sprintf(wrong + wrong_bytes, "%s\"", wrong_bytes ? "," : "");
		n = vsnprintf(wrong + wrong_bytes, 400, format, args);
		wrong_bytes += n < 400 ? (size_t)n : 399;
		wrong_bytes += (size_t)sprintf(wrong + wrong_bytes, "\"");
	}
	pthread_mutex_unlock(&lock);
	va_end(args);
}

static const char *name_of(int32_t result)
{
	const char *name = dnprof_result_name(result);

	return name ? name : "unnamed";
}

static void expect(const char *what, int32_t have, int32_t want)
{
	if (have != want)
		complain("%s: %s, not %s", what, name_of(have), name_of(want));
}

/* ---- Stacks, each distinct one once */

enum place { CLASS, EXCEPTION, ALLOCATION, JIT, GC, THREAD, OTHER, ALL, PLACES };
static const char *const place_names[] = {
	"class", "exception", "allocation", "jit", "gc", "thread", "other", "all"};

#define FRAMES_MAX 4096u

struct stack {
	int32_t result;
	uint32_t n;
	uint64_t frames[FRAMES_MAX]; /* FunctionIDs, or kinds (small numbers) of frames without */
};

struct seen {
	struct seen *next;
	enum place place;
	uint64_t count, hash;
	int32_t own_result, runtime_result;
	uint32_t own, runtime; /* frames */
	uint64_t frames[];     /* own, runtime */
};

#define BUCKETS  4096
#define SEEN_MAX 3000

static struct seen *seen[BUCKETS];
static unsigned n_seen;
static uint64_t walks[PLACES];

static uint64_t mix(uint64_t hash, const void *data, size_t n)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static void note(enum place place, const struct stack *own, const struct stack *runtime)
{
	uint32_t n = own->n + runtime->n;
	uint64_t hash = mix(0xcbf29ce484222325, &place, sizeof(place));
	struct seen *s;

	hash = mix(hash, &own->result, 4);
	hash = mix(hash, &runtime->result, 4);
	hash = mix(hash, own->frames, own->n * 8);
	hash = mix(hash, runtime->frames, runtime->n * 8);
	pthread_mutex_lock(&lock);
	walks[place]++;
	for (s = seen[hash % BUCKETS]; s && s->hash != hash; s = s->next)
		;
	if (!s && n_seen < SEEN_MAX && (s = calloc(1, sizeof(*s) + n * 8))) {
		n_seen++;
		s->hash = hash;
		s->place = place;
		s->own_result = own->result;
		s->runtime_result = runtime->result;
		s->own = own->n;
		s->runtime = runtime->n;
		memcpy(s->frames, own->frames, own->n * 8);
		memcpy(s->frames + own->n, runtime->frames, runtime->n * 8);
		s->next = seen[hash % BUCKETS];
		seen[hash % BUCKETS] = s;
	}
	if (s)
		s->count++;
	pthread_mutex_unlock(&lock);
}

/* ---- A method that is compiled anew */

#define ANEW_MOST 100 /* times; more than the library asks for at once */

static _Atomic uint64_t anew_frames; /* of code that ReJIT has made */

/* Whether a frame in code that the runtime has made at run time is told as what it is. */
static void check_anew(const struct dnprof_frame *frame)
{
	FunctionID function = 0;
	ReJITID rejit = 0;

	if (frame->kind != DNPROF_FRAME_MANAGED && frame->kind != DNPROF_FRAME_UNKNOWN)
		return;
	if (FAILED(dnp_com(info.com, GetFunctionFromIP3,
		    (const uint8_t *)(uintptr_t)(frame->ip - !frame->exact), &function, &rejit)) ||
		!rejit)
		return;
	anew_frames++;
	if (frame->function != function)
		complain("function %llx of kind %u in code that was made anew of %llx",
			(unsigned long long)frame->function, frame->kind,
			(unsigned long long)function);
}

static bool is_far_down(FunctionID function)
{
	struct dnp_method method;
	struct dnp_text text;
	char buffer[512];

	dnp_text_init(&text, buffer, sizeof(buffer));
	return SUCCEEDED(dnp_method_describe(&info, function, 0, &method, &text)) &&
		!strncmp(text.p, "Truth.Exceptions.FarDown(", 25);
}

/* Of the same IL, which the runtime takes where GetReJITParameters gives it none. */
static void compile_anew(FunctionID function)
{
	ModuleID module;
	ClassID class;
	mdMethodDef token;

	expect("a method's module",
		dnp_com(info.com, GetFunctionInfo, function, &class, &module, &token), S_OK);
	expect("a method to be compiled anew", dnp_com(info.com, RequestReJIT, 1, &module, &token),
		S_OK);
}

/* ---- Frames as they come */

struct collecting {
	struct stack *stack;
	uint64_t last_sp;
	uint32_t abort_at; /* the frame whose callback ends the walk, 0: none */
	uint32_t calls;
	bool aborted;
};

static int on_frame(const struct dnprof_frame *frame, void *context)
{
	struct collecting *c = context;

	c->calls++;
	if (c->aborted)
		complain("a frame after the callback ended the walk");
	if (frame->struct_size < sizeof(*frame))
		complain("a frame of %zu bytes", frame->struct_size);
	if (frame->registers) {
		if (frame->registers->sp <= c->last_sp)
			complain("the stack pointer fell from %llx to %llx",
				(unsigned long long)c->last_sp,
				(unsigned long long)frame->registers->sp);
		if (frame->registers->pc != frame->ip)
			complain("a frame's pc is not its ip");
		c->last_sp = frame->registers->sp;
	}
	if ((frame->kind == DNPROF_FRAME_NATIVE_RUN) != (frame->ip == 0))
		complain("ip %llx of a frame of kind %u", (unsigned long long)frame->ip,
			frame->kind);
	if (wanted.anew)
		check_anew(frame);
	if (c->stack && c->stack->n < FRAMES_MAX)
		c->stack->frames[c->stack->n++] = frame->function ? frame->function : frame->kind;
	if (c->abort_at && c->calls == c->abort_at) {
		c->aborted = true;
		return S_FALSE;
	}
	return 0;
}

static int32_t walk_here(enum dnprof_native native, uint32_t flags, struct stack *stack)
{
	struct dnprof_walk_options options = {sizeof(options), flags, native, NULL};
	struct collecting c = {.stack = stack};

	stack->n = 0;
	stack->result = dnprof_walk_self(walker, &options, on_frame, &c);
	if (c.calls && FAILED(stack->result))
		complain("%s after %u frames", name_of(stack->result), c.calls);
	return stack->result;
}

/* Ends a walk at its third frame. */
static void abort_here(void)
{
	struct collecting c = {.abort_at = 3};
	int32_t result = dnprof_walk_self(walker, NULL, on_frame, &c);

	if (!c.aborted)
		return; /* it has not so many */
	expect("a walk that the callback ended", result, DNPROF_CORPROF_E_STACKSNAPSHOT_ABORTED);
	if (c.calls != 3)
		complain("%u calls of a walk that ended at the third", c.calls);
}

/* Both ways, whole and in part. */
static void walk_in(enum place place)
{
	static __thread unsigned turn __attribute__((tls_model("global-dynamic")));
	struct stack *own = malloc(2 * sizeof(*own)), *runtime = own + 1;

	if (!own)
		return;
	walk_here(DNPROF_NATIVE_NONE, 0, own);
	walk_here(DNPROF_NATIVE_NONE, wanted.noflag ? 0 : DNPROF_WALK_BY_RUNTIME, runtime);
	note(place, own, runtime);
	if (turn++ % 8 == 0) {
		uint32_t none = own->n, leaf;

		walk_here(DNPROF_NATIVE_LEAF, 0, own);
		leaf = own->n;
		walk_here(DNPROF_NATIVE_ALL, 0, own);
		if (own->n < leaf || leaf + 1 < none)
			complain("%u frames with all native ones, %u with the leaf's, %u without",
				own->n, leaf, none);
		walk_here(DNPROF_NATIVE_ALL, wanted.noflag ? 0 : DNPROF_WALK_BY_RUNTIME, runtime);
		if (runtime->n && own->n && runtime->frames[0] != own->frames[0])
			complain("the first frame is %llx, by the runtime %llx",
				(unsigned long long)own->frames[0],
				(unsigned long long)runtime->frames[0]);
		abort_here();
	}
	free(own);
}

/* ---- Threads that the host knows */

#define THREADS_MAX 4096

static struct {
	ThreadID id;
	int tid;
} known[THREADS_MAX];
static unsigned n_known;
static _Atomic ThreadID dead; /* one that has been destroyed, and not made again */

static void add_thread(ThreadID id, int tid)
{
	pthread_mutex_lock(&lock);
	if (n_known < THREADS_MAX) {
		known[n_known].id = id;
		known[n_known++].tid = tid;
	}
	pthread_mutex_unlock(&lock);
}

static void remove_thread(ThreadID id)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_known; i++)
		if (known[i].id == id)
			known[i--] = known[--n_known];
	dead = id;
	pthread_mutex_unlock(&lock);
}

static ThreadID nth_thread(unsigned n)
{
	ThreadID id;

	pthread_mutex_lock(&lock);
	id = n_known ? known[n % n_known].id : 0;
	pthread_mutex_unlock(&lock);
	return id;
}

/* ---- Results by name, of other threads' walks and of seeds */

#define RESULTS_MAX 16

static struct results {
	struct {
		int32_t result;
		uint64_t n;
	} of[RESULTS_MAX];
	uint64_t frames;
} other_results, all_results, seed_results;

static void count(struct results *results, int32_t result)
{
	for (size_t i = 0; i < RESULTS_MAX; i++) {
		if (results->of[i].n && results->of[i].result != result)
			continue;
		results->of[i].result = result;
		results->of[i].n++;
		return;
	}
}

/* ---- Bad seeds */

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

#define CODES_MAX 512
static _Atomic uint64_t codes[CODES_MAX]; /* addresses in managed code that walks have shown */
static _Atomic unsigned n_codes;
static _Atomic uint64_t stacks[64]; /* stack pointers of threads that were walked */
static _Atomic unsigned n_stacks;
static uintptr_t unmapped;

static int learn_frame(const struct dnprof_frame *frame, void *context)
{
	(void)context;
	if (wanted.anew)
		check_anew(frame);
	if (frame->function)
		codes[n_codes++ % CODES_MAX] = frame->ip;
	if (frame->registers)
		stacks[n_stacks++ % DNP_ARRAY_SIZE(stacks)] = frame->registers->sp;
	return 0;
}

static uint64_t some_code(void)
{
	return n_codes ? codes[random_number() % (n_codes < CODES_MAX ? n_codes : CODES_MAX)]
		       : random_number();
}

static uint64_t some_stack(void)
{
	unsigned n = n_stacks < DNP_ARRAY_SIZE(stacks) ? n_stacks : DNP_ARRAY_SIZE(stacks);

	return n ? stacks[random_number() % n] : random_number();
}

/* An address of some kind; `here` is on the stack of the thread that is walked. */
static uint64_t some_address(uint64_t here)
{
	switch (random_number() % 9) {
	case 0: return random_number();
	case 1: return random_number() & 0x7fffffffffff;
	case 2: return unmapped + random_number() % 65536;
	case 3: return some_stack() + random_number() % 4096;
	case 4: return some_code() + random_number() % 64 - 32;
	case 5: return (uintptr_t)on_frame + random_number() % 256;
	case 6: return random_number() % 3 ? 0 : UINT64_MAX - random_number() % 4096;
	default: return (here + random_number() % 16384) & ~UINT64_C(7);
	}
}

static void bad_seed(ThreadID thread, uint64_t here)
{
	struct dnprof_registers seed = {
		.struct_size = sizeof(seed),
		.pc = random_number() % 4 ? some_code() + random_number() % 32 : some_address(here),
		.sp = random_number() % 3 ? (here + random_number() % 8192) & ~UINT64_C(7)
					  : some_address(here),
		.bp = some_address(here),
		.bx = some_address(here),
		.r10 = some_address(here),
	};
	struct dnprof_walk_options options = {sizeof(options), 0, DNPROF_NATIVE_ALL, &seed};
	struct stack *stack = NULL;
	struct collecting c = {.stack = stack};
	int32_t result = thread ? dnprof_walk_thread(walker, thread, &options, on_frame, &c)
				: dnprof_walk_self(walker, &options, on_frame, &c);

	count(&seed_results, result);
	seed_results.frames += c.calls;
	if (!c.calls != !SUCCEEDED(result))
		complain("%s with %u frames from a seed", name_of(result), c.calls);
}

/* On a stack full of what a wrong walk might take for something. */
static void bad_seeds(long n)
{
	volatile uint64_t garbage[2048];

	for (long i = 0; i < n; i++) {
		if (i % 1000 == 0)
			for (size_t k = 0; k < DNP_ARRAY_SIZE(garbage); k++)
				garbage[k] = some_address((uintptr_t)garbage);
		/* Others are walked less often: each may have to be stopped. */
		bad_seed(i % 64 ? 0 : nth_thread((unsigned)i / 64),
			i % 64 ? (uintptr_t)garbage : some_stack());
	}
	(void)garbage[random_number() % DNP_ARRAY_SIZE(garbage)];
}

/* ---- The host's own thread, which never runs managed code */

static pthread_t own_thread;
static _Atomic bool stop, ending, seeds_done;
static struct dnprof_snapshot snapshots; /* added up */
static uint64_t n_snapshots;

static void walk_other(ThreadID thread)
{
	struct dnprof_walk_options options = {sizeof(options), 0, DNPROF_NATIVE_NONE, NULL};
	static struct stack own, none;
	struct collecting c = {.stack = &own};

	own.n = 0;
	own.result = dnprof_walk_thread(walker, thread, &options, on_frame, &c);
	count(&other_results, own.result);
	other_results.frames += c.calls;
	if (SUCCEEDED(own.result))
		note(OTHER, &own, &none);
	dnprof_walk_thread(walker, thread, NULL, learn_frame, NULL);
}

static void abort_other(ThreadID thread)
{
	struct collecting c = {.abort_at = 2};
	int32_t result = dnprof_walk_thread(walker, thread, NULL, on_frame, &c);

	if (c.aborted)
		expect("a walk of another thread that the callback ended", result,
			DNPROF_CORPROF_E_STACKSNAPSHOT_ABORTED);
}

/* Before the runtime has started (g_fEEStarted) it walks nobody, whatever it is asked. */
static bool is_not_yet(int32_t result)
{
	return result == DNPROF_CORPROF_E_STACKSNAPSHOT_UNSAFE && !usleep(1000);
}

/* What can be expected to fail, from a thread that may walk others. */
static void check_errors(void)
{
	struct dnprof_registers seed = {
		.struct_size = sizeof(seed), .pc = (uintptr_t)check_errors, .sp = (uintptr_t)&seed};
	struct dnprof_walk_options options = {sizeof(options), 0, DNPROF_NATIVE_ALL, &seed};
	struct collecting c = {0};
	ThreadID thread = nth_thread(0), gone;
	int32_t result;

	expect("a native seed here", dnprof_walk_self(walker, &options, on_frame, &c),
		DNPROF_CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX);
	expect("a thread never told of", dnprof_walk_thread(walker, 12345, NULL, on_frame, &c),
		DNPROF_CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
	gone = dead;
	result = gone ? dnprof_walk_thread(walker, gone, NULL, learn_frame, NULL) : 0;
	if (gone && dead == gone)
		expect("a dead thread", result, DNPROF_CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
	expect("no callback", dnprof_walk_thread(walker, thread, NULL, NULL, NULL),
		DNPROF_E_INVALIDARG);
	expect("no walker", dnprof_walk_thread(NULL, thread, NULL, on_frame, &c),
		DNPROF_E_INVALIDARG);
	expect("a seed for all threads",
		dnprof_walk_all(walker, &options, on_frame, NULL, &c, NULL), DNPROF_E_INVALIDARG);
	if (thread) {
		expect("a native seed there",
			dnprof_walk_thread(walker, thread, &options, on_frame, &c),
			DNPROF_CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX);
		options.seed = NULL;
		options.flags = DNPROF_WALK_BY_RUNTIME;
		/* On Linux never. */
		do
			result = dnprof_walk_thread(walker, thread, &options, on_frame, &c);
		while (is_not_yet(result));
		expect("the runtime's walk of another thread that runs", result,
			wanted.noflag ? DNPROF_CORPROF_E_INCONSISTENT_WITH_FLAGS
				      : DNPROF_E_NOTIMPL);
	}
	if (c.calls)
		complain("%u frames from walks that failed", c.calls);
	options.flags = DNPROF_WALK_BY_RUNTIME;
	options.seed = NULL;
	if (wanted.noflag) {
		do
			result = dnprof_walk_self(walker, &options, on_frame, &c);
		while (is_not_yet(result));
		expect("the runtime's walk without the flag", result,
			DNPROF_CORPROF_E_INCONSISTENT_WITH_FLAGS);
		expect("all threads without the flag",
			dnprof_walk_all(walker, NULL, on_frame, NULL, &c, NULL),
			DNPROF_CORPROF_E_INCONSISTENT_WITH_FLAGS);
	}
}

/* ---- All threads */

struct all {
	struct stack stack;
	struct collecting collecting;
	uint32_t threads;
};

static int on_frame_of_all(const struct dnprof_frame *frame, void *context)
{
	struct all *all = context;

	if (!frame->thread)
		complain("a frame of no thread");
	all->collecting.stack = &all->stack;
	return on_frame(frame, &all->collecting);
}

static int on_thread_of_all(uint64_t thread, int32_t result, void *context)
{
	static struct stack none;
	struct all *all = context;

	if (!thread)
		complain("the end of no thread");
	count(&all_results, result);
	all->stack.result = result;
	if (SUCCEEDED(result))
		note(ALL, &all->stack, &none);
	all->stack.n = 0;
	all->collecting = (struct collecting){0};
	all->threads++;
	return 0;
}

static void walk_all(void)
{
	static struct all all;
	struct dnprof_walk_options options = {sizeof(options), 0, DNPROF_NATIVE_NONE, NULL};
	struct dnprof_snapshot snapshot = {.struct_size = sizeof(snapshot)};
	int32_t result;

	memset(&all, 0, sizeof(all));
	result = dnprof_walk_all(
		walker, &options, on_frame_of_all, on_thread_of_all, &all, &snapshot);
	snapshots.refused += snapshot.refused;
	if (FAILED(result)) {
		/* The runtime may not have started yet, or collect without end. */
		if (result != DNPROF_CORPROF_E_SUSPENSION_IN_PROGRESS &&
			result != DNPROF_CORPROF_E_STACKSNAPSHOT_UNSAFE)
			complain("all threads: %s", name_of(result));
		return;
	}
	n_snapshots++;
	snapshots.threads += snapshot.threads;
	snapshots.failed += snapshot.failed;
	snapshots.suspended_ns += snapshot.suspended_ns;
	if (snapshot.threads != all.threads)
		complain("%u threads told, %u counted", all.threads, snapshot.threads);
}

static void *run_own(void *context)
{
	const struct timespec pause = {0, 1000000};

	(void)context;
	for (unsigned turn = 0; !atomic_load(&stop); turn++) {
		ThreadID thread = nth_thread(turn);

		dnprof_walker_refresh(walker);
		if (thread && wanted.threads) {
			walk_other(thread);
			if (turn % 16 == 0)
				abort_other(thread);
		}
		if (thread && wanted.snapshot && turn % 4 == 0)
			walk_all();
		if (turn == 20 && wanted.late) {
			/* From now on, so that nothing is missed in between. */
			atomic_store(&deaf, false);
			expect("catching up", dnprof_walker_catch_up(walker), S_OK);
		}
		if (turn == 40) {
			check_errors();
			atomic_store(&checked, true);
		}
		/* They are made of what walks have shown: without that all would be plain noise. */
		if (turn > 40 && wanted.seeds && !atomic_load(&seeds_done) &&
			((n_codes && n_stacks) || atomic_load(&ending))) {
			bad_seeds(wanted.seeds);
			atomic_store(&seeds_done, true);
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* ---- What the runtime calls */

static HRESULT DNP_COM on_class(ICorProfilerCallback *self, ClassID class, HRESULT status)
{
	(void)self;
	(void)class;
	(void)status;
	if (wanted.callbacks)
		walk_in(CLASS);
	return S_OK;
}

static HRESULT DNP_COM on_exception(ICorProfilerCallback *self, ObjectID object)
{
	(void)self;
	(void)object;
	if (wanted.callbacks)
		walk_in(EXCEPTION);
	return S_OK;
}

static HRESULT DNP_COM on_allocated(ICorProfilerCallback *self, ObjectID object, ClassID class)
{
	static _Atomic unsigned n;

	(void)self;
	(void)object;
	(void)class;
	if (n++ % 128 == 0)
		walk_in(ALLOCATION);
	return S_OK;
}

static HRESULT DNP_COM on_compiling(ICorProfilerCallback *self, FunctionID function, BOOL blocking)
{
	(void)self;
	(void)function;
	(void)blocking;
	if (wanted.callbacks)
		walk_in(JIT);
	return S_OK;
}

static HRESULT DNP_COM on_gc(
	ICorProfilerCallback *self, int n, BOOL *generations, COR_PRF_GC_REASON reason)
{
	(void)self;
	(void)n;
	(void)generations;
	(void)reason;
	if (wanted.callbacks)
		walk_in(GC);
	return S_OK;
}

static HRESULT DNP_COM on_compiled(
	ICorProfilerCallback *self, FunctionID function, HRESULT status, BOOL blocking)
{
	static _Atomic unsigned requested;

	(void)self;
	(void)blocking;
	if (SUCCEEDED(status) && !atomic_load(&deaf))
		dnprof_walker_method_compiled(walker, function, 0);
	if (wanted.anew && is_far_down(function) && requested++ < ANEW_MOST)
		compile_anew(function);
	return S_OK;
}

static HRESULT DNP_COM on_compiled_anew(ICorProfilerCallback *self, FunctionID function,
	ReJITID rejit, HRESULT status, BOOL blocking)
{
	(void)rejit;
	return on_compiled(self, function, status, blocking);
}

static HRESULT DNP_COM on_dynamic_compiled(
	ICorProfilerCallback *self, FunctionID function, HRESULT status, BOOL blocking)
{
	(void)self;
	(void)blocking;
	if (SUCCEEDED(status) && !atomic_load(&deaf))
		dnprof_walker_method_compiled(walker, function, 1);
	return S_OK;
}

static HRESULT DNP_COM on_dynamic_unloaded(ICorProfilerCallback *self, FunctionID function)
{
	(void)self;
	if (!wanted.deaf)
		dnprof_walker_dynamic_method_unloaded(walker, function);
	return S_OK;
}

static HRESULT DNP_COM on_module(ICorProfilerCallback *self, ModuleID module, HRESULT status)
{
	(void)self;
	if (SUCCEEDED(status) && !atomic_load(&deaf))
		dnprof_walker_module_loaded(walker, module);
	return S_OK;
}

static HRESULT DNP_COM on_module_unloading(ICorProfilerCallback *self, ModuleID module)
{
	(void)self;
	if (!wanted.deaf)
		dnprof_walker_module_unloading(walker, module);
	return S_OK;
}

static HRESULT DNP_COM on_thread(ICorProfilerCallback *self, ThreadID thread, uint32_t tid)
{
	static _Atomic bool tried;
	struct collecting c = {0};
	ThreadID other = nth_thread(0);

	(void)self;
	if (thread == dead)
		dead = 0; /* its id is used again */
	dnprof_walker_thread_assigned(walker, thread, tid);
	if (wanted.callbacks)
		walk_in(THREAD);
	/* A thread that the runtime knows may not walk another one. */
	if (other && other != thread && !atomic_exchange(&tried, true))
		expect("a walk of another thread by a managed one",
			dnprof_walk_thread(walker, other, NULL, on_frame, &c),
			DNPROF_CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
	add_thread(thread, (int)tid);
	return S_OK;
}

static HRESULT DNP_COM on_thread_destroyed(ICorProfilerCallback *self, ThreadID thread)
{
	(void)self;
	dnprof_walker_thread_destroyed(walker, thread);
	remove_thread(thread);
	return S_OK;
}

/* ---- Start */

static void read_wishes(void)
{
	const char *text = getenv("WALKER_DO"), *seeds = text ? strstr(text, "seeds=") : NULL;

	wanted.out = getenv("WALKER_OUT");
	if (!text)
		return;
	wanted.callbacks = strstr(text, "callbacks");
	wanted.threads = strstr(text, "threads");
	wanted.snapshot = strstr(text, "snapshot");
	wanted.noflag = strstr(text, "noflag");
	wanted.deaf = strstr(text, "deaf");
	wanted.late = strstr(text, "late");
	wanted.nameless = strstr(text, "nameless");
	wanted.anew = strstr(text, "anew");
	atomic_store(&deaf, wanted.deaf || wanted.late);
	wanted.seeds = seeds ? atol(seeds + 6) : 0;
}

/* Errors of opening, and that a walker can be closed and opened again. */
static HRESULT open_walker(void *unknown)
{
	struct dnprof_walker_options shallow = {sizeof(shallow), 1}, deep = {sizeof(deep), 4096};
	struct dnprof_walk_options by_runtime = {
		sizeof(by_runtime), DNPROF_WALK_BY_RUNTIME, DNPROF_NATIVE_NONE, NULL};
	struct dnprof_walk_options strange = {sizeof(strange), 1u << 31, DNPROF_NATIVE_ALL, NULL};
	struct collecting c = {0};
	HRESULT hr;

	expect("nothing to open", dnprof_walker_open(NULL, NULL, &walker), DNPROF_E_INVALIDARG);
	expect("a depth of 1", dnprof_walker_open(unknown, &shallow, &walker), DNPROF_E_INVALIDARG);
	expect("opening", dnprof_walker_open(unknown, NULL, &walker), S_OK);
	dnprof_walker_close(walker);
	hr = dnprof_walker_open(unknown, &deep, &walker);
	expect("opening again", hr, S_OK);
	if (FAILED(hr))
		return hr;
	expect("opening twice", dnprof_walker_open(unknown, NULL, &(dnprof_walker *){NULL}),
		DNPROF_CORPROF_E_PROFILER_ALREADY_ACTIVE);
	expect("no callback", dnprof_walk_self(walker, NULL, NULL, NULL), DNPROF_E_INVALIDARG);
	expect("no walker", dnprof_walk_self(NULL, NULL, on_frame, &c), DNPROF_E_INVALIDARG);
	expect("an unknown flag", dnprof_walk_self(walker, &strange, on_frame, &c),
		DNPROF_E_INVALIDARG);
	strange.struct_size = 0;
	expect("options without a size", dnprof_walk_self(walker, &strange, on_frame, &c),
		DNPROF_E_INVALIDARG);
	expect("the runtime's walk before it has started",
		dnprof_walk_self(walker, &by_runtime, on_frame, &c),
		DNPROF_CORPROF_E_STACKSNAPSHOT_UNSAFE);
	if (c.calls)
		complain("%u frames from walks that failed", c.calls);
	return S_OK;
}

static HRESULT DNP_COM on_initialize(ICorProfilerCallback *self, IUnknown *unknown)
{
	uint32_t low = COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_MODULE_LOADS |
		COR_PRF_MONITOR_THREADS;
	uint32_t high = COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS | COR_PRF_HIGH_BASIC_GC;
	HRESULT hr;

	(void)self;
	read_wishes();
	unmapped = (uintptr_t)mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (wanted.callbacks)
		low |= COR_PRF_MONITOR_CLASS_LOADS | COR_PRF_MONITOR_EXCEPTIONS |
			COR_PRF_MONITOR_OBJECT_ALLOCATED | COR_PRF_ENABLE_OBJECT_ALLOCATED;
	if (!wanted.noflag)
		low |= COR_PRF_ENABLE_STACK_SNAPSHOT;
	if (wanted.anew)
		low |= COR_PRF_ENABLE_REJIT;
	hr = dnp_info_open(&info, unknown);
	if (SUCCEEDED(hr))
		hr = dnp_com(info.com, SetEventMask2, low, high);
	if (SUCCEEDED(hr))
		hr = open_walker(unknown);
	if (SUCCEEDED(hr) && pthread_create(&own_thread, NULL, run_own, NULL))
		hr = E_FAIL;
	return hr;
}

/* ---- End */

static const char *const kind_names[] = {"[unknown]", "[managed]", "[ahead]", "[dynamic]",
	"[native]", "[stub]", [DNPROF_FRAME_NATIVE_RUN] = "[run]"};

static struct dnp_u64map names; /* FunctionID → offset in name_text, plus 1 */
static char name_text[4 << 20];
static size_t name_bytes = 1;

static const char *function_name(uint64_t function)
{
	const uint32_t *known_at = dnp_u64map_get(&names, function);
	struct dnp_method method;
	struct dnp_text text;
	char buffer[2048];
	size_t at = name_bytes;

	if (function < DNP_ARRAY_SIZE(kind_names) && kind_names[function])
		return kind_names[function];
	if (known_at)
		return name_text + *known_at;
	if (wanted.nameless)
		return "[nameless]";
	dnp_text_init(&text, buffer, sizeof(buffer));
	if (FAILED(dnp_method_describe(&info, function, 0, &method, &text)))
		return "[unnamed]";
	if (name_bytes + text.n + 1 > sizeof(name_text))
		return "[too many]";
	memcpy(name_text + at, text.p, text.n);
	name_bytes += text.n + 1;
	dnp_u64map_put(&names, function, (uint32_t)at);
	return name_text + at;
}

static void write_string(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc((unsigned char)*text < 32 ? ' ' : *text, out);
	}
	putc('"', out);
}

/* [name, how often in a row], … */
static void write_frames(FILE *out, const char *key, const uint64_t *frames, uint32_t n)
{
	fprintf(out, ",\"%s\":[", key);
	for (uint32_t i = 0; i < n;) {
		uint32_t same = 1;

		while (i + same < n && frames[i + same] == frames[i])
			same++;
		fprintf(out, "%s[", i ? "," : "");
		write_string(out, function_name(frames[i]));
		fprintf(out, ",%u]", same);
		i += same;
	}
	fprintf(out, "]");
}

static void write_results(FILE *out, const char *key, const struct results *results)
{
	fprintf(out, ",\"%s\":{\"frames\":%llu", key, (unsigned long long)results->frames);
	for (size_t i = 0; i < RESULTS_MAX && results->of[i].n; i++)
		fprintf(out, ",\"%s\":%llu", name_of(results->of[i].result),
			(unsigned long long)results->of[i].n);
	fprintf(out, "}");
}

static void write_report(FILE *out)
{
	bool first = true;

	fprintf(out, "{\"wrong\":[%s],\"checked\":%d,\"anew\":%llu", wrong, atomic_load(&checked),
		(unsigned long long)anew_frames);
	write_results(out, "other", &other_results);
	write_results(out, "threads", &all_results);
	write_results(out, "seeds", &seed_results);
	fprintf(out, ",\"snapshots\":{\"n\":%llu,\"threads\":%u,\"failed\":%u,\"refused\":%u}",
		(unsigned long long)n_snapshots, snapshots.threads, snapshots.failed,
		snapshots.refused);
	fprintf(out, ",\"walks\":{");
	for (size_t i = 0; i < PLACES; i++)
		fprintf(out, "%s\"%s\":%llu", i ? "," : "", place_names[i],
			(unsigned long long)walks[i]);
	fprintf(out, "},\"stacks\":[");
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct seen *s = seen[i]; s; s = s->next, first = false) {
			fprintf(out, "%s\n{\"place\":\"%s\",\"count\":%llu", first ? "" : ",",
				place_names[s->place], (unsigned long long)s->count);
			fprintf(out, ",\"result\":\"%s\",\"runtime_result\":\"%s\"",
				name_of(s->own_result), name_of(s->runtime_result));
			write_frames(out, "own", s->frames, s->own);
			write_frames(out, "runtime", s->frames + s->own, s->runtime);
			fprintf(out, "}");
		}
	fprintf(out, "]}\n");
}

static HRESULT DNP_COM on_shutdown(ICorProfilerCallback *self)
{
	FILE *out;

	(void)self;
	atomic_store(&ending, true);
	while (wanted.seeds && !atomic_load(&seeds_done))
		usleep(1000);
	atomic_store(&stop, true);
	pthread_join(own_thread, NULL);
	wanted.callbacks = false;
	out = wanted.out ? fopen(wanted.out, "w") : NULL;
	if (out) {
		write_report(out);
		fclose(out);
	}
	return S_OK;
}

/* ---- The object that the runtime calls */

static struct ICorProfilerCallbackVtbl table = {
	.Initialize = on_initialize,
	.Shutdown = on_shutdown,
	.ClassLoadFinished = on_class,
	.ExceptionThrown = on_exception,
	.ObjectAllocated = on_allocated,
	.JITCompilationStarted = on_compiling,
	.JITCompilationFinished = on_compiled,
	.ReJITCompilationFinished = on_compiled_anew,
	.DynamicMethodJITCompilationFinished = on_dynamic_compiled,
	.DynamicMethodUnloaded = on_dynamic_unloaded,
	.GarbageCollectionStarted = on_gc,
	.ModuleLoadFinished = on_module,
	.ModuleUnloadStarted = on_module_unloading,
	.ThreadAssignedToOSThread = on_thread,
	.ThreadDestroyed = on_thread_destroyed,
};

ICorProfilerCallback *profiler_callback(void)
{
	static ICorProfilerCallback callback = {.vtbl = &table};

	dnp_callback_complete(&table);
	return &callback;
}
