/* SPDX-License-Identifier: MIT */
/*
 * Arguments and results of the calls of a recording (records `call_values` and `call_type`), for
 * the events that a cursor gives (read/calls.h).
 *
 *	dnp_call_values_new(recording, event_index, &values);
 *	while (dnp_call_cursor_next(cursor, &event) > 0)
 *		if (dnp_call_values_text(values, &event, &text))
 *			… text.p is `1, "abc", null`
 *	dnp_call_values_free(values);
 *
 * Those of one thread are asked for in their order, each once. Memory: 40 bytes for each record,
 * and the names of types. One thread at a time.
 */
#ifndef DNP_READ_CALL_VALUES_H
#define DNP_READ_CALL_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "read/calls.h"

struct dnp_recording;
struct dnp_call_values;

/* The recording outlives it. 0 or -ENOMEM; a recording without any gives an empty one. */
int dnp_call_values_new(
	const struct dnp_recording *recording, uint64_t event, struct dnp_call_values **values);
void dnp_call_values_free(struct dnp_call_values *values);

/* Whether values were recorded at all. */
bool dnp_call_values_any(const struct dnp_call_values *values);

/*
 * Writes the arguments of a call that begins, or the result of one that returns. False: the
 * recording has none for the event, and the text is as it was.
 */
bool dnp_call_values_text(
	struct dnp_call_values *values, const struct dnp_call_event *event, struct dnp_text *text);

#endif
