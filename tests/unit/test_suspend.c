/* SPDX-License-Identifier: MIT */
/*
 * The engine that suspends threads one by one, against a runtime of ours that looks at what it is
 * asked for, and when. A few bytes of code play a managed method, which calls native code.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clean.h"
#include "capture/engine.h"
#include "capture/managed.h"
#include "clr/codemap.h"
#include "clr/context.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "os/clock.h"
#include "os/thread.h"
#include "unwind/managed.h"
#include "unwind/native.h"
#include "unwind/suspended.h"
#include "unwind/target.h"

#include "test.h"
#include "win_threads.h"

#define WORKER   UINT64_C(0x1000) /* their ThreadIDs */
#define SLEEPER  UINT64_C(0x2000)
#define BRIEF    UINT64_C(0x4000)
#define FUNCTION UINT64_C(0x3000)

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

/* ---- The program: a thread that works, in native code below a managed method, and one that rests
 */

static struct {
	uint8_t *code; /* the method's */
	struct dnp_thread *worker, *sleeper;
	void *worker_handle;
	_Atomic int worker_tid, sleeper_tid, stop;
	void (*work)(void); /* what the method calls */
} program;

static const struct dnp_engine *engine;

static void spin(void)
{
	while (!atomic_load(&program.stop))
		;
}

/* sub rsp, 40; mov rax, work; call rax; add rsp, 40; ret */
static void make_code(void)
{
	static const uint8_t before[] = {0x48, 0x83, 0xec, 0x28, 0x48, 0xb8},
			     behind[] = {0xff, 0xd0, 0x48, 0x83, 0xc4, 0x28, 0xc3};
	uint8_t *code = win_code_new(4096);
	uintptr_t work = (uintptr_t)program.work;

	memcpy(code, before, sizeof(before));
	memcpy(code + sizeof(before), &work, sizeof(work));
	memcpy(code + sizeof(before) + sizeof(work), behind, sizeof(behind));
	program.code = code;
}

/* `leaves`: walks know how to leave its frame. */
static void tell_of_code(bool leaves)
{
	struct dnp_code code = {.begin = (uintptr_t)program.code, .bytes = 64, .method = 1};

	if (leaves)
		code.rule = (struct dnp_rule){.cfa = DNP_CFA_SP, .off = 48};
	CHECK_EQ(dnp_codemap_add(dnp_walk_codemap(), &code, 1), 0);
}

static void run_worker(void *context)
{
	(void)context;
	atomic_store(&program.worker_tid, dnp_thread_id());
	((void (*)(void))(uintptr_t)program.code)();
}

static void run_sleeper(void *context)
{
	(void)context;
	atomic_store(&program.sleeper_tid, dnp_thread_id());
	win_sleep_for_ever();
}

static struct dnp_thread *begin(void (*run)(void *), _Atomic int *tid, void **handle)
{
	struct dnp_thread *thread;
	int is_new;

	*handle = win_thread_new(run, NULL);
	WAIT(atomic_load(tid));
	thread = dnp_thread_begin(atomic_load(tid), &is_new);
	CHECK(thread);
	atomic_fetch_or(&thread->flags, DNP_THREAD_MANAGED);
	return thread;
}

/* ---- The runtime */

static struct {
	_Atomic unsigned walks;           /* it was asked, the worker standing */
	_Atomic unsigned first, unseeded; /* … nobody standing; … without a seed */
	_Atomic unsigned early;           /* asked of one that stood, before one that did not */
	_Atomic unsigned others;          /* asked about whom nobody told of */
	_Atomic uintptr_t seed_pc, seed_sp;
	_Atomic int answered, held;
	/* What it is to do. */
	_Atomic unsigned refuse; /* so many walks of threads that do not stand */
	HRESULT result;          /* of all others; S_OK: a frame */
	uint64_t above;          /* its stack pointer is so much higher than it is */
	_Atomic int hold;
} runtime;

static HRESULT walk_at_rest(StackSnapshotCallback *frame, void *data)
{
	atomic_fetch_add(&runtime.first, 1);
	if (atomic_load(&runtime.refuse)) {
		atomic_fetch_sub(&runtime.refuse, 1);
		return CORPROF_E_STACKSNAPSHOT_UNSAFE;
	}
	atomic_store(&runtime.answered, 1);
	frame(FUNCTION, (uintptr_t)program.code, 0, 0, NULL, data);
	return S_OK;
}

static void look_at_seed(const uint8_t *context)
{
	if (!context) {
		atomic_fetch_add(&runtime.unseeded, 1);
		return;
	}
	atomic_store(&runtime.seed_pc, dnp_context_get(context, DNP_CONTEXT_RIP));
	atomic_store(&runtime.seed_sp, dnp_context_get(context, DNP_CONTEXT_RSP));
}

