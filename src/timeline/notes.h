/* SPDX-License-Identifier: MIT */
/*
 * What the program's own threads have to say: marks, and readings of their clocks. Any thread
 * writes, in signal handlers too, and none waits: a table of slots, which are taken in turn and by
 * whoever reads put into the store. A slot's turn is odd while somebody writes into it; a second
 * one who comes round to it then, or the reader, leaves it alone.
 */
#ifndef DNP_TIMELINE_NOTES_H
#define DNP_TIMELINE_NOTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"

#define DNP_TL_NOTES      1024u
#define DNP_TL_TEXT_BYTES 88

struct dnp_tl_note {
	uint64_t time_ns;
	uint64_t cpu_ns; /* of a reading */
	uint32_t tid;
	uint32_t is_reading;
	char text[DNP_TL_TEXT_BYTES]; /* of a mark */
};

#define DNP_TL_NOTE_WORDS (sizeof(struct dnp_tl_note) / sizeof(uint64_t))

struct dnp_tl_notes {
	_Atomic uint64_t next; /* turns taken, each one's slot is its number's rest */
	_Atomic uint64_t lost; /* of those that were looked at */
	uint64_t read;         /* the reader's: turns that it has looked at */
	struct dnp_tl_slot {
		_Atomic uint64_t turn; /* 2n + 1: being written, 2n + 2: written in turn n */
		_Atomic uint64_t words[DNP_TL_NOTE_WORDS];
	} slots[DNP_TL_NOTES];
};

/* 0 or -EBUSY: it will be counted as lost. */
SIGSAFE int dnp_tl_note(struct dnp_tl_notes *notes, const struct dnp_tl_note *note);

/*
 * Calls visit for what was noted since the last time, oldest first. One that somebody still writes
 * is waited for, with what came behind it, if there is a next time: `last` counts it as lost. One
 * reader.
 */
void dnp_tl_notes_read(struct dnp_tl_notes *notes, bool last,
	void (*visit)(const struct dnp_tl_note *note, void *context), void *context);

#endif
