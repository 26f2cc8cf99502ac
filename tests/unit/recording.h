/* SPDX-License-Identifier: MIT */
/*
 * Makes recordings in memory, for tests and tools.
 *
 *	struct recording rec = recording_new(7);
 *	RECORD(&rec, sample, .thread = 1, .node = 2, .weight = 1);
 *	recording_flush(&rec);
 *	… rec.bytes.p, rec.bytes.n …
 *	recording_done(&rec);
 *
 * Ends the program where memory ends.
 */
#ifndef DNP_TEST_RECORDING_H
#define DNP_TEST_RECORDING_H

#include "base/vec.h"
#include "format/chunk.h"
#include "format/rec.h"

struct recording {
	uint64_t number;
	uint32_t sequence;
	struct dnp_vec_of(uint8_t) bytes;   /* the file so far */
	struct dnp_vec_of(uint8_t) payload; /* the chunk in the making */
};

struct recording recording_new(uint64_t number);
void recording_done(struct recording *rec);

/* What has been flushed of `more` comes behind that of `rec`, as in a file of both; frees `more`.
 */
void recording_append(struct recording *rec, struct recording *more);

/* Room for at least n bytes of payload; flushes when the chunk would get too long. */
uint8_t *recording_room(struct recording *rec, size_t n);
/* Seals what is in the payload as a chunk. */
void recording_flush(struct recording *rec);
/* A chunk of any kind and payload. */
void recording_chunk(
	struct recording *rec, enum dnp_chunk_kind kind, const void *payload, size_t n);
/* A stack record of these frames above `parent`. */
void recording_stack(
	struct recording *rec, uint64_t first, uint64_t parent, const uint64_t *frames, size_t n);

/* Records of calls; their numbers as in rec.def. */
void recording_call_nodes(
	struct recording *rec, uint64_t thread, uint64_t first, const uint64_t *numbers, size_t n);
void recording_call_counts(struct recording *rec, uint64_t thread, uint64_t time_ns,
	const uint64_t *numbers, size_t n);

/* A block of events, dnp_call_word each; a unit of their time is a millisecond. */
void recording_call_events(struct recording *rec, uint64_t thread, uint64_t time_ns, uint64_t lost,
	const uint64_t *words, size_t n);

/* What was lost before a block: so many events, after which `depth` calls are open, `kept` of which
 * were before. */
struct recording_gap {
	uint64_t lost, kept, depth;
};
void recording_call_events_behind(struct recording *rec, uint64_t thread, uint64_t time_ns,
	struct recording_gap gap, const uint64_t *words, size_t n);

#define RECORD_ROOM 65536u /* bytes that one record may have */

#define RECORD(rec, name, ...)                                                                     \
	do {                                                                                       \
		struct recording *rec_ = (rec);                                                    \
		struct dnp_rec_##name record_ = {__VA_ARGS__};                                     \
		uint8_t *room_ = recording_room(rec_, RECORD_ROOM);                                \
                                                                                                   \
		rec_->payload.n += dnp_put_##name(room_, RECORD_ROOM, &record_);                   \
	} while (0)

/*
 * A small whole recording: process 42 of `dotnet app.dll`, event cpu at 10 ms, threads 42 "main"
 * and 43 "worker", and these samples:
 *
 *	main    App.Program.Main() > App.Program.Hot() > System.Math.Sin(double)   6
 *	main    App.Program.Main() > App.Program.Hot()                             3
 *	worker  App.Program.Main() > App.Program.Rec() > App.Program.Rec()         2
 *	worker  App.Program.Main() > libc.so.6!memcpy > [k] do_syscall             1
 */
void recording_small(struct recording *rec);

/*
 * Process 50 with two events. cpu: 4 samples of main, all on
 *
 *	libc!start > Main > libc!qsort > Compare > libc!memcpy
 *
 * wall, at 10 ms, with a note and failures for two reasons, 20 samples:
 *
 *	main          the same                                 3 running
 *	main          libc!start > Main > libc!poll            1 waiting
 *	.NET TP Worker, six of them: libc!start > Work > libc!poll   2 waiting each
 *	.NET TP Worker, the first:   libc!start > Work               1 running
 *	gc            libc!start > libc!poll                         2 waiting
 *	gc            no stack at all                                1 running
 */
void recording_wall(struct recording *rec);

/*
 * Process 60 with one event, trace, as --depth time records it. Threads main and worker; the
 * worker and the methods are defined after their calls. Calls, self time, shortest and longest
 *call:
 *
 *	main    Main(string[])                                  1   10 ms   58 ms   58 ms
 *	main    Main(string[]) > Work(int)                      3   30 ms   15 ms   17 ms
 *	main    Main(string[]) > Work(int) > Fib(int)           3    6 ms    6 ms    6 ms
 *	main    Main(string[]) > Work(int) > Fib(int) > Fib(int)  12   12 ms    1 ms    1 ms
 *	main    Main(string[]) > Work(string)                   2    no time
 *	worker  Work(int)                                       5   20 ms    5 ms    7 ms (in two
 *parts) worker  Work(int) > Fib(int)                            5    5 ms    1 ms    1 ms
 *
 * of class App.Calls. Counters: 31 enters, 26 leaves, 2 tail calls, 2 unwound, 1 open, 3 lost.
 */
void recording_calls(struct recording *rec);

/*
 * The same process and methods, as --depth events records them. At ms since the start:
 *
 *	main    10 Main { 20 Work(int) { 25 Fib { 27 Fib 31 } 32 } 32
 *	                  35 Work(string) { 41 Fib 42 unwound } 42 unwound, and Main goes on
 *	worker  15 Work(int) 23 tail call, 5 events lost, 30 Fib 32
 */
void recording_call_log(struct recording *rec);

/*
 * Process 70 `switching`, whose switches were recorded for 100 us on two processors. At us since
 *the start, and on which processor:
 *
 *	main         10-20 0 waits      50-60 0 preempted   62-70 1 waits
 *	first, "1"   15-18 1 preempted  20-30 0 ended
 *	again        41-45 1 waits      80-88 1 unknown     95-100 1 runs
 *
 * The last two have the same tid, 71. Three switches of processor 1 are lost between 88 and 92.
 *Main waits for a lock from 20 to 50, sleeps from 70 on, and marks "half" at 65; it is woken at 49
 *by the third thread, and at 61 by thread 81 "another" of process 80. Its span "order" begins at 66
 *and does not end, "GET /" is from 67 to 69, with the result 200.
 */
void recording_switches(struct recording *rec);

/* Slices of a thread, each as start, end (us), processor, enum dnp_slice_end. */
void recording_slices(struct recording *rec, uint64_t thread, const uint64_t *numbers, size_t n);

/* Its process, event 3 and thread 1 alone; its methods 11 to 14 alone. */
void recording_call_process(struct recording *rec);
void recording_call_methods(struct recording *rec);

#endif
