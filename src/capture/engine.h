/* SPDX-License-Identifier: MIT */
/*
 * A source of events that the agent can start and stop. One file in capture/ each; several can run
 * at once, each with an event index of its own.
 *
 * All are called by the agent, outside of handlers. start comes first, on the thread that the
 * runtime initialises on; thread_begin for every thread, from any thread (often the one that
 * begins), at any time between start and stop. An entry that is NULL is not wanted.
 */
#ifndef DNP_CAPTURE_ENGINE_H
#define DNP_CAPTURE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "clr/com.h"
#include "clr/prf.h"
#include "format/agent_options.h"
#include "os/watch.h"
#include "store/drain.h"
#include "store/threads.h"
#include "store/writer.h"

struct dnp_info;

/* Providers of events that the runtime delivers (EventPipe), by their names in agent/pipe.c. */
enum dnp_provider {
	DNP_PROVIDER_RUNTIME,    /* Microsoft-Windows-DotNETRuntime */
	DNP_PROVIDER_MARK,       /* Dnprof-Mark, of managed/Dnprof.Mark */
	DNP_PROVIDER_DIAGNOSTIC, /* Microsoft-Diagnostics-DiagnosticSource */
	DNP_PROVIDER_TASKS,      /* System.Threading.Tasks.TplEventSource */
	DNP_PROVIDERS
};

struct dnp_provider_wish {
	uint64_t keywords; /* 0: nothing */
	uint32_t level;    /* COR_PRF_EVENTPIPE_… */
	/* What else it is told, as NAME="VALUE"; NULL: nothing. One engine alone may have any. */
	const WCHAR *arguments;
};

/* Adds to what others wish of the provider. */
static inline void dnp_wish(struct dnp_provider_wish *wish, uint64_t keywords, uint32_t level)
{
	wish->keywords |= keywords;
	if (wish->level < level)
		wish->level = level;
}

/* An event that was delivered; all is borrowed for the call. */
struct dnp_delivered {
	enum dnp_provider provider;
	uint32_t id, version;
	const uint8_t *data; /* its fields, see clr/payload.h */
	size_t bytes;
};

enum dnp_loaded { DNP_LOADED_ASSEMBLY, DNP_LOADED_MODULE, DNP_LOADED_CLASS };

/* How far the runtime is with an exception. */
enum dnp_handling {
	DNP_HANDLING_FOUND,  /* it knows who catches it (ExceptionSearchCatcherFound) */
	DNP_HANDLING_CATCH,  /* whose handler is about to begin (ExceptionCatcherEnter) */
	DNP_HANDLING_FILTER, /* a filter is asked (ExceptionSearchFilterEnter) … */
	DNP_HANDLING_ANSWER, /* and has answered, or thrown one itself (…Leave) */
	/*
	 * It looks at the method that the thread began with (ExceptionSearchFunctionEnter), has
	 * looked at it (…Leave), or is about to end it (ExceptionUnwindFunctionEnter). Told only of
	 * methods that dnp_catches_is_root knows.
	 */
	DNP_HANDLING_ROOT,
	DNP_HANDLING_ROOT_DONE,
	DNP_HANDLING_ROOT_UNWIND,
};

