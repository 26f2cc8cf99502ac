/* SPDX-License-Identifier: MIT */
/*
 * Every call, counted: by hooks that the JIT puts at the begin and the end of each method.
 *
 *   trace_filter.c  which methods
 *   x86_64/elt.S    the hooks
 *   calls.c         what they keep of a thread
 *   call_times.c    CPU time for trees without a clock
 *   calls_tell.c    trees → records
 *   call_events.c   each event, in a ring, and from there into the recording
 *   call_info.c     hooks in front of those, with arguments (--args)
 *
 * Hooks cannot be taken out again: after stop they go on and record nothing.
 */
#include <string.h>

#include "capture/call_events.h"
#include "capture/call_info.h"
#include "capture/call_seen.h"
#include "capture/call_times.h"
#include "capture/calls.h"
#include "capture/calls_tell.h"
#include "capture/engine.h"
#include "capture/left_out.h"
#include "capture/trace_filter.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "clr/native_calls.h"
#include "os/clock.h"
#include "os/ticks.h"
#include "unwind/dss.h"

/*
 * Between two tellings, which is what a killed program loses: the shortest rest, unless that is
 * more than 1/100 of the time or 200 KB a second; and the longest, unless that is more than 1/30.
 */
#define TELL_NS         UINT64_C(100000000)
#define TELL_SHARE      100
#define TELL_BYTE_NS    5000
#define TELL_LONG_NS    UINT64_C(1000000000)
#define TELL_LONG_SHARE 30

#define ONE_PLACE 2048 /* bytes of the stack, see forget_gone */

/* The first byte of a method's IL (ECMA-335, II.25.4): it has blocks if more sections follow. */
#define IL_FORMAT        0x7
#define IL_FAT           0x3
#define IL_MORE_SECTIONS 0x8

FunctionEnter3 dnp_hook_tree_enter, dnp_hook_time_enter;
FunctionLeave3 dnp_hook_tree_leave, dnp_hook_time_leave;
FunctionTailcall3 dnp_hook_tree_tailcall, dnp_hook_time_tailcall;

static struct {
	const struct dnp_engine_setting *setting;
	unsigned event;
	uint16_t runtime; /* 9 of .NET 9 */
	struct dnp_ticks_clock ticks;
	/* The recorder's. */
	struct dnp_writer *writer; /* borrowed; NULL: not known yet */
	uint64_t next_ns;          /* when trees are told again */
	bool hurried;              /* … with the time of all calls that are open */
} trace;

static const struct hooks {
	FunctionEnter3 *enter;
	FunctionLeave3 *leave;
	FunctionTailcall3 *tailcall;
} hooks[] = {
	[DNP_CALLS_TREE] = {dnp_hook_tree_enter, dnp_hook_tree_leave, dnp_hook_tree_tailcall},
	[DNP_CALLS_TIME] = {dnp_hook_time_enter, dnp_hook_time_leave, dnp_hook_time_tailcall},
	[DNP_CALLS_EVENTS] = {(FunctionEnter3 *)dnp_hook_events_enter,
		(FunctionLeave3 *)dnp_hook_events_leave,
		(FunctionTailcall3 *)dnp_hook_events_tailcall},
};

static enum dnp_calls_choice depth(void)
{
	return trace.setting->options->calls;
}

static void trace_events(const struct dnp_agent_options *options, uint32_t *low, uint32_t *high)
{
	*low |= COR_PRF_MONITOR_EXCEPTIONS | COR_PRF_ENABLE_STACK_SNAPSHOT;
	/*
	 * From then on the runtime compiles anew what was compiled ahead of each module that is
	 * loaded. Else it spares the core library: most of what a short program runs.
	 */
	if (options->framework)
		*low |= COR_PRF_MONITOR_ENTERLEAVE;
	if (options->transitions)
		*low |= COR_PRF_MONITOR_CODE_TRANSITIONS;
	if (options->args)
		*low |= dnp_call_info_events(options);
	if (options->no_inline)
		*low |= COR_PRF_DISABLE_INLINING;
	if (options->no_tiering)
		*high |= COR_PRF_HIGH_DISABLE_TIERED_COMPILATION;
}

static _Atomic bool nobody; /* takes what hooks tell: this is a forked child */

