/* SPDX-License-Identifier: MIT */
/*
 * Methods that patterns leave out, by name, so that it can be said what a pattern that matches
 * nothing may have meant. Only some are kept: the first, which is where a program's own methods
 * are.
 */
#ifndef DNP_CAPTURE_LEFT_OUT_H
#define DNP_CAPTURE_LEFT_OUT_H

#include "store/writer.h"

/* The name as patterns are compared with it. Any thread; not from a hook or a handler. */
void dnp_left_out_note(struct dnp_str name);

/* Writes those that were noted since it last did. One thread at a time. */
void dnp_left_out_write(struct dnp_writer *writer, unsigned event);

/* Forgets all. Nobody else is here meanwhile. */
void dnp_left_out_reset(void);

#endif
