/* SPDX-License-Identifier: MIT */
/*
 * The engines of the recording that is made, and what the runtime and the recorder tell them. They
 * are chosen, started, stopped and forgotten by who starts and ends recordings; the rest says who
 * may call it.
 */
#ifndef DNP_AGENT_ENGINES_H
#define DNP_AGENT_ENGINES_H

#include <stdbool.h>

#include "base/err.h"
#include "capture/engine.h"
#include "clr/com.h"
#include "clr/prf.h"

/*
 * Takes a copy of the options and finds the engines that they ask for. `at_startup`: before the
 * program's first method. 0, or -errno with err.
 */
int dnp_engines_choose(
	const struct dnp_agent_options *options, bool at_startup, struct dnp_err *err);

/* The copy: good until the next choice, and for ever if hooks were set by it. */
const struct dnp_agent_options *dnp_engines_options(void);

/*
 * Has the runtime tell what they need. -EOPNOTSUPP: it is what can be had at the program's start
 * only.
 */
int dnp_engines_events(bool at_startup, struct dnp_err *err);

/*
 * `offered`: what they get of the recording (announce, walked, frame) and of types (the labels);
 * the rest of the setting is filled in.
 */
int dnp_engines_start(const struct dnp_engine_setting *offered, struct dnp_err *err);
/*
 * Has the runtime deliver the events that they wish for. What is delivered
 * before callbacks are let in (dnp_allowed_set) is lost. After an error they are stopped.
 * `meanwhile` as of dnp_pipe_start.
 */
int dnp_engines_listen(void (*meanwhile)(void), struct dnp_err *err);
/* No event comes any more when it returns. */
void dnp_engines_stop(void);
/* No callback may be under way. */
void dnp_engines_forget(void);

/* Whether one of them has to know the runtime's threads by their ThreadID. */
bool dnp_engines_need_managed(void);

/* Recorder. NULL: there are no more. */
const struct dnp_engine *dnp_engines_get(unsigned i);
unsigned dnp_engines_count(void);
/* Whether any of them takes stacks. */
bool dnp_engines_walk(void);
/* Whether any has to know of a thread as soon as that begins. */
bool dnp_engines_at_once(void);
/* Whether threads matter to none of them before something happens on them. */
bool dnp_engines_only_happen(void);
/* Whether one of them tells of threads that begin, as long as it does. */
bool dnp_engines_tell_threads(void);

/*
 * Makes a thread of the process known and starts sampling it, if it is new. `before`: it was there
 * before recording began, so that what it did until now is not missing. Any thread.
 */
struct dnp_thread *dnp_engines_thread(int tid, int before);

/*
 * A thread begins to be one of the runtime's, on that thread, and stops to be one, on that or a
 * later one (`tid`: it has gone then). Returns when no walk of it goes on any more.
 */
void dnp_engines_managed_begin(ThreadID id, struct dnp_thread *thread);
void dnp_engines_managed_end(ThreadID id, int tid);

/* The runtime delivers an event; on the thread that it happened on, while there is a session. */
void dnp_engines_delivered(const struct dnp_delivered *delivered);

/* The calling thread throws that exception, which stays where it is for the call. */
void dnp_engines_thrown(ObjectID object);

/* How far the runtime is with one that the thread threw; see struct dnp_engine. */
void dnp_engines_handling(enum dnp_handling what, FunctionID function, ObjectID object);

/* The calling thread has loaded something; see struct dnp_engine. */
void dnp_engines_loaded(enum dnp_loaded what, uintptr_t id);

/* The calling thread stops all others, or stands still for that; see struct dnp_engine. */
void dnp_engines_suspending(COR_PRF_SUSPEND_REASON reason);
void dnp_engines_suspended(void);
void dnp_engines_safepoint(ThreadID id);

/* The calling thread has allocated an object; see struct dnp_engine. */
void dnp_engines_allocated(ObjectID object, ClassID class_id);

/* A module is about to be loaded: the first of the program's own begins what waits for it. */
void dnp_engines_loading(ModuleID module);

/* What happens to calls, for the engine that has hooks; on the thread it happens to. */
void dnp_engines_unloading(void);
/* In a child that the program has forked. */
void dnp_engines_forked(void);
void dnp_engines_throwing(void);
void dnp_engines_unwinding(FunctionID function);
void dnp_engines_unwound(void);
void dnp_engines_in_finally(void);
void dnp_engines_caught(void);
void dnp_engines_filtering(FunctionID function);
void dnp_engines_transition(FunctionID function, int to_native, int back);
bool dnp_engines_may_inline(FunctionID function);

#endif
