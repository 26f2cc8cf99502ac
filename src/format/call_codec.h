/* SPDX-License-Identifier: MIT */
/*
 * Calls as they happened on a thread, event by event: 8 bytes each where they happen, little more
 * than one in a recording.
 *
 * A block is a run of events (the field `events` of a record `call_events`). It can be decoded
 * alone. Each event is
 *
 * - a byte: what happened in bits 0 and 1 (enum dnp_call_code), the time since the event before in
 *   bits 2 to 7: 0 to 59 units of `scale`, or 60, 61, 62, 63: it is in the 1, 2, 4, 8 bytes behind
 * - that time, little-endian, below 2^42
 * - for DNP_CALL_TOLD: LEB128 of the method number times 4 plus the enum dnp_call_kind
 *
 * A return or a jump ends the innermost call that began in the block and is open. Where there is
 * none it ends one from before the block, and the method is guessed.
 *
 * A guess is what came last in a like place. There is a table of DNP_CALL_GUESSES method numbers,
 * all 0 (no guess) when a block begins. The place is the innermost open call that began in the
 * block, by its method c and the method l of the last call in it that has ended (0: none yet);
 * outside of all such calls c is 0, and l the method of the call that ended there last. Its entry
 * is `((c * 0x9e3779b1 + l * 0x85ebca6b) mod 2^32) >> 20`; for an end, that number xor 1. It
 * becomes the method that there was: after every beginning, and after every end outside of all such
 * calls.
 *
 * An end of another method than that of the innermost call ends the next call outwards that is of
 * this method, among the DNP_CALL_SEARCH innermost of the block, and all within it. If there is
 * none, it is the end of a call whose beginning is missing, and nothing else ends.
 */
#ifndef DNP_FORMAT_CALL_CODEC_H
#define DNP_FORMAT_CALL_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum dnp_call_kind {
	DNP_CALL_ENTER = 0,
	DNP_CALL_LEAVE = 1,    /* it returned */
	DNP_CALL_TAILCALL = 2, /* its last act was a call that took its place */
	DNP_CALL_UNWOUND = 3,  /* an exception ended it */
	DNP_CALL_KINDS
};

enum dnp_call_code {
	DNP_CALL_AGAIN = 0,  /* the guessed method is entered */
	DNP_CALL_RETURN = 1, /* a call returns */
	DNP_CALL_JUMP = 2,   /* a call ends in a tail call */
	DNP_CALL_TOLD = 3,   /* anything, with its method and kind */
};

#define DNP_CALL_GUESSES 4096
#define DNP_CALL_SEARCH  64

/* An event in 8 bytes: its method (from 1), kind, and when: processor ticks / 16, modulo 2^42. */
#define DNP_CALL_METHOD_BITS 20
#define DNP_CALL_TIME_SHIFT  22
#define DNP_CALL_TIME_TICKS  16
#define DNP_CALL_TIME_MASK   ((UINT64_C(1) << 42) - 1)

static inline uint64_t dnp_call_word(uint32_t method, enum dnp_call_kind kind, uint64_t ticks)
{
	return ticks / DNP_CALL_TIME_TICKS << DNP_CALL_TIME_SHIFT |
		(uint64_t)kind << DNP_CALL_METHOD_BITS | method;
}

static inline uint32_t dnp_call_word_method(uint64_t word)
{
	return (uint32_t)word & ((1u << DNP_CALL_METHOD_BITS) - 1);
}

static inline enum dnp_call_kind dnp_call_word_kind(uint64_t word)
{
	return (enum dnp_call_kind)(word >> DNP_CALL_METHOD_BITS & 3);
}

static inline uint64_t dnp_call_word_time(uint64_t word)
{
	return word >> DNP_CALL_TIME_SHIFT;
}

/* An open call of a block, or (the lowest) what is outside of all. */
struct dnp_call_place {
	uint32_t method; /* 0: outside */
	uint32_t last;   /* method of the call in it that ended last, 0: none */
};

#define DNP_CALL_BLOCK_MAX   ((size_t)60 * 1024) /* bytes of a block; each event is one at least */
#define DNP_CALL_EVENT_BYTES 14                  /* at most */

/*
 * Of the calls that are open where a block begins, the innermost ones: who encodes one block behind
 * the other keeps them, so that it ends as many calls as readers do, who know all.
 */
#define DNP_CALL_CARRIED 256
struct dnp_call_carry {
	uint32_t n;
	uint32_t method[DNP_CALL_CARRIED]; /* the innermost one last */
};

/* Makes blocks, one after another. Allocates nothing; some 500 KiB, of which little is touched. */
struct dnp_call_encoder {
	uint8_t *out, *end;           /* borrowed: where the next event goes, the end of the room */
	struct dnp_call_carry *carry; /* borrowed, or NULL */
	uint64_t last;                /* time of the last event, as in its word */
	uint64_t depth; /* calls open after the last event, those from before the block too */
	uint64_t time;  /* units from the first event to the last */
	uint32_t count; /* events in the block */
	uint32_t open;  /* calls open that began in the block */
	/*
	 * Calls of all blocks that began, and that ended in each way. Of those that ended within
	 * others untold it was an exception; ends without a beginning are none.
	 */
	uint64_t kinds[DNP_CALL_KINDS];
	uint32_t guesses[DNP_CALL_GUESSES];
	struct dnp_call_place places[DNP_CALL_BLOCK_MAX + 1];
};

/*
 * A block of at most `room` bytes at `out`; `depth`: calls open before it. `carry`: what is known
 * of these, NULL: nothing is, nor will be.
 */
void dnp_call_encoder_begin(struct dnp_call_encoder *encoder, uint8_t *out, size_t room,
	uint64_t depth, struct dnp_call_carry *carry);

/*
 * Adds events. Returns how many: fewer when there is no room for the next, or its method is 0, or
 * it ends calls of this block untold together with one from before it, which the next block can
 * say. Times that go back (processors' counters may differ a little) count as the same time.
 */
size_t dnp_call_encoder_add(struct dnp_call_encoder *encoder, const uint64_t *words, size_t n);

/* The block is done: its calls that are open are carried on. */
void dnp_call_encoder_end(struct dnp_call_encoder *encoder);

/* Takes blocks apart; trusts nothing. All-zero at first. */
struct dnp_call_decoder {
	const uint8_t *in, *end; /* borrowed */
	uint64_t left;           /* events */
	uint64_t time;           /* units from the first event */
	struct dnp_vec_of(struct dnp_call_place) places;
	uint32_t guesses[DNP_CALL_GUESSES];
};

struct dnp_call_step {
	uint64_t time; /* units since the first event of the block */
	uint32_t method;
	enum dnp_call_kind kind;
};

/* 0, or -EBADMSG: there cannot be so many events in it; -ENOMEM. */
int dnp_call_decoder_begin(
	struct dnp_call_decoder *decoder, const uint8_t *block, size_t n, uint64_t count);

/* 1: *step is the next event. 0: that was all. -EBADMSG: what is left is damaged. -ENOMEM. */
int dnp_call_decoder_next(struct dnp_call_decoder *decoder, struct dnp_call_step *step);

void dnp_call_decoder_done(struct dnp_call_decoder *decoder);

#endif
