/* SPDX-License-Identifier: MIT */
/*
 * A thread that takes its own stack, in a handler of the shared signal or in a callback of the
 * runtime: what the engines whose events come that way have in common.
 */
#ifndef DNP_CAPTURE_SELF_H
#define DNP_CAPTURE_SELF_H

#include <stdbool.h>

#include "base/clean.h"
#include "format/rec.h"
#include "store/threads.h"

/*
 * The thread is in a handler from here to dnp_self_leave. 0: it was already, or it takes its stack
 * by itself; then there is nothing to leave, and dnp_self_late is called. Sequentially consistent
 * with dnp_self_wait: who first says in memory that samples are not wanted any more, and then
 * waits, meets no handler that has not seen it.
 */
SIGSAFE int dnp_self_enter(struct dnp_thread *thread);
SIGSAFE void dnp_self_leave(struct dnp_thread *thread);

/* So many units of an event that came then: they are stored later, or counted as lost. */
SIGSAFE void dnp_self_late(struct dnp_thread *thread, unsigned event, uint32_t units);

/* So many units of an event are lost: their signal came to nothing. */
SIGSAFE void dnp_self_lose(
	struct dnp_thread *thread, unsigned event, enum dnp_loss_reason why, uint32_t units);

/*
 * Walks the calling thread's stack from the interrupted instruction and stores the sample. Event,
 * weight and time of *sample are the caller's; the events in `also` (bit e: event e) get the same.
 * With `kernel` the sampler's kernel frames come on top. Between enter and leave.
 */
SIGSAFE void dnp_self_sample(struct dnp_thread *thread, struct dnp_sample *sample, uint32_t also,
	int kernel, const void *context);

/*
 * The same for a thread outside of handlers, in a callback of the runtime say: its feed is the
 * caller's alone from begin to end. What handlers leave meanwhile is stored at the end with the
 * stack that was stored in between (`stored`), where the thread has been all the while.
 */
void dnp_self_begin(struct dnp_thread *thread);
void dnp_self_end(struct dnp_thread *thread, int stored);

/*
 * The same where the stack was taken by dnp_self_walk (`n` frames with the label, and why it ended)
 * and nothing was stored: then it is stored for what handlers left.
 */
void dnp_self_end_walked(struct dnp_thread *thread, uint32_t n, enum dnp_walk_stop stop);

/*
 * Takes the calling thread's stack into its feed's frames, without the native frames on top: the
 * topmost managed one is the leaf, if there is any. If `tells` (NULL: never) says of that
 * that the runtime tells of the event by managed code, then that is left out, too, with the native
 * frames it was called by. `label` is put on top of the rest. Returns the number of frames, 0: the
 * stack cannot be walked. Between begin and end.
 *
 * Unless `left` is NULL, the walk is left to the drain thread where it comes to code that is not
 * known: the frames are those before, and *left says how many words they are with what stands
 * behind them (dnp_feed_put_unwalked). 0: nothing is left.
 */
uint32_t dnp_self_walk(struct dnp_thread *thread, dnp_frame_word label,
	bool (*tells)(dnp_frame_word frame), enum dnp_walk_stop *stop, uint32_t *left);

/* Whether the thread's ring has room for so many words of that, and for some that come next. */
SIGSAFE bool dnp_self_ring_has_room(struct dnp_thread *thread, uint32_t words);

/* Waits until the handler that runs on the thread now, if any, has left. Not in handlers. */
void dnp_self_wait(const struct dnp_thread *thread);

/* ---- For the files of this alone */

#define DNP_SELF_RED_ZONE 128 /* bytes below the stack pointer that signals leave alone */

/*
 * The stacks to walk: the thread's own, or the one that it runs on now and then its own. `handler`:
 * one that signals are handled on, high 0: there is none. 0: not known, or no room left on it.
 */
SIGSAFE int dnp_self_stacks(struct dnp_thread *thread, uintptr_t sp, struct dnp_stack_range handler,
	struct dnp_stacks *stacks);

/*
 * How many of a walk's frames come before the first in code that is not known: there it has ended,
 * or gone on as from a stub, which may have been wrong. `n`: there is none.
 */
SIGSAFE uint32_t dnp_self_known(const dnp_frame_word *frames, uint32_t n, enum dnp_walk_stop stop);

/*
 * Leaves a walk to the drain thread from where it is known: another thread may have compiled the
 * code it came to, and not told of it yet. Of the feed's `n_frames` frames the first `above` are
 * none of the walk's. Puts the registers there and the stack, or what there is room for of it,
 * behind the frames. Returns how many words all is; 0: the stack cannot be read, or, with
 * `for_ring`, the thread's ring is wanted for others (dnp_self_ring_has_room).
 */
SIGSAFE uint32_t dnp_self_leave_unwalked(struct dnp_thread *thread, struct dnp_walk walk,
	uint32_t above, uint32_t n_frames, bool for_ring);

#endif
