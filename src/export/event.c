/* SPDX-License-Identifier: MIT */
#include "export/event.h"

#include <string.h>

#include "aggregate/live.h"
#include "export/share.h"
#include "format/rec.h"

const char *dnp_loss_name(size_t reason)
{
	static const char *const names[DNP_LOSS_REASONS] = {
		[DNP_LOSS_RING] = "buffer full",
		[DNP_LOSS_NESTED] = "during another sample",
		[DNP_LOSS_STACK] = "on a foreign stack, or no room on it",
		[DNP_LOSS_QUEUE] = "too many signals pending",
		[DNP_LOSS_ROOM] = "no room for more stacks",
	};

	return reason < DNP_LOSS_REASONS && names[reason] ? names[reason] : "other";
}

static const char *stacks_not_filtered(
	const struct dnp_profile *profile, const struct dnp_event *event)
{
	const struct dnp_filter *filter = &profile->filter;
	bool any =
		filter->include_count || filter->exclude_count || filter->native || filter->state;

	if (!any)
		return NULL;
	return event->switches
		? "--include, --exclude, --native and --state choose stacks, and switches have "
		  "none: all are shown"
		: "--include, --exclude, --native and --state choose stacks, and these have none: "
		  "all are shown";
}

const char *dnp_event_not_filtered(const struct dnp_profile *profile, const struct dnp_event *event)
{
	const struct dnp_filter *filter = &profile->filter;
	bool some = filter->include_count || filter->exclude_count || filter->thread_count ||
		filter->state;

	if (event->switches || event->says)
		return stacks_not_filtered(profile, event);
	if (event->calls)
		return filter->state ? "--state chooses samples, and these are calls: all are shown"
				     : NULL;
	if (some && !strcmp(dnp_profile_string(profile, event->name), "gc"))
		return filter->request_count
			? "collections are the whole process's: all that threads brought about for "
			  "these requests are shown, whichever threads and stacks"
			: "collections are the whole process's: all are shown, whoever brought "
			  "them about";
	if ((some || filter->request_count) &&
		!strcmp(dnp_profile_string(profile, event->name), "live"))
		return "how many objects were watched, and how many collections came, is told of "
		       "the whole process";
	if (event->wait_ns && (some || filter->request_count))
		return "how many waits there were, and for how long, is told of the whole process";
	return NULL;
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

const char *dnp_wait_name(enum dnp_wait_kind kind)
{
	static const char *const names[DNP_WAIT_KINDS] = {
		[DNP_WAIT_OTHER] = "other",
		[DNP_WAIT_LOCK] = "lock",
		[DNP_WAIT_SLEEP] = "sleep",
		[DNP_WAIT_SOCKET] = "socket",
		[DNP_WAIT_FILE] = "file",
		[DNP_WAIT_PIPE] = "pipe",
		[DNP_WAIT_GC] = "gc",
		[DNP_WAIT_POOL] = "pool",
		[DNP_WAIT_EVENT] = "event",
		[DNP_WAIT_SEMAPHORE] = "semaphore",
		[DNP_WAIT_JOIN] = "join",
		[DNP_WAIT_PROCESS] = "process",
		[DNP_WAIT_RUNTIME] = "runtime",
	};

	return names[kind < DNP_WAIT_KINDS ? kind : DNP_WAIT_OTHER];
}

const char *dnp_call_depth_name(enum dnp_call_depth depth)
{
	static const char *const names[] = {"tree", "time", "events"};

	return names[depth];
}

static void put_calls(const struct dnp_calls *calls, struct dnp_json *json)
{
	dnp_json_text(json, "depth", dnp_call_depth_name(calls->depth));
	dnp_json_u64(json, "calls", calls->calls);
	if (!calls->counted)
		return;
	dnp_json_u64(json, "enters", calls->enters);
	dnp_json_u64(json, "leaves", calls->leaves);
	dnp_json_u64(json, "tailcalls", calls->tailcalls);
	dnp_json_u64(json, "unwinds", calls->unwinds);
	dnp_json_u64(json, "open", calls->open);
	dnp_json_u64(json, "waits", calls->waits);
	dnp_json_u64(json, "methods", calls->methods);
	dnp_json_u64(json, "left_out", calls->left_out);
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
	if (event->by_lot && event->lot)
		dnp_json_u64(json, "lot", event->lot);
	if (event->asked_lot)
		dnp_json_u64(json, "lot_asked", event->asked_lot);
	if (event->calls)
		put_calls(event->calls, json);
	if (event->switches) {
		dnp_json_u64(json, "voluntary", event->voluntary);
		dnp_json_u64(json, "involuntary", event->involuntary);
		dnp_json_bool(json, "sampled", event->interval_ns);
	}
	if (event->wait_ns) {
		dnp_json_u64(json, "least_ns", event->wait_ns);
		dnp_json_u64(json, "waits", event->waits);
		dnp_json_u64(json, "seen", event->waits_seen);
		dnp_json_u64(json, "cpu_ns", event->waits_cpu_ns);
		if (event->waited_ns)
			dnp_json_u64(json, "waited_ns", event->waited_ns);
		if (event->waits_endless)
			dnp_json_u64(json, "endless", event->waits_endless);
	}
	dnp_json_u64(json, "samples", event->samples);
	if (event->waiting)
		dnp_json_u64(json, "waiting", event->waiting);
	if (event->clock_ns)
		dnp_json_u64(json, "clock_ns", event->clock_ns);
	if (dnp_event_has_looks(event)) {
		dnp_json_u64(json, "looks", event->looks);
		dnp_json_u64(json, "equal_looks", (uint64_t)(dnp_event_equal_looks(event) + 0.5));
	}
	dnp_json_u64(json, "lost", event->lost);
	if (dnp_live_allocated(profile, event))
		dnp_json_u64(json, "allocated", dnp_live_allocated(profile, event));
	dnp_json_u64(json, "truncated", event->truncated);
	dnp_json_u64(json, "unresolved", event->unresolved);
	dnp_json_u64(json, "failed", event->failed);
	put_reasons(profile, event, json);
	dnp_json_u64(json, "frames", event->frames);
	dnp_json_u64(json, "agent_bytes", event->agent_bytes);
	dnp_json_u64(json, "walk_ns", event->walk_ns);
	dnp_json_u64(json, "walk_p50_ns", event->walk_p50_ns);
	dnp_json_u64(json, "walk_p99_ns", event->walk_p99_ns);
}