static void raise_stack_pointer(uint8_t *context)
{
	uint64_t sp = dnp_context_get(context, DNP_CONTEXT_RSP) + runtime.above;

	memcpy(context + DNP_CONTEXT_RSP, &sp, sizeof(sp));
}

static HRESULT DNP_COM walk(ICorProfilerInfo *self, ThreadID thread, StackSnapshotCallback *frame,
	uint32_t flags, void *data, uint8_t *context, uint32_t context_size)
{
	(void)self;
	(void)flags;
	(void)context_size;
	if (thread == SLEEPER)
		return walk_at_rest(frame, data);
	if (thread != WORKER)
		atomic_fetch_add(&runtime.others, 1);
	if (!win_thread_suspensions(program.worker_handle))
		return walk_at_rest(frame, data);
	atomic_fetch_add(&runtime.early, !atomic_load(&runtime.answered));
	look_at_seed(context);
	atomic_fetch_add(&runtime.walks, 1);
	while (atomic_load(&runtime.hold))
		atomic_store(&runtime.held, 1);
	if (FAILED(runtime.result))
		return runtime.result;
	if (runtime.above)
		raise_stack_pointer(context);
	frame(FUNCTION, (uintptr_t)program.code + 16, 0, context_size, context, data);
	return S_OK;
}

static struct dnp_info info;

static void prepare(void (*work)(void), bool leaves)
{
	static struct ICorProfilerInfoVtbl table = {.DoStackSnapshot = walk};
	static ICorProfilerInfo com = {.vtbl = &table};
	void *sleeper;

	info = (struct dnp_info){.com = &com, .version = 15};
	program.work = work;
	make_code();
	CHECK(dnp_native_refresh() >= 0);
	tell_of_code(leaves);
	dnp_threads_init(64, DNP_EVENTS_MAX);
	program.worker = begin(run_worker, &program.worker_tid, &program.worker_handle);
	program.sleeper = begin(run_sleeper, &program.sleeper_tid, &sleeper);
}

static uint32_t depth = 64;

static void start(enum dnp_engine_choice choice, const char *event)
{
	static struct dnp_agent_options options;
	static struct dnp_engine_setting setting;
	struct dnp_err err = {0};

	dnp_agent_options_init(&options);
	options.interval_ns = 1000000;
	options.depth = depth;
	setting = (struct dnp_engine_setting){.options = &options, .info = &info};
	engine = dnp_engine_find(dnp_str(event), choice, false);
	CHECK(engine);
	CHECK_EQ(engine->start(&setting, 0, &err), 0);
	engine->managed_begin(WORKER, program.worker);
	engine->managed_begin(SLEEPER, program.sleeper);
}

static uint64_t samples(void)
{
	return atomic_load(&program.worker->outside.counts[0].samples);
}

static struct {
	uint64_t unsafe, unstopped;
	int reasons;
} told;

static void note(unsigned event, const char *reason, uint64_t count)
{
	CHECK_EQ(event, 0);
	told.reasons += count != 0;
	if (!strcmp(reason, "CORPROF_E_STACKSNAPSHOT_UNSAFE"))
		told.unsafe = count;
	if (!strcmp(reason, "thread that cannot be suspended"))
		told.unstopped = count;
}

/* ---- The rules */

TEST(suspend_asks_of_nobody_who_stands_before_it_was_answered_of_one_who_does_not)
{
	prepare(spin, true);
	atomic_store(&runtime.refuse, 20);
	start(DNP_ENGINE_SNAPSHOT, "cpu");
	WAIT(runtime.walks > 10);
	engine->stop();
	CHECK_EQ(runtime.refuse, 0);
	CHECK_EQ(runtime.early, 0);
	CHECK_EQ(runtime.first, 21);
	CHECK_EQ(runtime.others, 0);
}

/* Until then there are stacks, by our own walker. */
TEST(suspend_has_stacks_of_its_own_while_it_is_not_answered)
{
	prepare(spin, true);
	atomic_store(&runtime.refuse, UINT32_MAX);
	start(DNP_ENGINE_SNAPSHOT, "cpu");
	WAIT(samples() > 20 && runtime.first > 5);
	engine->stop();
	CHECK_EQ(runtime.walks, 0);
	engine->failures(0, note);
	CHECK_EQ(told.reasons, 0);
}