/* Called when a method is compiled, each time; may call the runtime. */
static uintptr_t DNP_COM map(FunctionID function, void *data, BOOL *hook)
{
	const struct dnp_call_method *method =
		atomic_load(&nobody) ? NULL : dnp_trace_filter_method(function);

	(void)data;
	*hook = method != NULL;
	if (method && trace.setting->options->args && !dnp_call_info_prepare(method))
		*hook = false;
	return method ? (uintptr_t)method : function;
}

/* Those that are told arguments, which go on with those of the depth. */
static HRESULT set_info_hooks(const struct hooks *set)
{
	const struct dnp_call_plain plain = {
		.enter = (void (*)(void))set->enter,
		.leave = (dnp_call_end_hook *)(void (*)(void))set->leave,
		.tailcall = (dnp_call_end_hook *)(void (*)(void))set->tailcall,
	};

	return dnp_call_info_set(&plain);
}

static int set_hooks(struct dnp_err *err)
{
	ICorProfilerInfo *info = trace.setting->info->com;
	const struct hooks *set = &hooks[depth()];
	HRESULT hr = dnp_com(info, SetFunctionIDMapper2, map, NULL);

	if (SUCCEEDED(hr) && trace.setting->options->args)
		hr = set_info_hooks(set);
	else if (SUCCEEDED(hr))
		hr = dnp_com(
			info, SetEnterLeaveFunctionHooks3, set->enter, set->leave, set->tailcall);
	if (FAILED(hr))
		return dnp_err(err, -EPERM,
			"the runtime refuses hooks at the begin and the end of methods: %s "
			"(0x%08x)",
			dnp_hresult_name(hr), (unsigned)hr);
	return 0;
}

/* In hooks. */
static uint32_t index_of(int tid)
{
	const struct dnp_thread *thread;

	if (atomic_load(&nobody) || trace.setting->is_ours(tid))
		return DNP_CALLS_NO_THREAD;
	thread = trace.setting->thread(tid, 0);
	return thread ? thread->index : DNP_CALLS_NO_THREAD;
}

static int start_depth(struct dnp_err *err)
{
	int failed = 0;

	switch (depth()) {
	case DNP_CALLS_TREE: failed = dnp_call_times_start(); break;
	case DNP_CALLS_TIME: dnp_ticks_begin(&trace.ticks); break;
	case DNP_CALLS_EVENTS: dnp_call_events_start(trace.event); break;
	}
	if (failed)
		dnp_err(err, failed, "the thread that times calls cannot be started: %s",
			strerror(-failed));
	return failed;
}

static int trace_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	int failed;

	trace.setting = setting;
	trace.event = index;
	trace.runtime = dnp_info_runtime_major(setting->info);
	if (depth() != DNP_CALLS_TREE && !dnp_ticks_steady())
		return dnp_err(err, -ENOTSUP,
			"the time stamp counter of this processor is not steady, so calls cannot "
			"be timed one by one; use --depth tree");
	dnp_trace_filter_open(setting);
	failed = dnp_calls_open(depth(), index_of);
	if (failed == -ENOMEM)
		return dnp_err(err, failed, "no memory for the methods whose calls are recorded");
	if (failed)
		return dnp_err(err, failed,
			"the program has taken all places where hooks could find what belongs to a "
			"thread, so calls cannot be recorded; use -e cpu");
	if (setting->options->args && dnp_call_info_open(setting, index))
		return dnp_err(err, -ENOMEM, "no memory for the arguments of calls");
	failed = set_hooks(err);
	if (!failed)
		failed = start_depth(err);
	if (!failed)
		dnp_calls_switch(true);
	return failed;
}

static void trace_stop(void)
{
	dnp_calls_switch(false);
	if (depth() == DNP_CALLS_EVENTS)
		dnp_call_events_stop();
	dnp_call_times_stop();
}

static struct dnp_calls_teller teller_of(struct dnp_writer *writer)
{
	return (struct dnp_calls_teller){
		.writer = writer,
		.event = trace.event,
		.ticks = depth() == DNP_CALLS_TIME ? &trace.ticks : NULL,
	};
}

static void sum(const struct dnp_calls *calls, struct dnp_rec_call_stats *rec)
{
	rec->enters += calls->told_calls;
	rec->leaves += atomic_load(&calls->leaves);
	rec->tailcalls += atomic_load(&calls->tailcalls);
	rec->unwinds += atomic_load(&calls->unwinds);
	rec->open += dnp_calls_open_now(calls) + calls->open_ever;
	rec->lost += atomic_load(&calls->lost);
}

