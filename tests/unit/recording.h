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

#endif