TEST(suspend_seeds_with_the_topmost_managed_frame)
{
	prepare(spin, true);
	start(DNP_ENGINE_SNAPSHOT, "cpu");
	WAIT(runtime.walks > 10);
	engine->stop();
	CHECK_EQ(runtime.unseeded, 0);
	CHECK_EQ(runtime.seed_pc - (uintptr_t)program.code, 16); /* behind its call */
	CHECK(runtime.seed_sp);
}

/* Where its own walk comes to the thread's start it needs nobody. */
TEST(suspend_asks_only_where_it_has_to)
{
	prepare(spin, true);
	start(DNP_ENGINE_SUSPEND, "cpu");
	WAIT(samples() > 20);
	engine->stop();
	CHECK_EQ(runtime.walks, 0);
	CHECK_EQ(runtime.first, 0);
}

/* Nobody sees more where there is no room for it, and that is no failure. */
TEST(suspend_does_not_ask_for_what_there_is_no_room_for)
{
	prepare(spin, true);
	depth = 3;
	runtime.result = CORPROF_E_STACKSNAPSHOT_UNSAFE;
	start(DNP_ENGINE_SUSPEND, "cpu");
	WAIT(samples() > 20);
	engine->stop();
	CHECK_EQ(runtime.walks, 0);
	engine->failures(0, note);
	CHECK_EQ(told.reasons, 0);
}

TEST(suspend_asks_where_its_own_walk_ends)
{
	prepare(spin, false);
	start(DNP_ENGINE_SUSPEND, "cpu");
	WAIT(runtime.walks > 5);
	engine->stop();
	CHECK_EQ(runtime.early, 0);
	CHECK(runtime.first >= 1);
	CHECK_EQ(runtime.seed_pc - (uintptr_t)program.code, 16);
}

TEST(suspend_counts_what_is_refused_by_name)
{
	prepare(spin, false);
	runtime.result = CORPROF_E_STACKSNAPSHOT_UNSAFE;
	start(DNP_ENGINE_SUSPEND, "cpu");
	WAIT(runtime.walks > 5);
	engine->stop();
	engine->failures(0, note);
	CHECK_EQ(told.unsafe, runtime.walks);
	CHECK_EQ(told.reasons, 1);
	CHECK(samples() >= runtime.walks); /* of each there is a sample, with what was seen */
}

/* What it has, though the runtime refuses, is no failure. */
TEST(suspend_counts_no_whole_stack_as_failed)
{
	prepare(spin, true);
	runtime.result = CORPROF_E_STACKSNAPSHOT_UNSAFE;
	start(DNP_ENGINE_SNAPSHOT, "cpu");
	WAIT(runtime.walks > 5);
	engine->stop();
	engine->failures(0, note);
	CHECK_EQ(told.reasons, 0);
}

/* ---- Rings without room */

/* As many words are free as it is kept for what is told last. */
static uint64_t fill_ring(void)
{
	struct dnp_ring *ring = &program.worker->outside.ring;
	uint64_t full = ring->size - 12;

	dnp_ring_commit(ring, full);
	return full;
}

static struct dnp_sample first_sample(uint64_t at)
{
	uint64_t words[DNP_SAMPLE_WORDS];

	dnp_ring_read(&program.worker->outside.ring, at, words, DNP_SAMPLE_WORDS);
	return dnp_sample_unpack(words);
}

static uint64_t lost(void)
{
	return atomic_load(&program.worker->outside.counts[0].lost[DNP_LOSS_RING]);
}

/* Of CPU time, by its clock. */
static void let_it_use(uint64_t ns)
{
	uint64_t until_ns = dnp_thread_cpu_ns(program.worker_tid) + ns;

	WAIT(dnp_thread_cpu_ns(program.worker_tid) > until_ns);
}

/* As one that has its turn late: the time goes to the next stack. */
TEST(suspend_keeps_samples_that_there_is_no_room_for)
{
	uint64_t full;

	prepare(spin, true);
	full = fill_ring();
	start(DNP_ENGINE_SUSPEND, "cpu");
	let_it_use(300000000);
	CHECK_EQ(samples(), 0);
	dnp_ring_release(&program.worker->outside.ring, full);
	WAIT(samples());
	engine->stop();
	CHECK_EQ(lost(), 0);
	CHECK(first_sample(full).weight >= 200); /* but for what its clock has told of late */
}

/* There is room for what is told last. */
TEST(suspend_stores_what_it_has_kept_when_it_is_stopped)
{
	uint64_t full;

	prepare(spin, true);
	full = fill_ring();
	start(DNP_ENGINE_SUSPEND, "cpu");
	let_it_use(300000000);
	CHECK_EQ(samples(), 0);
	engine->stop();
	CHECK_EQ(lost(), 0);
	CHECK_EQ(samples(), 1);
	CHECK(first_sample(full).weight >= 200);
}

