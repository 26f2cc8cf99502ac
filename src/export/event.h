/* SPDX-License-Identifier: MIT */
/* What is told of an event, the same in all that programs read. */
#ifndef DNP_EXPORT_EVENT_H
#define DNP_EXPORT_EVENT_H

#include "aggregate/profile.h"
#include "base/json.h"

/* Members of an object that is open: unit, source, note, interval, and every count. */
void dnp_event_members(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_json *json);

/* What a filter does not leave out of it, as a sentence; NULL: nothing, or there is no filter. */
const char *dnp_event_not_filtered(
	const struct dnp_profile *profile, const struct dnp_event *event);

/* In words; NULL: none that this version knows. */
const char *dnp_loss_name(size_t reason);

/* As on the command line. */
const char *dnp_native_name(enum dnp_native native);
const char *dnp_wait_name(enum dnp_wait_kind kind);
const char *dnp_state_name(enum dnp_state state);
const char *dnp_call_depth_name(enum dnp_call_depth depth);

#endif
