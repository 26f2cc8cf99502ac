/* SPDX-License-Identifier: MIT */
/*
 * The calls of a recording as they happened (records `call_events`): those of one thread, or all of
 * them in the order of time.
 *
 *	struct dnp_call_log *log;
 *	dnp_call_log_new(recording, event_index, &log, &damaged);
 *	struct dnp_call_cursor *cursor;
 *	dnp_call_cursor_new(log, DNP_CALL_ALL_THREADS, &cursor);
 *	while (dnp_call_cursor_next(cursor, &event) > 0)
 *		…
 *	dnp_call_cursor_free(cursor);
 *	dnp_call_log_free(log);
 *
 * What a cursor gives of a thread is well formed, whatever is in the file: times never go back;
 *each end is that of the innermost call that is open, so that pushing and popping gives `depth`; a
 *call that has no end is open when the recording ends. Where events are missing there is one of
 *kind DNP_CALL_LOST, then an end (DNP_CALL_CUT) for each call that ended among them, innermost
 *first, then a beginning for each that began there and has not ended.
 *
 * Memory: 80 bytes for each record, and for each thread that a cursor is at, some 20 KiB and 16
 * bytes for each open call. One thread at a time; several cursors may go over one log.
 */
#ifndef DNP_READ_CALLS_H
#define DNP_READ_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "format/call_codec.h"

struct dnp_recording;

/* Besides those of enum dnp_call_kind. */
enum dnp_call_gap {
	DNP_CALL_CUT = 4,  /* a call ended among lost events: when and how is not known */
	DNP_CALL_LOST = 5, /* events are missing here: `lost` of them */
};

struct dnp_call_event {
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t begin_ns; /* ends: when the call began, 0: not known (among lost events) */
	uint64_t lost;     /* DNP_CALL_LOST: how many, 0: not known; else 0 */
	uint64_t units;    /* time as its values have it (call_values.h); 0: it has none */
	uint32_t thread;   /* thread index */
	uint32_t method;   /* number in `traced`; 0: not known (began among lost events) */
	uint32_t depth; /* calls around this one on its thread: the same at its begin and its end;
			   DNP_CALL_LOST: calls that were open */
	uint8_t kind;   /* enum dnp_call_kind or enum dnp_call_gap */
};

/* What there is of one thread. */
struct dnp_call_thread {
	uint32_t thread; /* thread index */
	uint64_t events; /* in the recording */
	uint64_t lost;
	uint64_t first_ns; /* of its first event */
};

/* Where the calls of one event source are in a recording. */
struct dnp_call_log;

/*
 * The recording outlives the log. *damaged grows by the bytes of records that cannot be used. 0 or
 * -ENOMEM. A recording without any gives a log without threads.
 */
int dnp_call_log_new(const struct dnp_recording *recording, uint64_t event,
	struct dnp_call_log **log, uint64_t *damaged);
void dnp_call_log_free(struct dnp_call_log *log);

/* Its threads, by thread index; *n of them, borrowed. */
const struct dnp_call_thread *dnp_call_log_threads(const struct dnp_call_log *log, size_t *n);

#define DNP_CALL_ALL_THREADS UINT32_MAX

struct dnp_call_cursor;

/*
 * A cursor at the first event of a thread, or of all, merged by time. How many calls are told
 * because records say that they are open has a bound, for all cursors of a log together, which
 * grows with the number of its events. 0 or -ENOMEM.
 */
int dnp_call_cursor_new(struct dnp_call_log *log, uint32_t thread, struct dnp_call_cursor **cursor);
void dnp_call_cursor_free(struct dnp_call_cursor *cursor);

/* The next event. 1: there is one. 0: the end. -ENOMEM. */
int dnp_call_cursor_next(struct dnp_call_cursor *cursor, struct dnp_call_event *event);

/* Bytes of events that could not be decoded so far; told as DNP_CALL_LOST with `lost` unknown. */
uint64_t dnp_call_cursor_damaged(const struct dnp_call_cursor *cursor);

#endif