/* A recorder that stands still for long is not made good for: that is said. */
TEST(suspend_counts_as_lost_what_has_waited_for_long)
{
	prepare(spin, true);
	fill_ring();
	/* Nor is there room for what is told last. */
	dnp_ring_commit(&program.worker->outside.ring, program.worker->outside.ring.size - 1);
	start(DNP_ENGINE_SUSPEND, "cpu");
	WAIT(lost());
	engine->stop();
	CHECK(lost() >= 1000);
	CHECK_EQ(samples(), 0);
}

static void end_worker(void *context)
{
	_Atomic int *ended = context;

	engine->managed_end(WORKER, program.worker_tid);
	CHECK_EQ(win_thread_suspensions(program.worker_handle), 0);
	atomic_store(ended, 1);
}

TEST(suspend_lets_no_thread_end_while_it_is_walked)
{
	static _Atomic int ended;
	void *thread;
	int early;

	prepare(spin, false);
	start(DNP_ENGINE_SUSPEND, "cpu");
	WAIT(runtime.answered);
	atomic_store(&runtime.hold, 1);
	WAIT(runtime.held);
	CHECK_EQ(win_thread_suspensions(program.worker_handle), 1);
	CHECK(engine->walking_since() <= dnp_now_ns());
	thread = win_thread_new(end_worker, &ended);
	dnp_sleep_until_ns(dnp_now_ns() + 50000000);
	early = ended;
	engine->managed_end(SLEEPER, program.sleeper_tid); /* nobody looks at that one */
	atomic_store(&runtime.hold, 0);
	CHECK_EQ(early, 0);
	WAIT(ended);
	win_thread_join(thread);
	engine->stop();
	CHECK_EQ(engine->walking_since(), UINT64_MAX);
}

/* ---- Threads that end before they have their turn */

/* The engine does not get on: it waits for the runtime. */
static void keep_busy(const char *event)
{
	prepare(spin, false);
	start(DNP_ENGINE_SUSPEND, event);
	WAIT(runtime.answered);
	atomic_store(&runtime.hold, 1);
	WAIT(runtime.held);
}

static struct dnp_thread *new_thread(void)
{
	void *handle;

	atomic_store(&program.sleeper_tid, 0);
	return begin(run_sleeper, &program.sleeper_tid, &handle);
}

/* The samples that are told of a thread, each by itself. */
static uint64_t weights(struct dnp_thread *thread)
{
	struct dnp_ring *ring = &thread->outside.ring;
	uint64_t at, sum = 0, words[DNP_SAMPLE_WORDS];
	size_t n = dnp_ring_readable(ring, &at);

	for (uint64_t end = at + n; at < end;) {
		struct dnp_sample sample;

		dnp_ring_read(ring, at, words, DNP_SAMPLE_WORDS);
		sample = dnp_sample_unpack(words);
		sum += sample.weight;
		at += dnp_sample_words(&sample) + sample.written;
	}
	return sum;
}

static uint64_t samples_of(const struct dnp_thread *thread)
{
	return atomic_load(&thread->outside.counts[0].samples);
}

/* Its time is its own; but no walk was made, so none has failed. */
TEST(suspend_counts_no_walk_of_a_thread_that_ends_before_its_turn)
{
	struct dnp_thread *brief;
	uint64_t begin_ns, least_ns, most_ns;

	keep_busy("wall");
	brief = new_thread();
	engine->managed_begin(BRIEF, brief);
	begin_ns = dnp_now_ns();
	dnp_sleep_until_ns(begin_ns + 50000000);
	least_ns = dnp_now_ns() - begin_ns;
	engine->managed_end(BRIEF, brief->tid);
	most_ns = dnp_now_ns() - brief->start_ns;
	atomic_store(&runtime.hold, 0);
	engine->stop();
	engine->failures(0, note);
	CHECK_EQ(told.reasons, 0);
	CHECK_EQ(samples_of(brief), 1);
	CHECK(weights(brief) >= least_ns / 1000000);
	CHECK(weights(brief) <= most_ns / 1000000 + 1);
}

static void go_round(void)
{
	uint64_t before = samples_of(program.sleeper);

	WAIT(samples_of(program.sleeper) > before + 20);
}

/* Nobody tells of its end, as of those that native code has made. */
TEST(suspend_counts_no_walk_of_a_thread_that_has_gone)
{
	prepare(spin, true);
	atomic_store(&program.stop, 1);
	win_thread_join(program.worker_handle);
	start(DNP_ENGINE_SUSPEND, "wall");
	go_round();
	engine->stop();
	engine->failures(0, note);
	CHECK_EQ(told.reasons, 0);
}

