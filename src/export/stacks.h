/* SPDX-License-Identifier: MIT */
/* The stacks of one moment, as people and programs read them: leaf first. */
#ifndef DNP_EXPORT_STACKS_H
#define DNP_EXPORT_STACKS_H

#include "aggregate/moment.h"
#include "base/sink.h"

/*
 * Threads that do the same are shown as one, unless `each`. `columns` of the terminal, 0: lines as
 * long as they get. Errors of the sink are the caller's to find.
 */
void dnp_stacks_text(
	const struct dnp_moment *moment, bool each, unsigned columns, struct dnp_sink *sink);

/* Fields may be added, never renamed. */
void dnp_stacks_json(const struct dnp_moment *moment, struct dnp_sink *sink);

#endif