/* What engines are told at their start. Outlives them. */
struct dnp_engine_setting {
	const struct dnp_agent_options *options;
	struct dnp_info *info; /* of the runtime */
	unsigned runtime;      /* its version: 10 of 10.0.12; 0: not known */
	bool at_startup; /* the program begins: start is called on the thread that it began with */
	/* The record of a thread, made when there is none (dnp_agent_thread). */
	struct dnp_thread *(*thread)(int tid, int before);
	int (*is_ours)(int tid); /* whether a thread is the profiler's own */
	/* The calling thread's ThreadID; 0: it is none of the runtime's. Outside of handlers. */
	uintptr_t (*own_id)(void);
	/* Has the recording define a thread, if it does not yet. On the recorder's thread. */
	void (*announce)(struct dnp_thread *thread);
	/* A thread has begun, as dnp_watch_wait tells. On the recorder's thread. NULL: not asked.
	 */
	dnp_watch_begun begun;
	/*
	 * The number (1 … 2^20 - 1) of a method whose calls are recorded, by its FunctionID: it is
	 * never used again, and the recording is told which method it is. 0: no memory. May call
	 * the CLR; holds no lock meanwhile.
	 */
	uint32_t (*traced)(uintptr_t function);
	/*
	 * A number as those, for an instantiation of a function that is not known yet; 0: no
	 * memory. And what it turned out to be, by its exact class and type arguments: calls the
	 * CLR; holds no lock meanwhile.
	 */
	uint32_t (*reserve)(void);
	void (*exact)(uint32_t number, uintptr_t function, uintptr_t class_id,
		const uintptr_t *args, uint32_t n);
	/* Puts a stack into the recording, as a sample of an event. On the recorder's thread. */
	struct dnp_walked_node (*walked)(unsigned event, const struct dnp_walked *walked);
	/*
	 * The rest of a stack that a thread has left to be walked, where that is recorded
	 * (dnp_drain.walk). On the recorder's thread.
	 */
	uint32_t (*unwalked)(const struct dnp_unwalked *left, const void *stack, size_t n_bytes,
		dnp_frame_word *frames, uint32_t max, enum dnp_walk_stop *stop);
	/*
	 * The recording's frame of what a walk would store (a label, an address in code that was
	 * there at `time_ns`). On the recorder's thread.
	 */
	uint32_t (*frame)(dnp_frame_word word, uint64_t time_ns);
	/*
	 * The label (store/labels.h) of a type that is loaded now; `name` is what it is called if
	 * the runtime cannot be asked later. Any thread, outside of handlers.
	 */
	uint32_t (*type_label)(uintptr_t class_id, struct dnp_str name);
	/*
	 * The same where no name came along: the runtime is asked, once for each type. In one of
	 * its callbacks, about an object of that type.
	 */
	uint32_t (*class_label)(uintptr_t class_id);
	/*
	 * The program is about to end without another word: returns when all that was stored so far
	 * is in the file, or after a while. Any thread but the recorder's, in a callback.
	 */
	void (*save)(void);
};

/* So many times so far (0: nothing is told) could a thread not be sampled at all, for that reason.
 */
typedef void (*dnp_failure_tell)(unsigned event, const char *reason, uint64_t count);