static _Atomic int rester_tid, rester_may_go;

static void run_rester(void *context)
{
	(void)context;
	atomic_store(&rester_tid, dnp_thread_id());
	while (!atomic_load(&rester_may_go))
		dnp_sleep_until_ns(dnp_now_ns() + 1000000);
}

/* As above: its last stack holds until then, not for ever. */
TEST(suspend_tells_no_time_of_a_thread_that_has_gone)
{
	struct dnp_thread *rester;
	uint64_t most_ns;
	void *handle;

	prepare(spin, true);
	start(DNP_ENGINE_SUSPEND, "wall");
	rester = begin(run_rester, &rester_tid, &handle);
	engine->managed_begin(BRIEF, rester);
	WAIT(samples_of(rester) > 5);
	atomic_store(&rester_may_go, 1);
	win_thread_wait(handle);
	most_ns = dnp_now_ns() - rester->start_ns;
	dnp_sleep_until_ns(dnp_now_ns() + 300000000);
	go_round();
	engine->thread_end(rester);
	engine->stop();
	win_thread_join(handle);
	CHECK(weights(rester) <= most_ns / 1000000 + 1);
}

/* The system gives numbers again before the record of who had it is found to be of no use. */
TEST(suspend_tells_once_of_each_time_where_a_number_is_given_again)
{
	struct dnp_thread *first;
	uint64_t begin_ns, life_ns;

	keep_busy("wall");
	first = new_thread();
	engine->managed_begin(BRIEF, first);
	dnp_sleep_until_ns(dnp_now_ns() + 200000000);
	engine->managed_end(BRIEF, first->tid);
	life_ns = dnp_now_ns() - first->start_ns;
	dnp_sleep_until_ns(dnp_now_ns() + 200000000);
	begin_ns = dnp_now_ns();
	engine->managed_begin(BRIEF + 16, first);
	engine->managed_end(BRIEF + 16, first->tid);
	life_ns += dnp_now_ns() - begin_ns;
	atomic_store(&runtime.hold, 0);
	engine->stop();
	CHECK(weights(first) <= life_ns / 1000000 + 2);
}

/* … also where nobody has told of the end of the one before: two would live by one clock. */
TEST(suspend_looks_at_one_thread_of_each_number)
{
	uint64_t most_ns;

	prepare(spin, true);
	start(DNP_ENGINE_SUSPEND, "wall");
	WAIT(samples_of(program.sleeper) > 5);
	engine->managed_begin(BRIEF, program.sleeper);
	dnp_sleep_until_ns(dnp_now_ns() + 300000000);
	engine->stop();
	most_ns = dnp_now_ns() - program.sleeper->start_ns;
	CHECK(weights(program.sleeper) <= most_ns / 1000000 + 2);
	CHECK(weights(program.sleeper) >= 300);
}

/* One that lives, and of which there is no stack, is a failure. */
TEST(suspend_counts_a_thread_that_cannot_be_suspended)
{
	prepare(spin, true);
	win_thread_suspend_fully(program.worker_handle);
	start(DNP_ENGINE_SUSPEND, "wall");
	WAIT(samples());
	engine->stop();
	engine->failures(0, note);
	CHECK(told.unstopped >= 1);
	CHECK_EQ(told.reasons, 1);
}

static void stop_engine(void *context)
{
	_Atomic int *stopped = context;

	engine->stop();
	atomic_store(stopped, 1);
}

TEST(suspend_leaves_nobody_standing_when_it_is_stopped)
{
	static _Atomic int stopped;
	void *thread;

	prepare(spin, false);
	start(DNP_ENGINE_SUSPEND, "cpu");
	WAIT(runtime.answered);
	atomic_store(&runtime.hold, 1);
	WAIT(runtime.held);
	thread = win_thread_new(stop_engine, &stopped);
	dnp_sleep_until_ns(dnp_now_ns() + 20000000);
	CHECK_EQ(stopped, 0);
	atomic_store(&runtime.hold, 0);
	WAIT(stopped);
	win_thread_join(thread);
	CHECK_EQ(win_thread_suspensions(program.worker_handle), 0);
}

/* ---- Locks that the thread holds when it is suspended */

static _Atomic int may_hold, holds;

static void wait_for_all(void)
{
	while (!atomic_load(&may_hold))
		;
}

static void spin_with_heap(void)
{
	wait_for_all();
	win_heap_lock();
	atomic_store(&holds, 1);
	spin();
	win_heap_unlock();
}

