/* SPDX-License-Identifier: MIT */
#include "timeline/notes.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

_Static_assert(sizeof(struct dnp_tl_note) % sizeof(uint64_t) == 0, "notes are whole words");

SIGSAFE int dnp_tl_note(struct dnp_tl_notes *notes, const struct dnp_tl_note *note)
{
	uint64_t turn = atomic_fetch_add_explicit(&notes->next, 1, memory_order_relaxed);
	struct dnp_tl_slot *slot = &notes->slots[turn % DNP_TL_NOTES];
	uint64_t before = atomic_load_explicit(&slot->turn, memory_order_relaxed);
	uint64_t words[DNP_TL_NOTE_WORDS];

	memcpy(words, note, sizeof(words));
	/* Acquire: the words are written after it. Another one in this slot is far too slow. */
	if (before & 1 ||
		!atomic_compare_exchange_strong_explicit(&slot->turn, &before, 2 * turn + 1,
			memory_order_acquire, memory_order_relaxed))
		return -EBUSY; /* the reader counts turns without a result */
	/* Release: a reader that sees one of these words sees the odd turn as well. */
	for (size_t i = 0; i < DNP_TL_NOTE_WORDS; i++)
		atomic_store_explicit(&slot->words[i], words[i], memory_order_release);
	atomic_store_explicit(&slot->turn, 2 * turn + 2, memory_order_release);
	return 0;
}

/* False: it is not, or no longer, there. */
static bool read_slot(struct dnp_tl_slot *slot, uint64_t turn, struct dnp_tl_note *note)
{
	uint64_t words[DNP_TL_NOTE_WORDS];

	/* Acquire: pairs with the release of the turn. */
	if (atomic_load_explicit(&slot->turn, memory_order_acquire) != 2 * turn + 2)
		return false;
	/* Acquire: a word of a later turn brings that one's odd number with it. */
	for (size_t i = 0; i < DNP_TL_NOTE_WORDS; i++)
		words[i] = atomic_load_explicit(&slot->words[i], memory_order_acquire);
	memcpy(note, words, sizeof(words));
	return atomic_load_explicit(&slot->turn, memory_order_relaxed) == 2 * turn + 2;
}

/* Whether a turn that has been taken has no result yet. */
static bool is_under_way(struct dnp_tl_slot *slot, uint64_t turn)
{
	return atomic_load_explicit(&slot->turn, memory_order_relaxed) < 2 * turn + 2;
}

void dnp_tl_notes_read(struct dnp_tl_notes *notes, bool last,
	void (*visit)(const struct dnp_tl_note *note, void *context), void *context)
{
	uint64_t end = atomic_load_explicit(&notes->next, memory_order_relaxed);
	uint64_t lost = 0;

	if (end - notes->read > DNP_TL_NOTES) {
		lost = end - notes->read - DNP_TL_NOTES;
		notes->read = end - DNP_TL_NOTES;
	}
	for (; notes->read < end; notes->read++) {
		struct dnp_tl_slot *slot = &notes->slots[notes->read % DNP_TL_NOTES];
		struct dnp_tl_note note;

		if (read_slot(slot, notes->read, &note))
			visit(&note, context);
		else if (!last && is_under_way(slot, notes->read) &&
			end - notes->read < DNP_TL_NOTES / 2)
			break; /* it will be there the next time, and what came behind it */
		else
			lost++;
	}
	atomic_fetch_add_explicit(&notes->lost, lost, memory_order_relaxed);
}
