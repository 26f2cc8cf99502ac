/* SPDX-License-Identifier: MIT */
/*
 * Why threads wait: a thread of ours looks for those whose clock stands still, and reads the stack
 * of each from outside, once, without its noticing (unwind/target.h). Since when it waits, and
 * until when, the switches tell later: then the recorder writes what became of it.
 *
 * A clock that stands from one look to the next has stood for half the shortest wait that is
 * recorded: so none of that length is missed while looks are in time, and shorter ones are dropped
 * when their length is known. capture/budget.h bounds what all of it costs.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/vec.h"
#include "capture/budget.h"
#include "capture/engine.h"
#include "capture/outside.h"
#include "capture/suspension.h"
#include "capture/wait.h"
#include "capture/wait_kind.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/modules.h"
#include "os/syscalls.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "os/watch.h"
#include "os/word.h"
#include "store/ring.h"
#include "switches/waits.h"
#include "unwind/native.h"

#define SECOND_NS  UINT64_C(1000000000)
#define CPU_SHARE  100 /* what its looks may take: one part in so many of a processor */
#define MOST       64  /* stacks that are read after one look */
#define TRIES      4   /* to read a stack that moves meanwhile */
#define RING_WORDS ((size_t)65536)
#define HEAD_WORDS 5
#define PART_NS    SECOND_NS /* a wait that goes on is told of in samples of that length */

/* Why the stack of a thread that waited is not there. */
enum failure { MOVED, NO_STACK, NO_ROOM, FAILURES };

static const char *const failure_names[FAILURES] = {
	"moved while it was read",
	"stack not readable",
	"no room for its stack",
};

/* A wait whose stack is known, on its way to the recorder; its frames follow. */
struct seen {
	uint64_t time_ns, walk_ns;
	uint64_t sleeper; /* see sleeper_of */
	int32_t tid;
	int32_t call;
	uint32_t n;
	uint8_t stop; /* enum dnp_walk_stop */
	uint8_t kind; /* enum dnp_wait_kind, by its system call */
	uint8_t held; /* the same, by the runtime's word that it holds the thread; 0: it does not */
	uint8_t unused;
};

_Static_assert(sizeof(struct seen) == HEAD_WORDS * sizeof(uint64_t), "it is a ring's words");

/* One that is not told of to its end. */
struct pending {
	uint64_t time_ns;
	uint64_t told_ns; /* samples have it up to then, 0: none does */
	uint64_t sleeper; /* below managed code; 0: it is not, or the runtime has told */
	int tid, call;
	uint32_t node;
	uint8_t flags; /* of samples */
	uint8_t kind;  /* enum dnp_wait_kind */
};

static struct {
	const struct dnp_engine_setting *setting;
	struct dnp_taker *taker; /* borrowed: the engine of switches has it */
	unsigned event;
	uint64_t least_ns;
	char note[160];
	struct dnp_own_thread thread;
	_Atomic uint32_t stopping;
	_Atomic uint64_t walking_since;
	_Atomic uint64_t failed[FAILURES];
	_Atomic uint64_t cpu_ns;    /* used by our thread */
	_Atomic uint64_t collector; /* the sleeper of who waits for it; 0: not known yet */
	uint64_t seen;              /* records written */
	struct dnp_ring ring;       /* from our thread to the recorder */
	uint64_t *words;            /* owned: the ring's; NULL: nothing is recorded */
	dnp_frame_word *frames;     /* owned: a stack as it is read; and as it is taken out */
	dnp_frame_word *taken;      /* owned */
	struct dnp_vec_of(struct pending) pending; /* the recorder's */
} wait = {.walking_since = UINT64_MAX};

/* ---- Our thread: reads stacks */

static void fail(enum failure why)
{
	atomic_fetch_add_explicit(&wait.failed[why], 1, memory_order_relaxed);
}

static void put(const struct seen *seen)
{
	uint64_t head[HEAD_WORDS], at;

	if (!dnp_ring_reserve(&wait.ring, HEAD_WORDS + seen->n, &at)) {
		fail(NO_ROOM);
		return;
	}
	memcpy(head, seen, sizeof(head));
	dnp_ring_write(&wait.ring, at, head, HEAD_WORDS);
	dnp_ring_write(&wait.ring, at + HEAD_WORDS, wait.frames, seen->n);
	dnp_ring_commit(&wait.ring, at + HEAD_WORDS + seen->n);
	if (dnp_ring_is_filling(&wait.ring))
		dnp_watch_call();
}

/* One of the program's threads has all others stopped, to collect garbage, say. */
static bool holds_others(const struct dnp_thread *thread)
{
	return atomic_load(&thread->flags) & DNP_THREAD_MANAGED &&
		dnp_suspension_is_by(thread->tid);
}

