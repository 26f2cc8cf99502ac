/* SPDX-License-Identifier: MIT */
/* A word in memory that threads of this process sleep on. Any thread; not for handlers. */
#ifndef DNP_OS_WORD_H
#define DNP_OS_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Sleeps as long as the word has that value, until dnp_word_wake or for so long; may come back
 * earlier. False: the time is over, or the process ends and nobody would wake us.
 */
bool dnp_word_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);

/*
 * Sleeps until the word has another value, for so long at most, whatever wakes us meanwhile. False:
 * it has that value still.
 */
bool dnp_word_wait_change(_Atomic uint32_t *word, uint32_t value, uint64_t patience_ns);

/* Wakes one who sleeps there, after the word was changed. */
void dnp_word_wake(_Atomic uint32_t *word);

#endif