static struct dnp_rec_call_stats stats_of_trees(void)
{
	struct dnp_rec_call_stats rec = {0};

	for (struct dnp_calls *calls = dnp_calls_first(); calls; calls = calls->listed)
		sum(calls, &rec);
	return rec;
}

static uint64_t ended(const struct dnp_rec_call_stats *rec)
{
	return rec->leaves + rec->tailcalls + rec->unwinds;
}

/*
 * Threads go on, and end calls while they are counted: at the end of the recording the counters are
 * read again until nothing came in between. Nothing begins any more.
 */
static struct dnp_rec_call_stats last_stats(void)
{
	struct dnp_rec_call_stats rec = stats_of_trees(), before;

	for (int tries = 0; tries < 1000; tries++) {
		before = rec;
		rec = stats_of_trees();
		if (ended(&before) == ended(&rec) && before.open == rec.open)
			break;
	}
	return rec;
}

/* Calls that were too deep. */
static uint64_t lost_on_stacks(void)
{
	uint64_t lost = 0;

	for (struct dnp_calls *calls = dnp_calls_first(); calls; calls = calls->listed)
		lost += atomic_load(&calls->lost);
	return lost;
}

/* What is open is known for sure when all has been written; before, what began and has not ended.
 */
static struct dnp_rec_call_stats stats_of_events(bool last)
{
	struct dnp_call_totals totals = dnp_call_events_totals();
	struct dnp_rec_call_stats rec = {
		.enters = totals.events[DNP_CALL_ENTER],
		.leaves = totals.events[DNP_CALL_LEAVE],
		.tailcalls = totals.events[DNP_CALL_TAILCALL],
		.unwinds = totals.events[DNP_CALL_UNWOUND],
		.open = totals.open,
		.waits = totals.waits,
		.lost = totals.lost + lost_on_stacks(),
	};

	if (!last && rec.enters > ended(&rec))
		rec.open = rec.enters - ended(&rec);
	return rec;
}

static void write_stats(struct dnp_writer *writer, int last)
{
	struct dnp_rec_call_stats rec = depth() == DNP_CALLS_EVENTS ? stats_of_events(last)
		: last                                              ? last_stats()
								    : stats_of_trees();

	rec.event = trace.event;
	rec.time_ns = dnp_now_ns();
	dnp_trace_filter_count(&rec.methods, &rec.left_out);
	dnp_write_call_stats(writer, &rec);
}

static void tell_trees(struct dnp_writer *writer, bool all)
{
	struct dnp_calls_teller teller = teller_of(writer);

	if (teller.ticks)
		dnp_ticks_refine(&trace.ticks);
	dnp_call_times_lock();
	for (struct dnp_calls *calls = dnp_calls_first(); calls; calls = calls->listed)
		if (atomic_load(&calls->tid))
			dnp_calls_tell(&teller, calls, all);
	dnp_call_times_unlock();
}

static uint64_t rest_after(uint64_t took_ns, uint64_t bytes)
{
	uint64_t rest_ns = TELL_NS;

	if (rest_ns < took_ns * TELL_SHARE)
		rest_ns = took_ns * TELL_SHARE;
	if (rest_ns < bytes * TELL_BYTE_NS)
		rest_ns = bytes * TELL_BYTE_NS;
	if (rest_ns > TELL_LONG_NS)
		rest_ns = TELL_LONG_NS;
	return rest_ns < took_ns * TELL_LONG_SHARE ? took_ns * TELL_LONG_SHARE : rest_ns;
}

static uint64_t bytes_of(const struct dnp_writer *writer)
{
	return dnp_writer_written(writer) + writer->used;
}

static void trace_write(struct dnp_writer *writer, int last)
{
	uint64_t now_ns = dnp_now_ns(), took_ns, bytes;

	trace.writer = writer;
	if (depth() == DNP_CALLS_EVENTS)
		dnp_call_events_write(writer, last);
	if (trace.setting->options->args)
		dnp_call_info_write(writer, last);
	if (!last && now_ns < trace.next_ns)
		return;
	bytes = bytes_of(writer);
	if (depth() != DNP_CALLS_EVENTS)
		tell_trees(writer, last || trace.hurried);
	trace.hurried = false;
	dnp_left_out_write(writer, trace.event);
	write_stats(writer, last);
	took_ns = dnp_now_ns() - now_ns;
	trace.next_ns = now_ns + took_ns + rest_after(took_ns, bytes_of(writer) - bytes);
}