/* Whether the runtime holds the thread, or has it hold all others. */
struct hold {
	bool itself;
	enum dnp_wait_kind what_for; /* DNP_WAIT_OTHER: it does not */
};

static struct hold hold_of(const struct dnp_thread *thread)
{
	struct hold hold = {.itself = atomic_load(&thread->held)};

	if (hold.itself || holds_others(thread))
		hold.what_for = dnp_suspension_collects() ? DNP_WAIT_GC : DNP_WAIT_RUNTIME;
	return hold;
}

static bool has_collector(const struct dnp_elf_module *module)
{
	return strstr(module->path, "/libcoreclr.so") || strstr(module->path, "/libclrgc");
}

/*
 * The function that the C library sleeps for, by module and place; 0: it is not known, or not in
 * the runtime. The collector has events of its own: whoever sleeps in their function, below managed
 * code, waits for a collection, and for the others the runtime has another one. Which it is they
 * tell whom the runtime holds.
 */
static uint64_t sleeper_of(size_t n)
{
	const struct dnp_elf_module *first = NULL;

	for (size_t i = 0; i < n; i++) {
		uintptr_t pc = DNP_FRAME_ADDR(wait.frames[i]) - (i > 0);
		const struct dnp_elf_module *module = dnp_module_find(pc);
		uint64_t function;

		if (!i)
			first = module;
		if (!module || DNP_FRAME_KIND(wait.frames[i]) != DNP_WALK_NATIVE)
			return 0;
		if (module != first)
			return has_collector(module) && dnp_native_function(module, pc, &function)
				? (uint64_t)module->id << 44 | function
				: 0;
	}
	return 0;
}

static void put_stack(const struct dnp_thread *thread, const struct dnp_target_stack *stack,
	const struct hold *hold, uint64_t walk_ns)
{
	uint64_t sleeper = sleeper_of(stack->n);

	if (sleeper && hold->itself)
		atomic_store(&wait.collector, sleeper);
	put(&(struct seen){
		.time_ns = stack->time_ns,
		.walk_ns = walk_ns,
		.sleeper = sleeper,
		.tid = thread->tid,
		.call = (int32_t)stack->syscall,
		.n = (uint32_t)stack->n,
		.stop = (uint8_t)stack->stop,
		.kind = (uint8_t)dnp_wait_kind_of_call(stack->syscall, stack->argument),
		.held = (uint8_t)hold->what_for,
	});
	if (stack->stop == DNP_STOP_UNKNOWN || stack->stop == DNP_STOP_NO_RULE)
		dnp_watch_call(); /* code that is new may be known then */
}

/*
 * One that runs again, or could, does not wait, or no longer. What holds it is asked for behind the
 * walk: if it has moved by then, that may be of another wait.
 */
static void read_stack(int tid)
{
	struct dnp_thread *thread = dnp_thread_find(tid);
	struct dnp_target_stack stack;
	struct hold hold;
	uint64_t walk_ns;
	int result = thread ? -EAGAIN : -ESRCH;

	for (int i = 0; i < TRIES && result == -EAGAIN; i++) {
		result = dnp_outside_walk(thread, DNP_TARGET_ASLEEP, wait.frames, &stack, &walk_ns);
		hold = hold_of(thread);
		if (!result && dnp_thread_cpu_ns(tid) != stack.cpu_ns)
			result = -EAGAIN;
		if (result == -EAGAIN && !stack.asleep)
			break;
	}
	if (!result) {
		dnp_waits_seen(wait.taker, tid, stack.cpu_ns);
		put_stack(thread, &stack, &hold, walk_ns);
		return;
	}
	if (result == -EFAULT)
		fail(NO_STACK);
	else
		dnp_waits_again(wait.taker, tid);
}

static void look(void)
{
	int tids[MOST];
	size_t n = dnp_waits_look(wait.taker, wait.least_ns / 2, tids, MOST);

	for (size_t i = 0; i < n && !atomic_load(&wait.stopping); i++) {
		atomic_store(&wait.walking_since, dnp_now_ns());
		read_stack(tids[i]);
		atomic_store(&wait.walking_since, UINT64_MAX);
	}
}

static void rest(uint64_t ns)
{
	dnp_word_wait(&wait.stopping, 0, ns);
}

static uint64_t pause_of(const struct dnp_budget *budget)
{
	uint64_t pause_ns = wait.least_ns / 2, debt_ns = dnp_budget_debt_ns(budget);

	return debt_ns > pause_ns ? debt_ns : pause_ns;
}

