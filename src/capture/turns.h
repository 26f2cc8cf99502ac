/* SPDX-License-Identifier: MIT */
/*
 * Threads that have their turn one after the other, in random order, each once a round. In struct
 * dnp_turn of a thread, `place` and `next` are this file's.
 *
 * There is one such list. dnp_turns_add may be called beside all others; the callers of these keep
 * each other out by a lock of theirs.
 */
#ifndef DNP_CAPTURE_TURNS_H
#define DNP_CAPTURE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/threads.h"

/* A thread is new. Any thread. */
void dnp_turns_add(struct dnp_thread *thread);

/* The new ones get their turns, too: calls begin(thread) for each. Returns how many there are. */
uint32_t dnp_turns_take_new(void (*begin)(struct dnp_thread *thread));

/* Whose turn it is; NULL: there is no thread. `random`: a state of dnp_random_below's. */
struct dnp_thread *dnp_turns_next(uint64_t *random);

/* A new round begins. */
void dnp_turns_again(void);

bool dnp_turns_has(const struct dnp_thread *thread);
/* It has no turn any more. */
void dnp_turns_remove(struct dnp_thread *thread);

/* New ones are forgotten. */
void dnp_turns_drop_new(void);
/* Takes one out, whichever; NULL: there is none. */
struct dnp_thread *dnp_turns_take_out(void);

#endif
