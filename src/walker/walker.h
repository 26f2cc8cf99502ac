/* SPDX-License-Identifier: MIT */
/*
 * libdnprof-walk: stacks for other native profilers (include/dnprof/walk.h).
 *
 *   walker.c    open and close, catch-up, results
 *   methods.c   what the host hears of code: FunctionIDs, and code that goes away
 *   threads.c   what the host hears of threads, and who is being walked
 *   gather.c    the time in which frames are gathered, and the memory for them
 *   walk_self.c, walk_thread.c, walk_all.c
 *               walks: gather, then tell; what they have in common is in walks.h
 *   wish.c      what the host asks for of a walk
 *   by_runtime.c
 *               the runtime's own walk, and what is put into its holes
 *   tell.c      gathered frames → the host's callback
 *
 * The maps of code are one a process, so there is one walker.
 */
#ifndef DNP_WALKER_WALKER_H
#define DNP_WALKER_WALKER_H

#include <dnprof/walk.h>

#include "clr/hresult.h"
#include "clr/info.h"
#include "unwind/walk.h"

struct dnp_gathered;

struct dnprof_walker {
	struct dnp_info info;
	uint32_t depth_max;
	void *jit; /* owned: the library, NULL: not found */
};

/* ---- methods.c; any thread, in the runtime's callbacks */

void dnp_walker_compiled(struct dnprof_walker *walker, FunctionID function, bool dynamic);
void dnp_walker_module(struct dnprof_walker *walker, ModuleID module);

/* Between begin and end of gathering: the FunctionID of a frame, 0: none. */
FunctionID dnp_walker_function(
	const struct dnprof_walker *walker, dnp_frame_word frame, uint64_t time_ns);

/* The same for all that was gathered. */
void dnp_walker_functions(struct dnprof_walker *walker, struct dnp_gathered *gathered);

/* After gathering: the FunctionID of a frame, 0: none, or unloaded since. */
FunctionID dnp_walker_function_left(const struct dnp_gathered *gathered, size_t i);

void dnp_walker_methods_done(void);

/* ---- walker.c */

/*
 * Takes over which libraries came and went, so that none is taken for one that has gone, and reads
 * no table. Not while gathering.
 */
void dnp_walker_look(void);

/* ---- threads.c */

/* A thread that was told of, for the time of a walk: it does not end before the walk does. */
struct dnp_walker_thread {
	ThreadID id;
	int tid;
	struct dnp_stack_range stack; /* high 0: not known */
};

/* False: there is no such thread. Pair: dnp_walker_thread_release. */
bool dnp_walker_thread_hold(ThreadID id, struct dnp_walker_thread *thread);
void dnp_walker_thread_release(ThreadID id);

/* How many there are now. */
size_t dnp_walker_threads_count(void);

/*
 * Holds all threads, `most` at most; returns how many. Not before a call that waits for the
 * runtime's list of threads (SuspendRuntime): a thread that ends may have that list, and wait here
 * to be released.
 */
size_t dnp_walker_threads_hold(struct dnp_walker_thread *all, size_t most);
void dnp_walker_threads_release(const struct dnp_walker_thread *threads, size_t n);

/* The runtime's id of the calling thread, 0: it does not know it. */
ThreadID dnp_walker_own_id(const struct dnprof_walker *walker);

/* The calling thread's stack, which `sp` is in. False: it cannot be found. */
bool dnp_walker_own_stack(uintptr_t sp, struct dnp_stack_range *stack);

void dnp_walker_threads_done(void);

/* ---- gather.c */

/*
 * While frames are gathered no code is forgotten: settle waits for those who began before it, and
 * frees then of managed code what nobody can need any more. It waits for no callback of the host's.
 * Returns since when it was not needed (see dnp_native_reclaim).
 */
unsigned dnp_gather_begin(void);
void dnp_gather_end(unsigned ticket);
uint64_t dnp_gather_settle(void);

/* The frames of one thread, or of several behind each other. */
struct dnp_gathered {
	dnp_frame_word *frames;
	struct dnp_regs *registers; /* zeros where they are not known */
	FunctionID *functions;
	uint64_t time_ns; /* when all `functions` had been found */
	size_t max;
	size_t n;
	enum dnp_walk_stop stop;
	size_t bytes; /* mapped */
};

/* Room for `max` frames, no memory of the program's heap; pages are used as they are touched. */
HRESULT dnp_gathered_open(struct dnp_gathered *gathered, size_t max);
void dnp_gathered_close(struct dnp_gathered *gathered);
/* The same, for one of a size that hardly comes again. */
void dnp_gathered_free(struct dnp_gathered *gathered);
/* What was kept for later walks; none is going on. */
void dnp_gathered_done(void);

/* ---- tell.c */

struct dnp_teller {
	enum dnprof_native native;
	ThreadID thread;
	dnprof_frame_callback *frame;
	void *context;
};

/*
 * Calls back for each of n frames that is asked for. S_OK; CORPROF_E_STACKSNAPSHOT_ABORTED: the
 * callback said so; E_FAIL: there was none.
 */
HRESULT dnp_tell(const struct dnp_teller *teller, const struct dnp_gathered *gathered, size_t first,
	size_t n);

/* Tells what was gathered with that result, if it was; returns the result of both. */
HRESULT dnp_tell_result(HRESULT gathering, const struct dnp_teller *teller,
	const struct dnp_gathered *gathered, size_t first, size_t n);

/* ---- walk_thread.c */

/* Gives back what stopping threads took. Nobody walks any more. */
void dnp_walks_of_others_done(void);

#endif