static void *look_on(void *context)
{
	struct dnp_budget budget;

	(void)context;
	dnp_thread_set_name("dnprof-wait");
	dnp_budget_begin(&budget, CPU_SHARE);
	while (!atomic_load(&wait.stopping)) {
		rest(pause_of(&budget));
		look();
		dnp_budget_reckon(&budget);
		atomic_store_explicit(&wait.cpu_ns, budget.cpu_ns, memory_order_relaxed);
	}
	return NULL;
}

/* ---- The recorder: writes what became of them */

/* What managed code waits for says more than how it does that. */
static enum dnp_wait_kind kind_of(const struct seen *seen, const struct dnp_walked_node *walked)
{
	if (seen->held)
		return seen->held;
	if (walked->kind)
		return walked->kind;
	if (!walked->managed && walked->runtime)
		return DNP_WAIT_RUNTIME;
	if (seen->kind || !walked->in_runtime)
		return seen->kind;
	/* Managed code that called the runtime and did not come back. */
	return DNP_WAIT_LOCK;
}

static void take(const struct seen *seen)
{
	struct dnp_walked_node walked = wait.setting->walked(wait.event,
		&(struct dnp_walked){
			.frames = wait.taken,
			.n = seen->n,
			.stop = seen->stop,
			.time_ns = seen->time_ns,
			.walk_ns = seen->walk_ns,
		});
	unsigned flags = DNP_SAMPLE_WAITING | dnp_walk_flags((enum dnp_walk_stop)seen->stop);

	if (dnp_vec_push(&wait.pending,
		    ((struct pending){
			    .time_ns = seen->time_ns,
			    .sleeper = walked.managed && !seen->held ? seen->sleeper : 0,
			    .tid = seen->tid,
			    .call = seen->call,
			    .node = walked.node,
			    .flags = (uint8_t)flags,
			    .kind = (uint8_t)kind_of(seen, &walked),
		    })))
		fail(NO_ROOM);
}

static void take_all(void)
{
	uint64_t at, end;

	end = dnp_ring_readable(&wait.ring, &at);
	end += at;
	while (at < end) {
		uint64_t head[HEAD_WORDS];
		struct seen seen;

		dnp_ring_read(&wait.ring, at, head, HEAD_WORDS);
		memcpy(&seen, head, sizeof(seen));
		dnp_ring_read(&wait.ring, at + HEAD_WORDS, wait.taken, seen.n);
		at += HEAD_WORDS + seen.n;
		take(&seen);
		dnp_ring_release(&wait.ring, at);
	}
}

/* Samples are told of while a wait goes on, so that what hangs is seen. */
static void write_sample(
	struct dnp_writer *writer, struct pending *pending, const struct dnp_wait_time *found)
{
	uint64_t since_ns = pending->told_ns ? pending->told_ns : found->since_ns;

	if (found->until_ns <= since_ns)
		return;
	pending->told_ns = found->until_ns;
	dnp_write_sample_at(writer, found->until_ns,
		&(struct dnp_rec_sample){
			.event = wait.event,
			.thread = found->thread,
			.node = pending->node,
			.weight = found->until_ns - since_ns,
			.flags = pending->flags,
		});
}

static void write_wait(struct dnp_writer *writer, const struct pending *pending,
	const struct dnp_wait_time *found, bool over)
{
	bool collector = pending->sleeper && pending->sleeper == atomic_load(&wait.collector);

	wait.seen += over;
	dnp_write_wait(writer,
		&(struct dnp_rec_wait){
			.thread = found->thread,
			.since_ns = found->since_ns,
			.until_ns = over ? found->until_ns : 0,
			.kind = collector ? DNP_WAIT_GC : pending->kind,
			.node = pending->node,
			.call = dnp_str(dnp_syscall_name(pending->call)),
			.time_ns = pending->time_ns,
		});
}

/* Whether it is told of to its end. */
static bool tell(struct dnp_writer *writer, struct pending *pending, bool last)
{
	struct dnp_wait_time found;
	enum dnp_wait_news news =
		dnp_waits_find(wait.taker, writer, pending->tid, pending->time_ns, &found);
	bool over = news == DNP_WAIT_OVER;

	if (news == DNP_WAIT_NOT_YET)
		return false;
	if (news == DNP_WAIT_NONE) {
		fail(MOVED);
		return true;
	}
	if (found.until_ns - found.since_ns < wait.least_ns)
		return over;
	if (over || last) {
		write_sample(writer, pending, &found);
		write_wait(writer, pending, &found, over);
		return true;
	}
	if (found.until_ns - (pending->told_ns ? pending->told_ns : found.since_ns) >= PART_NS)
		write_sample(writer, pending, &found);
	return false;
}