static void trace_hurry(void)
{
	trace.next_ns = 0;
	trace.hurried = true;
}

/*
 * Its tree must be told before another thread has its index. One with the same number may have come
 * before the end was noticed, and have taken the record and the state over: so of those with this
 * number are released that were taken before, whatever record they were taken with.
 */
static void trace_thread_end(struct dnp_thread *thread)
{
	struct dnp_calls_teller teller = teller_of(trace.writer);

	if (!trace.writer)
		return;
	dnp_call_times_lock();
	for (struct dnp_calls *calls = dnp_calls_first(); calls; calls = calls->listed) {
		if (atomic_load(&calls->tid) != thread->tid)
			continue;
		if (depth() != DNP_CALLS_EVENTS)
			dnp_calls_tell(&teller, calls, true);
		dnp_calls_release(calls, thread->gone_ns);
	}
	dnp_call_times_unlock();
}

/* On the thread that ends; whatever it may still do, its open calls do not go on. */
static void trace_managed_end(uintptr_t id, int tid)
{
	struct dnp_calls *calls = dnp_calls_own;

	(void)id;
	if (calls && atomic_load(&calls->tid) == tid)
		atomic_store(&calls->end_ticks, dnp_ticks());
}

/* Of the thread that the runtime tells of an exception. NULL: it has none, or nobody takes it. */
static struct dnp_calls *own_calls(void)
{
	return atomic_load_explicit(&nobody, memory_order_relaxed) ? NULL : dnp_calls_own;
}

static struct dnp_call_unwinding *innermost_unwinding(struct dnp_calls *calls)
{
	return &calls->unwinding[(calls->n_unwinding - 1) % DNP_CALLS_UNWINDING];
}

static struct dnp_call_filter *filter_of(struct dnp_calls *calls, uint32_t i)
{
	return &calls->filters[i % DNP_CALLS_FILTERS];
}

/* The one that is asked now, NULL: there is none. */
static const struct dnp_call_filter *filter_now(struct dnp_calls *calls)
{
	return calls->n_filters ? filter_of(calls, calls->n_filters - 1) : NULL;
}

