/* SPDX-License-Identifier: MIT */
/*
 * Every call, its end and when they were (--depth events): hooks put them into the ring of their
 * thread, and a thread of ours writes them to the recording.
 *
 * Part of the engine `trace`, which makes and ends the rings:
 *
 *   start, then set the hooks (dnp_hook_events_…), then dnp_call_events_write every 20 ms, stop,
 *   dnp_call_events_write(writer, 1).
 *
 * What waits: a thread whose ring is full, up to half a second; it may be one that the runtime
 * waits for to collect garbage, so the writer never calls the runtime and takes no lock that others
 * hold for long. After that events are dropped and counted until half of the ring is free.
 */
#ifndef DNP_CAPTURE_CALL_EVENTS_H
#define DNP_CAPTURE_CALL_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "capture/call_ring.h"
#include "format/call_codec.h"
#include "store/writer.h"

/* What was recorded since the start. */
struct dnp_call_totals {
	uint64_t events[DNP_CALL_KINDS]; /* by enum dnp_call_kind */
	uint64_t open;                   /* calls that had not ended; after the last write */
	uint64_t waits;                  /* times that a thread waited for room */
	uint64_t lost;                   /* events for which there was none in time */
};

/* Rings may begin, and hooks run, when it returns. `event`: index of the event. */
void dnp_call_events_start(unsigned event);

/* What else the writer thread writes whenever it has looked at the rings. Before start. */
void dnp_call_events_also(void (*write)(struct dnp_writer *writer, unsigned event));

/* Hooks do nothing any more when it returns, except one in each thread that was in it already. */
void dnp_call_events_stop(void);

/*
 * The first call starts the writer thread, with a writer of its own for the same file. `last`: all
 * that is in rings is in the file when it returns. The recorder. 0 or -errno.
 */
int dnp_call_events_write(struct dnp_writer *writer, int last);

/* So far; after the last write: exact. The recorder. */
struct dnp_call_totals dnp_call_events_totals(void);

/* Memory of rings, about. Any thread. */
size_t dnp_call_events_bytes(void);

/*
 * A ring for the calling thread, `thread` in the recording. Never NULL: where there is no memory it
 * is one that takes nothing and counts all as lost. Any thread.
 */
struct dnp_call_ring *dnp_call_events_thread_begin(uint32_t thread);

/* The thread puts no event any more; the ring is written, then used for another. Any thread. */
void dnp_call_events_thread_end(struct dnp_call_ring *ring);

/* An event of the calling thread, of which it waits that there is room. From hooks; keeps errno. */
void dnp_call_events_put(struct dnp_call_ring *ring, uint32_t method, enum dnp_call_kind kind);

/* What the runtime calls; registers as it has them (see x86_64/elt_events.S). */
void dnp_hook_events_enter(void);
void dnp_hook_events_leave(void);
void dnp_hook_events_tailcall(void);

#endif