static void spin_with_loader(void)
{
	uintptr_t cookie;

	wait_for_all();
	cookie = win_loader_lock();
	atomic_store(&holds, 1);
	spin();
	win_loader_unlock(cookie);
}

/* Nobody else gets the lock meanwhile, and the engine does not wait for it. */
static void sample_one_who_holds(void (*work)(void))
{
	uint64_t before;

	prepare(work, true);
	start(DNP_ENGINE_SUSPEND, "cpu");
	WAIT(samples()); /* threads need both locks to begin */
	atomic_store(&may_hold, 1);
	WAIT(holds);
	before = samples();
	WAIT(samples() > before + 20);
	atomic_store(&program.stop, 1);
	engine->managed_end(WORKER, program.worker_tid);
	engine->stop();
}

TEST(suspend_samples_who_holds_the_lock_of_the_heap)
{
	sample_one_who_holds(spin_with_heap);
}

TEST(suspend_samples_who_holds_the_lock_of_the_loader)
{
	sample_one_who_holds(spin_with_loader);
}

/* ---- What is wrong */

static dnp_frame_word frames[64], own[64];
static struct dnp_regs registers[64];
static struct dnp_dss_frame dss_frames[64];

static struct dnp_suspended no_walk(void)
{
	return (struct dnp_suspended){.info = &info,
		.dss = {.frames = dss_frames, .max = 64},
		.mixed = {.frames = frames, .registers = registers, .max = 64},
		.own = own};
}

static size_t managed_frames(const struct dnp_suspended *walk_)
{
	size_t n = 0;

	for (size_t i = 0; i < walk_->mixed.n; i++)
		n += dnp_frame_is_managed(frames[i]);
	return n;
}

TEST(suspend_of_a_thread_that_is_none)
{
	struct dnp_suspended walk_ = no_walk();

	CHECK_EQ(dnp_suspended_walk(0x7ffffff0, WORKER, &walk_), -ESRCH);
	CHECK_EQ(dnp_suspended_walk(0, WORKER, &walk_), -ESRCH);
	CHECK_EQ(dnp_suspended_walk(dnp_thread_id(), WORKER, &walk_), -EDEADLK);
}

/* The runtime was not told of its end: where native code made it, it finds that out late. */
TEST(suspend_of_a_thread_that_has_ended)
{
	struct dnp_suspended walk_ = no_walk();

	prepare(spin, true);
	atomic_store(&program.stop, 1);
	win_thread_join(program.worker_handle);
	CHECK_EQ(dnp_suspended_walk(program.worker_tid, WORKER, &walk_), -ESRCH);
}

/* A function that keeps its caller's rbp in the room that the caller has made. */
void saves_at_home(void);
extern _Atomic int saves_ends;
_Atomic int saves_ends;

asm(".text\n"
    ".seh_proc saves_at_home\n"
    "saves_at_home:\n"
    "sub $0x28, %rsp\n .seh_stackalloc 0x28\n"
    "mov %rbp, 0x30(%rsp)\n .seh_savereg %rbp, 0x30\n"
    ".seh_endprologue\n"
    "xor %ebp, %ebp\n"
    "0: cmpl $0, saves_ends(%rip)\n"
    "je 0b\n"
    "mov 0x30(%rsp), %rbp\n"
    "add $0x28, %rsp\n"
    "ret\n"
    ".seh_endproc\n");

/* That room lies above where the runtime says that the caller's frame begins. */
TEST(suspend_reads_what_is_saved_in_the_room_that_callers_make)
{
	struct dnp_suspended walk_ = no_walk();

	prepare(saves_at_home, true);
	walk_.ask = DNP_ASK_ALWAYS;
	CHECK_EQ(dnp_suspended_walk(program.worker_tid, WORKER, &walk_), 0);
	CHECK(walk_.asked);
	CHECK_EQ(walk_.result, S_OK);
	CHECK_EQ(walk_.mixed.stop, DNP_STOP_END);
	atomic_store(&saves_ends, 1);
}

/* Its own return address is not there until it is told to return. */
void hides_its_caller(void);
uintptr_t hidden_caller;
_Atomic int hiding_ends;

asm(".text\n"
    ".seh_proc hides_its_caller\n"
    "hides_its_caller:\n"
    ".seh_endprologue\n"
    "mov (%rsp), %rax\n"
    "movq $0, (%rsp)\n"
    "mov %rax, hidden_caller(%rip)\n"
    "0: cmpl $0, hiding_ends(%rip)\n"
    "je 0b\n"
    "mov %rax, (%rsp)\n"
    "ret\n"
    ".seh_endproc\n");