struct dnp_engine {
	const char *event; /* as after -e on the command line */
	const char *unit;  /* of its weights, NULL: samples */
	enum dnp_engine_choice choice;
	bool every;   /* of two ways to record allocations the one that leaves none out */
	bool walks;   /* it takes stacks, for which native modules must be known */
	bool happens; /* its events come when something happens, not at intervals */
	/* One that is started after it, with its own event. */
	const struct dnp_engine *companion;
	/* Of a companion: whether it is wanted; NULL: always. */
	bool (*accompanies)(const struct dnp_agent_options *options);
	/* Flags that the runtime must have been given before (SetEventMask2), beyond the agent's.
	 */
	uint32_t events_low;
	/*
	 * Those that it need not have before the first module is loaded that is no part of .NET;
	 * at the program's start they are asked for then.
	 */
	uint32_t own_code_events;
	/* Adds those that depend on what is asked for. */
	void (*events)(const struct dnp_agent_options *options, uint32_t *low, uint32_t *high);
	/*
	 * Adds to wishes[DNP_PROVIDERS] what the runtime is to deliver (dnp_wish), which it does
	 * between start and stop; more may come, for others. After start.
	 */
	void (*wishes)(struct dnp_provider_wish *wishes);
	/*
	 * On the thread that it happened on, in whatever it was doing: must not call the CLR, and
	 * wait for nobody but leaf locks.
	 */
	void (*delivered)(const struct dnp_delivered *delivered);
	/* `index`: of its event, in samples and counters. 0 or -errno; err says why. */
	int (*start)(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err);
	/* Where the events come from, for the recording, and what is to be known of it. After
	 * start. */
	const char *(*source)(void);
	const char *(*note)(void);
	/* Whether they are others than at the start, or than when it was asked last; NULL: no. On
	 * the recorder's thread. */
	bool (*changed)(void);
	/* The time between its events, where it is not that of the options. */
	uint64_t (*interval)(void);
	/* Where happenings are chosen by lot: for how much weight one of the smallest is kept. */
	uint64_t (*lot)(void);
	/* Whether it has something to start for each thread, and misses what the thread does until
	 * then. After start. */
	bool (*at_once)(void);
	/* Whether it tells of threads that begin itself, in `look`; NULL: no. After start. */
	bool (*tells_threads)(void);
	void (*thread_begin)(struct dnp_thread *thread);
	/* Now and then, every 20 to 100 ms, and when something happens. On the recorder's thread.
	 */
	void (*look)(void);
	/* It has gone; its record will be used for another. On the recorder's thread. */
	void (*thread_end)(struct dnp_thread *thread);
	/*
	 * It knows threads by their ThreadID, those as well that were there before: a recording
	 * begins only once the runtime has listed them, which it does not while it is suspended.
	 */
	bool needs_managed;
	/*
	 * Of the runtime's threads: `id` is the ThreadID. managed_end is called while the thread
	 * and its ThreadID are still there, also after stop, and returns when nothing of the engine
	 * looks at them any more.
	 */
	void (*managed_begin)(uintptr_t id, struct dnp_thread *thread);
	void (*managed_end)(uintptr_t id, int tid);
	/*
	 * Since when walks on threads of the engine's own go on whose samples are not stored yet
	 * (dnp_now_ns), UINT64_MAX: there are none. What is freed must be older.
	 */
	uint64_t (*walking_since)(void);
	/* No event comes any more when it returns, and no handler of it runs. */
	void (*stop)(void);
	/* The recording is over, or was never begun: what is left of it goes. After stop. */
	void (*forget)(void);
	/*
	 * What it records other than by feeds: every 20 ms, and once more after stop (`last`). On
	 * the recorder's thread.
	 */
	void (*write)(struct dnp_writer *writer, int last);
	bool writes_seldom; /* … which need not be as often as that where nothing else happens */
	/*
	 * A copy of the recording is wanted: the next write keeps nothing back that is known. On
	 * the recorder's thread.
	 */
	void (*hurry)(void);
	/*
	 * On a managed thread, if asked for by `events`: an exception is thrown (ExceptionThrown),
	 * is about to end a call of the function (ExceptionUnwindFunctionEnter), and has ended it
	 * (…Leave).
	 */
	void (*throwing)(void);
	void (*unwinding)(uintptr_t function);
	void (*unwound)(void);
	/*
	 * … or is about to run a finally block of it (ExceptionUnwindFinallyEnter), or to be caught
	 * in it (ExceptionCatcherEnter), after it came that far.
	 */
	void (*in_finally)(void);
	void (*caught)(void);
	/*
	 * A filter of the function is asked about an exception (ExceptionSearchFilterEnter), and
	 * has answered (…Leave; function is 0).
	 */
	void (*filtering)(uintptr_t function);
	/* The same: from managed to native code or back, by a call or by its end (`back`). */
	void (*transition)(uintptr_t function, int to_native, int back);
	/*
	 * Whether the code of a function may be put into those that call it (JITInlining). Any
	 * thread that compiles; may call the CLR.
	 */
	bool (*may_inline)(uintptr_t function);
	/*
	 * If asked for by `events`: the calling thread throws the exception (ExceptionThrown). It
	 * must not call what may make a collection: the object would be another one then.
	 */
	void (*thrown)(uintptr_t object);
	/*
	 * … and what the runtime does with the one that it threw last and that is not caught yet.
	 * Where one is caught: `function` that catches `object` (the same holds for it), else 0;
	 * for ROOT and ROOT_UNWIND the function that it is about.
	 */
	void (*handling)(enum dnp_handling what, uintptr_t function, uintptr_t object);
	/*
	 * If asked for by `events`: the calling thread has loaded something (AssemblyLoadFinished,
	 * ModuleLoadFinished, ClassLoadFinished); its AssemblyID, ModuleID or ClassID.
	 */
	void (*loaded)(enum dnp_loaded what, uintptr_t id);
	/*
	 * If asked for by `events` (COR_PRF_MONITOR_SUSPENDS): the calling thread is about to stop
	 * all managed threads (RuntimeSuspendStarted), and they stand (…Finished).
	 */
	void (*suspending)(COR_PRF_SUSPEND_REASON reason);
	void (*suspended)(void);
	/* … and the calling thread, of that ThreadID, stands for it (RuntimeThreadSuspended). */
	void (*safepoint)(uintptr_t id);
	/*
	 * If asked for by `events`: the calling thread has allocated an object of that type
	 * (ObjectAllocated). What makes a collection moves the object.
	 */
	void (*allocated)(uintptr_t object, uintptr_t class_id);
	/* Code is about to be unloaded: its ids must not be asked for any more. Any thread. */
	void (*unloading)(void);
	/* This is a child that the program has forked: nobody takes what is recorded, nor has to.
	 */
	void (*forked)(void);
	/* How much of what it records other than by feeds it has lost so far. On the recorder's
	 * thread. */
	uint64_t (*lost)(void);
	/* Calls tell for each reason there was. On the recorder's thread. */
	void (*failures)(unsigned index, dnp_failure_tell tell);
};

