/* SPDX-License-Identifier: MIT */
#include "export/event.h"

#include "format/rec.h"

const char *dnp_loss_name(size_t reason)
{
	static const char *const names[DNP_LOSS_REASONS] = {
		[DNP_LOSS_RING] = "buffer full",
		[DNP_LOSS_NESTED] = "during another sample",
		[DNP_LOSS_STACK] = "on a foreign stack",
		[DNP_LOSS_WRITE] = "not written",
	};

	return reason < DNP_LOSS_REASONS && names[reason] ? names[reason] : "other";
}

const char *dnp_native_name(enum dnp_native native)
{
	static const char *const names[] = {"all", "leaf", "none"};

	return names[native];
}

const char *dnp_state_name(enum dnp_state state)
{
	static const char *const names[] = {"any", "running", "waiting"};

	return names[state];
}

/* What was lost or failed, by reason: an object of those that there are. */
static void put_reasons(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_json *json)
{
	dnp_json_open(json, "lost_by", '{');
	for (size_t i = 0; i < DNP_LOSS_REASONS; i++)
		if (event->lost_by[i])
			dnp_json_u64(json, dnp_loss_name(i), event->lost_by[i]);
	dnp_json_close(json, '}');
	dnp_json_open(json, "failures", '{');
	for (size_t i = 0; i < event->failures.n; i++)
		dnp_json_u64(json, dnp_profile_string(profile, event->failures.p[i].reason),
			event->failures.p[i].count);
	dnp_json_close(json, '}');
}

void dnp_event_members(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_json *json)
{
	dnp_json_text(json, "unit", dnp_profile_string(profile, event->unit));
	dnp_json_text(json, "source", dnp_profile_string(profile, event->source));
	dnp_json_text(json, "note", dnp_profile_string(profile, event->note));
	dnp_json_u64(json, "interval_ns", event->interval_ns);
	dnp_json_u64(json, "samples", event->samples);
	if (event->waiting)
		dnp_json_u64(json, "waiting", event->waiting);
	dnp_json_u64(json, "lost", event->lost);
	dnp_json_u64(json, "truncated", event->truncated);
	dnp_json_u64(json, "unresolved", event->unresolved);
	dnp_json_u64(json, "failed", event->failed);
	put_reasons(profile, event, json);
	dnp_json_u64(json, "frames", event->frames);
	dnp_json_u64(json, "agent_bytes", event->agent_bytes);
	dnp_json_u64(json, "walk_p50_ns", event->walk_p50_ns);
	dnp_json_u64(json, "walk_p99_ns", event->walk_p99_ns);
}