/* Nothing but the function that threads begin in has no caller. */
TEST(suspend_does_not_take_a_stack_for_whole_that_ends_amid)
{
	struct dnp_suspended walk_ = no_walk();

	prepare(hides_its_caller, true);
	WAIT(*(volatile uintptr_t *)&hidden_caller);
	walk_.ask = DNP_ASK_NEVER;
	CHECK_EQ(dnp_suspended_walk(program.worker_tid, WORKER, &walk_), 0);
	CHECK_EQ(walk_.mixed.stop, DNP_STOP_BAD_STACK);
	atomic_store(&hiding_ends, 1);
}

/* As the runtime tells it of some methods that call native code by themselves. */
TEST(suspend_knows_the_managed_frame_by_its_address_where_its_stack_pointer_is_not_known)
{
	struct dnp_suspended walk_ = no_walk();

	prepare(spin, true);
	walk_.ask = DNP_ASK_ALWAYS;
	runtime.above = 8; /* its return address is 40 bytes above */
	CHECK_EQ(dnp_suspended_walk(program.worker_tid, WORKER, &walk_), 0);
	CHECK(walk_.asked);
	CHECK_EQ(walk_.result, S_OK);
	CHECK_EQ(walk_.mixed.stop, DNP_STOP_END);
	CHECK_EQ(managed_frames(&walk_), 1);
}

static int walk_target(int tid, unsigned how, struct dnp_target_stack *stack)
{
	*stack = (struct dnp_target_stack){.frames = frames, .registers = registers, .max = 64};
	return dnp_target_walk(tid, NULL, how, stack);
}

/* Who waits is in the kernel, who works is not; both go on. */
TEST(target_says_what_a_thread_does)
{
	struct dnp_target_stack stack;

	prepare(spin, true);
	CHECK_EQ(walk_target(program.worker_tid, DNP_TARGET_STOP, &stack), 0);
	CHECK(!stack.asleep && stack.n > 1 && stack.stop == DNP_STOP_END);
	CHECK(dnp_frame_is_managed(frames[1]));
	CHECK(stack.stack.high > stack.stack.low);
	WAIT(!walk_target(program.sleeper_tid, DNP_TARGET_ASLEEP | DNP_TARGET_STOP, &stack) &&
		stack.asleep);
	CHECK_EQ(stack.stop, DNP_STOP_END);
	CHECK_EQ(stack.syscall, -1);
	CHECK_EQ(win_thread_suspensions(program.worker_handle), 0);
}

TEST(target_that_cannot_be_walked)
{
	struct dnp_target_stack stack;
	struct dnp_regs seed = {0};

	prepare(spin, true);
	CHECK_EQ(walk_target(0x7ffffff0, DNP_TARGET_STOP, &stack), -ESRCH);
	CHECK_EQ(walk_target(dnp_thread_id(), DNP_TARGET_STOP, &stack), -EDEADLK);
	CHECK_EQ(walk_target(program.worker_tid, DNP_TARGET_ASLEEP, &stack), -EAGAIN);
	CHECK_EQ(dnp_target_walk(program.worker_tid, &seed, DNP_TARGET_STOP, &stack), -ENOTSUP);
	CHECK_EQ(stack.n, 0);
	atomic_store(&program.stop, 1);
	win_thread_join(program.worker_handle);
	CHECK_EQ(walk_target(program.worker_tid, DNP_TARGET_STOP, &stack), -ESRCH);
}

/* ---- A return address that the runtime has taken away */

/*
 * As CoreCLR's, with the description that it has: a method returns here instead of to its caller.
 * The words are rcx[0] rax, rdi, rsi, rbx, rbp, r12 to r15, rdx, and rcx[10], made for the address
 * to return to.
 */
void hijack_stub(void);
/* Its own return address is taken away; it returns when it is told to. */
void is_hijacked(void);
void hijack_worker(uintptr_t *words);

/* What a runtime knows of a thread, the two words of interest amid others; and what goes on. */
uintptr_t hijacked[300];
_Atomic int hijack_returns;
static _Atomic int hijack_waits, hijack_is_back;