/* All that there are, ended by NULL: engine_list.c, by system. */
extern const struct dnp_engine *const dnp_engines_all[];

/* The engine for an event, NULL: there is none. `every`: where there are two, that of `every`. */
const struct dnp_engine *dnp_engine_find(
	struct dnp_str event, enum dnp_engine_choice choice, bool every);

/*
 * Recorder: what is to be known of its event, in place of what was said at the start. Of an engine
 * whose events come when something happens.
 */
void dnp_engine_note(const struct dnp_engine *engine, unsigned event, struct dnp_writer *writer,
	const char *note);

/* Where it is false, .NET's managed code tells nothing. */
#define DNP_EVENT_SOURCE_SWITCH "System.Diagnostics.Tracing.EventSource.IsSupported"

extern const struct dnp_engine dnp_engine_alloc;
extern const struct dnp_engine dnp_engine_asking_cpu;
extern const struct dnp_engine dnp_engine_asking_wall;
extern const struct dnp_engine dnp_engine_cpu;
extern const struct dnp_engine dnp_engine_exact;
extern const struct dnp_engine dnp_engine_exception;
extern const struct dnp_engine dnp_engine_gc;
extern const struct dnp_engine dnp_engine_jit;
extern const struct dnp_engine dnp_engine_live;
extern const struct dnp_engine dnp_engine_load;
extern const struct dnp_engine dnp_engine_lock;
extern const struct dnp_engine dnp_engine_lock_owner;
extern const struct dnp_engine dnp_engine_mark;
extern const struct dnp_engine dnp_engine_request;
extern const struct dnp_engine dnp_engine_safepoint;
extern const struct dnp_engine dnp_engine_snapshot_cpu;
extern const struct dnp_engine dnp_engine_snapshot_wall;
extern const struct dnp_engine dnp_engine_suspend_cpu;
extern const struct dnp_engine dnp_engine_suspend_wall;
extern const struct dnp_engine dnp_engine_switch;
extern const struct dnp_engine dnp_engine_trace;
extern const struct dnp_engine dnp_engine_transition;
extern const struct dnp_engine dnp_engine_wait;
extern const struct dnp_engine dnp_engine_waithandle;
extern const struct dnp_engine dnp_engine_wall;

#endif
