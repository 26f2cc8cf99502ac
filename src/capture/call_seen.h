/* SPDX-License-Identifier: MIT */
/*
 * What hooks with information see for the first time and cannot name: instantiations of shared
 * generic code, and classes of objects. Each gets a number at once; names follow.
 *
 * A hook only looks into a table, or puts one more entry into it: no lock, no allocation. The
 * recorder names what is new, and so does who unloads code: ids must not be asked for later. Where
 * there is no room, or no number at hand, a method keeps the number of its shared code, and a class
 * none.
 */
#ifndef DNP_CAPTURE_CALL_SEEN_H
#define DNP_CAPTURE_CALL_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/engine.h"

enum { DNP_SEEN_ARGS = 6 }; /* type arguments of a method; with more it stays as it is */

/* Once, before the first hook. 0 or -ENOMEM. */
int dnp_call_seen_open(const struct dnp_engine_setting *setting);

/*
 * The number of an instantiation of a function, by its exact class and type arguments; 0: that of
 * the function itself. Its record in dnp_call_methods is made. In hooks.
 */
uint32_t dnp_call_seen_method(
	uintptr_t function, uintptr_t class_id, const uintptr_t *args, uint32_t n);

/* The number of a class, as in `call_type`; 0: it has none. In hooks. */
uint32_t dnp_call_seen_type(uintptr_t class_id);

/*
 * Names all that is new and tells the recording. The recorder, often. `last`: nothing is left for
 * the next time, but what another thread is still naming after a while.
 */
void dnp_call_seen_write(struct dnp_writer *writer, unsigned event, bool last);

/*
 * No more is told of what is new, and nothing asked: from then on nobody may have said that its ids
 * have gone. The recorder, once.
 */
void dnp_call_seen_end(void);

/* Code is about to be unloaded: names all, and forgets whose ids may be used again. Any thread. */
void dnp_call_seen_unloading(void);

/* How often one was asked for that there was no room for, or no number at hand. */
uint64_t dnp_call_seen_no_room(void);
uint64_t dnp_call_seen_no_number(void);

#endif
