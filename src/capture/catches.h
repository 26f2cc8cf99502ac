/* SPDX-License-Identifier: MIT */
/*
 * What becomes of exceptions after they were thrown: what they say, who catches them, and how long
 * it takes to find that out. For capture/exception.c.
 *
 * An exception can be thrown while others are on their way, by a filter or a finally block that is
 * asked or run about them. So each thread has a stack of those that were thrown and not caught yet.
 */
#ifndef DNP_CAPTURE_CATCHES_H
#define DNP_CAPTURE_CATCHES_H

#include "capture/engine.h"

/* Before the first is thrown. 0 or -ENOMEM. */
int dnp_catches_open(const struct dnp_engine_setting *setting, unsigned event);

/*
 * The calling thread throws an exception; the number that its sample is to have as value. The stack
 * is read so that nothing can fault. In the runtime's callback.
 */
uint64_t dnp_catches_thrown(uintptr_t object, uintptr_t class_id);

/* Its sample is stored: what it takes from now on is the runtime's time. Same thread. */
void dnp_catches_search(void);

/* See struct dnp_engine; `class_id`: of the exception that is caught, 0: not known. */
void dnp_catches_handling(enum dnp_handling what, uintptr_t function, uintptr_t class_id);

/*
 * An exception that leaves the method that its thread began with, and that nobody there catches,
 * ends the program: no recorder gets a turn any more if it is not waited for. `root` is the
 * outermost managed frame that one can come to which the calling thread throws.
 */
void dnp_catches_root(const struct dnp_thread *thread, dnp_frame_word root);
/*
 * Whether a thread that has thrown began with that function; with 0, whether in such a one the
 * runtime is looking for who catches an exception. Any thread, at any time.
 */
bool dnp_catches_is_root(uintptr_t function);

/* The thread has gone. On the recorder's thread, as the next; no callback is under way there. */
void dnp_catches_thread_end(const struct dnp_thread *thread);

/* Since when code is looked up (see walking_since of struct dnp_engine). Any thread. */
uint64_t dnp_catches_looking_since(void);

/* Writes what is known by now; with `last` of all that there were. */
void dnp_catches_write(struct dnp_writer *writer, int last);

/* Frees the memory. Nobody throws into it any more. */
void dnp_catches_forget(void);

/* Exceptions of which nothing is told for want of memory. */
uint64_t dnp_catches_lost(void);

#endif