/* After the slices, which tell how many there were. */
void dnp_wait_write_stats(struct dnp_writer *writer)
{
	if (!wait.words)
		return;
	dnp_write_wait_stats(writer,
		&(struct dnp_rec_wait_stats){
			.event = wait.event,
			.time_ns = dnp_now_ns(),
			.least_ns = wait.least_ns,
			.waits = wait.taker->waits,
			.seen = wait.seen,
			.cpu_ns = atomic_load_explicit(&wait.cpu_ns, memory_order_relaxed),
		});
}

void dnp_wait_write(struct dnp_writer *writer, int last)
{
	size_t kept = 0;

	if (!wait.words)
		return;
	take_all();
	for (size_t i = 0; i < wait.pending.n; i++) {
		struct pending *pending = &wait.pending.p[i];

		if (!tell(writer, pending, last))
			wait.pending.p[kept++] = *pending;
	}
	wait.pending.n = kept;
}

/* ---- The engine */

static size_t stack_bytes(void)
{
	return dnp_threads_depth() * sizeof(dnp_frame_word);
}

static void free_memory(void)
{
	if (wait.words)
		dnp_mem_unmap(wait.words, RING_WORDS * sizeof(uint64_t));
	if (wait.frames)
		dnp_mem_unmap(wait.frames, stack_bytes());
	if (wait.taken)
		dnp_mem_unmap(wait.taken, stack_bytes());
	dnp_vec_done(&wait.pending);
	wait.words = NULL;
	wait.frames = wait.taken = NULL;
}

void dnp_wait_close(void)
{
	free_memory();
}

static int get_memory(void)
{
	wait.words = dnp_mem_map(RING_WORDS * sizeof(uint64_t));
	wait.frames = dnp_mem_map(stack_bytes());
	wait.taken = dnp_mem_map(stack_bytes());
	if (wait.words && wait.frames && wait.taken)
		return 0;
	free_memory();
	return -ENOMEM;
}

static int start_thread(struct dnp_err *err)
{
	int failed = get_memory();

	if (failed)
		return dnp_err(err, failed, "no memory for what threads wait for");
	dnp_ring_init(&wait.ring, wait.words, RING_WORDS);
	atomic_store(&wait.stopping, 0);
	failed = dnp_own_thread_start(&wait.thread, look_on, NULL);
	if (!failed)
		return 0;
	free_memory();
	return dnp_err(
		err, failed, "the profiler's thread cannot be started: %s", strerror(-failed));
}

static int wait_start(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	struct dnp_thread_state state;
	int failed = dnp_thread_state(dnp_thread_id(), &state);

	if (failed)
		return dnp_err(err, failed,
			"the system does not tell what threads do (/proc/self/task/TID/syscall): "
			"%s; record with --wait 0",
			strerror(-failed));
	dnp_wait_close(); /* of a recording that was never begun */
	dnp_suspension_end();
	wait.setting = setting;
	wait.taker = dnp_switch_taker();
	wait.event = index;
	wait.least_ns = wait.taker->wait_ns = setting->options->wait_ns;
	wait.seen = 0;
	for (unsigned i = 0; i < FAILURES; i++)
		atomic_store(&wait.failed[i], 0);
	snprintf(wait.note, sizeof(wait.note),
		"waits of %g ms or longer; looking for them uses 1 %% of a processor at most",
		(double)wait.least_ns / 1e6);
	return start_thread(err);
}

static void wait_stop(void)
{
	atomic_store(&wait.stopping, 1);
	dnp_word_wake(&wait.stopping);
	dnp_own_thread_join(&wait.thread);
}

static bool wait_accompanies(const struct dnp_agent_options *options)
{
	return options->wait_ns;
}

static const char *wait_source(void)
{
	return "stacks of threads whose clocks stand";
}

static const char *wait_note(void)
{
	return wait.note;
}

static uint64_t wait_walking_since(void)
{
	return atomic_load(&wait.walking_since);
}

static void wait_failures(unsigned index, dnp_failure_tell tell_one)
{
	for (unsigned i = 0; i < FAILURES; i++)
		tell_one(index, failure_names[i],
			atomic_load_explicit(&wait.failed[i], memory_order_relaxed));
}

const struct dnp_engine dnp_engine_wait = {
	.event = "wait",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.accompanies = wait_accompanies,
	.events_low = COR_PRF_MONITOR_SUSPENDS,
	.start = wait_start,
	.source = wait_source,
	.note = wait_note,
	.walking_since = wait_walking_since,
	.stop = wait_stop,
	.failures = wait_failures,
};