asm(".text\n"
    ".seh_proc hijack_stub\n"
    "hijack_stub:\n"
    ".byte 0x48, 0x8b, 0xd4\n" /* mov %rsp, %rdx */
    "push %rax\n"
    "push %rdx\n"
    "push %r15\n .seh_pushreg %r15\n"
    "push %r14\n .seh_pushreg %r14\n"
    "push %r13\n .seh_pushreg %r13\n"
    "push %r12\n .seh_pushreg %r12\n"
    "push %rbp\n .seh_pushreg %rbp\n"
    "push %rbx\n .seh_pushreg %rbx\n"
    "push %rsi\n .seh_pushreg %rsi\n"
    "push %rdi\n .seh_pushreg %rdi\n"
    "push %rax\n .seh_stackalloc 8\n"
    "mov %rsp, %rcx\n"
    "sub $0x38, %rsp\n .seh_stackalloc 0x38\n"
    ".seh_endprologue\n"
    "call hijack_worker\n"
    "add $0x38, %rsp\n"
    "pop %rax\n"
    "pop %rdi\n"
    "pop %rsi\n"
    "pop %rbx\n"
    "pop %rbp\n"
    "pop %r12\n"
    "pop %r13\n"
    "pop %r14\n"
    "pop %r15\n"
    "pop %rdx\n"
    "ret\n"
    ".seh_endproc\n"
    ".seh_proc is_hijacked\n"
    "is_hijacked:\n"
    ".seh_endprologue\n"
    "mov (%rsp), %rax\n"
    "mov %rax, 8 * 126 + hijacked(%rip)\n"
    "lea hijack_stub(%rip), %rax\n"
    "mov %rax, (%rsp)\n"
    "mov %rsp, 8 * 127 + hijacked(%rip)\n"
    "0: cmpl $0, hijack_returns(%rip)\n"
    "je 0b\n"
    "ret\n"
    ".seh_endproc\n");

__attribute__((used)) void hijack_worker(uintptr_t *words)
{
	atomic_store(&hijack_waits, 1);
	while (!atomic_load(&hijack_is_back))
		;
	words[10] = hijacked[126];
	atomic_store(&hijack_waits, 2);
	spin();
}

/* The worker's stack, `id` being what is known of the thread. */
static struct dnp_suspended walk_of_hijacked(uintptr_t id)
{
	struct dnp_suspended walk_ = no_walk();

	CHECK_EQ(dnp_suspended_walk(program.worker_tid, id, &walk_), 0);
	return walk_;
}

static void check_goes_on(void)
{
	struct dnp_suspended walk_ = walk_of_hijacked((uintptr_t)hijacked);

	CHECK_EQ(walk_.mixed.stop, DNP_STOP_END);
	CHECK_EQ(managed_frames(&walk_), 1);
}

static void check_ends(void)
{
	struct dnp_suspended walk_ = walk_of_hijacked(0);

	CHECK_EQ(walk_.mixed.stop, DNP_STOP_NO_RULE);
	CHECK_EQ(managed_frames(&walk_), 0);
}

static void prepare_hijacked(void)
{
	prepare(is_hijacked, true);
	WAIT(*(volatile uintptr_t *)&hijacked[127]);
}

TEST(suspend_goes_on_through_a_method_whose_return_address_was_taken_away)
{
	prepare_hijacked();
	check_goes_on();
	check_ends();
}

TEST(suspend_goes_on_from_where_a_return_address_was_taken_away)
{
	prepare_hijacked();
	atomic_store(&hijack_returns, 1);
	WAIT(atomic_load(&hijack_waits) == 1);
	check_goes_on();
	check_ends();
	atomic_store(&hijack_is_back, 1);
	WAIT(atomic_load(&hijack_waits) == 2);
	memset(hijacked, 0, sizeof(hijacked));
	check_goes_on();
}

static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Near something that is there, or anywhere. */
static uintptr_t some_address(uint64_t *random, const struct dnp_stack_range *stack)
{
	uintptr_t near_to[] = {stack->low, stack->high, (uintptr_t)program.code, win_ntdll(),
		(uintptr_t)&spin, 0, UINTPTR_MAX};
	uint64_t which = next(random) % (2 * DNP_ARRAY_SIZE(near_to));

	if (which >= DNP_ARRAY_SIZE(near_to))
		return next(random);
	return near_to[which] + next(random) % 0x20000 - 0x10000;
}

/* A seed is a hint: a wrong one gives fewer frames. The stack is what it is. */
TEST(walks_from_any_registers_end)
{
	uint64_t random = UINT64_C(88172645463325252);
	struct dnp_stack_range stack;
	enum dnp_walk_stop stop;

	prepare(spin, true);
	CHECK_EQ(dnp_thread_stack_find((uintptr_t)&stack, &stack.low, &stack.high), 0);
	for (int i = 0; i < 20000; i++) {
		struct dnp_regs regs = {.pc = some_address(&random, &stack),
			.sp = some_address(&random, &stack),
			.bp = some_address(&random, &stack)};
		struct dnp_stacks stacks = {.now = {(uintptr_t)&stack, stack.high}, .stands = true};
		size_t n = dnp_walk_registers(&regs, stacks, frames, registers, 64, &stop);

		CHECK(n <= 64);
	}
}