/* Where the runtime is on the thread's stack while it tells of an exception: roughly. */
static uintptr_t here(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

/*
 * Of a frame that caught what its finally block threw nothing more may be told, see trace_caught.
 * It is there no more if it is further in than the innermost call; or if what is told now comes
 * from further out on the stack than what was told of it: all that one exception does to its frames
 * is told from one place, within 200 bytes or so, and what is thrown in a block that it runs from
 * some KiB further in.
 */
static void forget_further_in(struct dnp_calls *calls, uintptr_t at)
{
	uintptr_t sp = dnp_calls_innermost(calls);

	while (calls->n_unwinding &&
		(innermost_unwinding(calls)->sp < sp || innermost_unwinding(calls)->at < at))
		calls->n_unwinding--;
}

static void forget_gone(struct dnp_calls *calls)
{
	forget_further_in(calls, here() - ONE_PLACE);
}

/* Of the method that the thread is in, or has called the runtime from; 0: not known. */
static uintptr_t leaf_sp(void)
{
	struct dnp_dss_frame frames[2];
	struct dnp_dss dss = {.frames = frames, .max = DNP_ARRAY_SIZE(frames)};

	dnp_dss_walk(trace.setting->info, 0, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, &dss);
	for (size_t i = 0; i < dss.n; i++)
		if (frames[i].function)
			return frames[i].regs.sp;
	return 0;
}

/*
 * An exception that native code catches (of a static constructor, of what MethodInfo.Invoke calls)
 * ends frames of which .NET 9 and 10 tell nothing. That code then throws one itself, and what
 * handlers and filters call meanwhile comes from further in than these frames were. So when one is
 * thrown before the last one was caught, all calls that were made from further in than where the
 * thread's innermost method is are over.
 */
static void end_what_is_gone(struct dnp_calls *calls)
{
	uintptr_t sp = calls->passing ? leaf_sp() : 0;

	calls->passing = true;
	if (sp)
		dnp_calls_back(calls, sp + 1);
}

/*
 * Nothing was told of this one yet. .NET 9 and 10 do not begin with a beginning if nobody within a
 * filter catches it: what they tell first is the end of the last frame that they searched.
 */
static void trace_throwing(void)
{
	struct dnp_calls *calls = own_calls();

	if (!calls)
		return;
	dnp_calls_tell_held(calls);
	forget_further_in(calls, here() + ONE_PLACE);
	end_what_is_gone(calls);
}

static void trace_unwinding(uintptr_t function)
{
	struct dnp_calls *calls = own_calls();

	if (!calls)
		return;
	calls->passing = true;
	if (trace.runtime == 9 && calls->held.function == function)
		dnp_calls_forget_held(calls);
	dnp_calls_tell_held(calls);
	forget_gone(calls);
	calls->unwinding[calls->n_unwinding++ % DNP_CALLS_UNWINDING] =
		(struct dnp_call_unwinding){function, dnp_calls_innermost(calls), here()};
}

/*
 * .NET 10 does not tell of a frame whose own catch or finally block the exception comes from. So
 * the frame that it tells of may be further out than calls which are still open here, but not
 * further than the filter within which all that happens.
 */
static uintptr_t left_out_within(const struct dnp_call_filter *filter, uintptr_t function)
{
	bool known;

	if (trace.runtime < 10 || !dnp_trace_filter_find(function, &known))
		return 0;
	return filter ? filter->sp : UINTPTR_MAX;
}

/*
 * .NET 9 takes a catch or finally block that runs for a frame of its own, and tells of its end,
 * too, right before that of the call or what the call does instead.
 */
static bool may_be_block(uintptr_t function)
{
	const struct dnp_info *info = trace.setting->info;
	const uint8_t *header = NULL;
	ClassID of_class;
	ModuleID module;
	mdToken token;
	uint32_t bytes = 0;

	if (trace.runtime != 9)
		return false;
	if (FAILED(dnp_com(info->com, GetFunctionInfo, function, &of_class, &module, &token)) ||
		FAILED(dnp_com(info->com, GetILFunctionBody, module, token, &header, &bytes)) ||
		!header || !bytes)
		return true;
	return (*header & IL_FORMAT) == IL_FAT && *header & IL_MORE_SECTIONS;
}

/*
 * If an exception comes out of a filter, .NET 8 tells of that as if the call whose filter it is had
 * ended, right before the end of the filter. So what is told of that function waits for what comes
 * next, as do ends of what may be a block. Of a method that has called itself that may be too
 * little: come_to_block ends the others.
 */
static void trace_unwound(void)
{
	struct dnp_calls *calls = own_calls();
	const struct dnp_call_filter *filter;
	struct dnp_call_unwinding frame;
	uintptr_t sp;

	if (!calls)
		return;
	dnp_calls_tell_held(calls);
	forget_gone(calls);
	filter = filter_now(calls);
	if (calls->n_unwinding <= (filter ? filter->n_unwinding : 0))
		return;
	frame = *innermost_unwinding(calls);
	if (frame.at > here() + ONE_PLACE)
		return;
	calls->n_unwinding--;
	sp = dnp_calls_innermost(calls);
	if (may_be_block(frame.function) || (filter && filter->function == frame.function))
		dnp_calls_hold(calls, frame);
	else if (frame.sp <= sp) /* not of another call of the same method, further out */
		dnp_calls_unwound(calls, frame.function, left_out_within(filter, frame.function));
}

/*
 * What is called by a filter has ended with it. Of filters of dynamic methods the runtime tells the
 * end alone, from further in than where it told of the one that is known.
 */
static void trace_filtering(uintptr_t function)
{
	struct dnp_calls *calls = own_calls();
	const struct dnp_call_filter *filter;

	if (!calls)
		return;
	if (function) {
		dnp_calls_tell_held(calls);
		forget_gone(calls);
		*filter_of(calls, calls->n_filters++) = (struct dnp_call_filter){
			function, dnp_calls_innermost(calls), here(), calls->n_unwinding};
		return;
	}
	dnp_calls_forget_held(calls);
	while ((filter = filter_now(calls)) && filter->at + ONE_PLACE < here())
		calls->n_filters--;
	if (!filter || filter->at > here() + ONE_PLACE)
		return;
	dnp_calls_back(calls, filter->sp);
	/* What was begun to be unwound in it does not go on: .NET 10 does not tell of its end. */
	calls->n_unwinding = filter->n_unwinding;
	calls->n_filters--;
}

/*
 * An exception runs a finally or catch block of a frame, so what that called has ended. The runtime
 * does not tell of all frames that are gone: .NET 10 leaves out one whose own catch block the
 * exception comes from.
 */
static void come_to_block(struct dnp_calls *calls)
{
	COR_PRF_EX_CLAUSE_INFO clause;

	if (SUCCEEDED(dnp_com(trace.setting->info->com, GetNotifiedExceptionClauseInfo, &clause)))
		dnp_calls_back(calls, clause.framePointer + 1);
}

/* The frame is the last that the runtime began to unwind. */
static void trace_in_finally(void)
{
	struct dnp_calls *calls = own_calls();

	if (!calls)
		return;
	dnp_calls_tell_held(calls);
	forget_gone(calls);
	come_to_block(calls);
	if (calls->n_unwinding)
		innermost_unwinding(calls)->sp = dnp_calls_innermost(calls);
}

/*
 * The frame that catches is the last that the runtime began to unwind. Was it being ended by
 * another exception before, that goes on where this one was thrown and caught within a finally
 * block, and does not where it left the block: so what was begun for it stays.
 */
static void trace_caught(void)
{
	struct dnp_calls *calls = own_calls();

	if (!calls)
		return;
	calls->passing = false;
	dnp_calls_tell_held(calls);
	if (calls->n_unwinding)
		calls->n_unwinding--;
	come_to_block(calls);
}

/*
 * Of calls to native code there are no hooks, so they are told here; managed code that native code
 * calls has its own.
 */
static void trace_transition(uintptr_t function, int to_native, int back)
{
	const struct dnp_call_method *method;
	bool known;

	if (!function || to_native == back || !trace.setting->options->transitions ||
		atomic_load(&nobody))
		return;
	/* The runtime goes on to tell when the recording is over. */
	if (back ? !dnp_calls_own || !dnp_calls_open_now(dnp_calls_own)
		 : !atomic_load_explicit(&dnp_calls_on, memory_order_relaxed))
		return;
	/* What is open has not been unloaded. */
	method = back ? dnp_trace_filter_find(function, &known) : dnp_trace_filter_native(function);
	if (!method)
		return;
	if (back)
		dnp_calls_native_leave(method);
	else
		dnp_calls_native_enter(method);
}

static bool trace_may_inline(uintptr_t function)
{
	return !trace.setting->options->transitions || atomic_load(&nobody) ||
		!dnp_method_calls_native(trace.setting->info, function);
}

static void trace_unloading(void)
{
	if (atomic_load(&nobody))
		return;
	dnp_trace_filter_unloading();
	if (trace.setting->options->args)
		dnp_call_seen_unloading();
}

/*
 * Locks that are taken for what is seen first may be held by threads that are not here, so nothing
 * is looked at any more.
 */
static void trace_forked(void)
{
	atomic_store(&nobody, true);
	dnp_calls_forked();
	dnp_call_events_stop();
}

static const char *trace_source(void)
{
	static const char *const sources[] = {
		[DNP_CALLS_TREE] = "hooks, CPU time by samples",
		[DNP_CALLS_TIME] = "hooks, each call timed",
		[DNP_CALLS_EVENTS] = "hooks, each event timed",
	};

	return sources[depth()];
}

static void trace_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "method for which no number was left", dnp_trace_filter_unnumbered());
}

static const char *trace_note(void)
{
	return trace.setting->options->no_inline
		? ""
		: "calls that the JIT inlines are part of their callers (--no-inline shows them)";
}

const struct dnp_engine dnp_engine_trace = {
	.event = "trace",
	.unit = "ns",
	.choice = DNP_ENGINE_SIGNAL,
	.own_code_events = COR_PRF_MONITOR_ENTERLEAVE,
	.events = trace_events,
	.start = trace_start,
	.source = trace_source,
	.note = trace_note,
	.failures = trace_failures,
	.thread_end = trace_thread_end,
	.managed_end = trace_managed_end,
	.stop = trace_stop,
	.write = trace_write,
	.hurry = trace_hurry,
	.throwing = trace_throwing,
	.unwinding = trace_unwinding,
	.unwound = trace_unwound,
	.in_finally = trace_in_finally,
	.caught = trace_caught,
	.filtering = trace_filtering,
	.transition = trace_transition,
	.may_inline = trace_may_inline,
	.unloading = trace_unloading,
	.forked = trace_forked,
};
