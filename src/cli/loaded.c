/* SPDX-License-Identifier: MIT */
#include "cli/loaded.h"

#include <string.h>

#include "aggregate/chosen.h"
#include "base/clean.h"
#include "cli/cli.h"
#include "read/symbolize.h"

void dnp_loaded_init(struct dnp_loaded *loaded)
{
	*loaded = (struct dnp_loaded){0};
	dnp_input_init(&loaded->input);
}

void dnp_loaded_done(struct dnp_loaded *loaded)
{
	dnp_profile_done(&loaded->profile);
	dnp_input_done(&loaded->input);
	dnp_vec_done(&loaded->names.bytes);
}

/* A recording whose launcher had no time to look up names gets them now, if this is its machine. */
static int add_names(struct dnp_loaded *loaded, struct dnp_err *err)
{
	struct dnp_input *input = &loaded->input;
	size_t found, total = 0;

	dnp_sink_memory_init(&loaded->names);
	for (size_t i = 0; i < input->recordings.n; i++) {
		if (dnp_symbolize(&input->recordings.p[i], &loaded->names.sink, &found))
			return dnp_err(err, -ENOMEM, "cannot report: out of memory; free some");
		total += found;
	}
	if (!total)
		return 0;
	if (dnp_input_add_bytes(
		    input, "names of functions", loaded->names.bytes.p, loaded->names.bytes.n, err))
		return err->code;
	return dnp_input_finish(input, err);
}

int dnp_loaded_read(struct dnp_loaded *loaded, int argc, char **argv, struct dnp_err *err)
{
	int status = dnp_input_read(&loaded->input, argc, argv, err);

	return status ? status : add_names(loaded, err);
}

int dnp_loaded_profile(struct dnp_loaded *loaded, const struct dnp_exporter *exporter,
	const struct dnp_filter *filter, struct dnp_err *err)
{
	int status;

	if (dnp_profile_init(&loaded->profile, exporter->detail, filter))
		return dnp_err(err, -ENOMEM, "cannot report: out of memory; free some");
	status = dnp_profile_add(&loaded->profile, &loaded->input, err);
	if (status)
		return status;
	dnp_profile_finish(&loaded->profile);
	return dnp_loaded_requests(loaded, exporter, err);
}

/* The names of all events, as "cpu, wall". Owned by the caller; NULL: no memory. */
static char *list_events(const struct dnp_profile *profile)
{
	struct dnp_sink_memory list;

	dnp_sink_memory_init(&list);
	for (size_t i = 0; i < profile->events.n; i++)
		dnp_sink_printf(&list.sink, "%s%s", i ? ", " : "",
			dnp_profile_string(profile, profile->events.p[i].name));
	dnp_sink_write(&list.sink, "", 1);
	return list.bytes.p;
}

/* "switches", or the plural of what the event is about. */
static void put_plural(const struct dnp_profile *profile, uint32_t event, struct dnp_text *out)
{
	const struct dnp_event *of = &profile->events.p[event];

	dnp_text_puts(out, of->switches ? "switche" : dnp_profile_string(profile, of->name));
	dnp_text_puts(out, "s");
}

static int only_stacks(
	struct dnp_profile *profile, const char *name, const char *output, struct dnp_err *err)
{
	uint32_t event = name ? dnp_profile_event(profile, name) : 0;
	bool recorded = event != DNP_NONE;
	char buffer[64];
	struct dnp_text what;

	dnp_text_init(&what, buffer, sizeof(buffer));
	if (recorded)
		put_plural(profile, event, &what);
	dnp_profile_keep_stacks(profile);
	if (profile->events.n &&
		(!name || !recorded || dnp_profile_event(profile, name) != DNP_NONE))
		return 0;
	return dnp_err(err, -ENODATA,
		"cannot write %s: that shows stacks, and %s have none; write a .html, text, or "
		"--json",
		output, recorded ? buffer : "its events");
}

static int only_switches(const struct dnp_profile *profile, const char *name, const char *output,
	uint32_t *event, struct dnp_err *err)
{
	if (!dnp_profile_switches(profile, event))
		return dnp_err(err, -ENODATA,
			"cannot write %s: that shows switches of threads, and none were recorded; "
			"record with -e switch",
			output);
	if (!name || dnp_profile_event(profile, name) == *event)
		return 0;
	return dnp_err(err, -ENODATA,
		"cannot write %s: that shows switches of threads, not %s; leave -e away", output,
		name);
}

/* Since it does not go with requests. */
static bool is_left_out(const struct dnp_profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->requests.left_out.n; i++)
		if (!strcmp(dnp_profile_string(profile, profile->requests.left_out.p[i]), name))
			return true;
	return false;
}

static bool is(const struct dnp_profile *profile, const struct dnp_event *event, const char *name)
{
	return !strcmp(dnp_profile_string(profile, event->name), name);
}

/*
 * Of all events but wall nobody knows whether threads waited. Whose stack is taken as something
 * happens runs, but for those that waited for a lock or a handle, or were in native code.
 */
static bool knows_state(const struct dnp_profile *profile, uint32_t event)
{
	const struct dnp_event *it = &profile->events.p[event];

	if (!it->taken)
		return true;
	if (profile->filter.state == DNP_STATE_RUNNING)
		return !is(profile, it, "lock") && !is(profile, it, "waithandle") &&
			!is(profile, it, "transition");
	return profile->filter.state != DNP_STATE_WAITING || it->waited || is(profile, it, "wall");
}

int dnp_loaded_event(struct dnp_loaded *loaded, const struct dnp_exporter *exporter,
	const char *name, const char *output, uint32_t *event, struct dnp_err *err)
{
	struct dnp_profile *profile = &loaded->profile;
	auto_free char *recorded = NULL;

	if (!profile->events.n)
		return dnp_err(err, -ENODATA,
			"nothing to report: the recording has no events; record again");
	if (exporter->switches)
		return only_switches(profile, name, output, event, err);
	if (exporter->stacks && only_stacks(profile, name, output, err))
		return err->code;
	*event = name ? dnp_profile_event(profile, name) : 0;
	if (*event != DNP_NONE && !knows_state(profile, *event))
		return dnp_err(err, -EINVAL,
			"cannot show %s for --state %s: it does not know who %s; leave --state "
			"away, or choose -e wall",
			dnp_profile_string(profile, profile->events.p[*event].name),
			profile->filter.state == DNP_STATE_RUNNING ? "running" : "waiting",
			profile->filter.state == DNP_STATE_RUNNING ? "ran" : "waited");
	if (*event != DNP_NONE)
		return 0;
	if (is_left_out(profile, name))
		return dnp_err(err, -EINVAL,
			"cannot show %s for --request: nobody knows for which request it was; "
			"leave --request away",
			name);
	recorded = list_events(profile);
	return dnp_err(err, -ENOENT, "cannot show %s: it was not recorded%s; choose with -e: %s",
		name, profile->incomplete ? ", or is in what is missing" : "",
		recorded ? recorded : "");
}

int dnp_said_absent(const struct dnp_profile *profile)
{
	struct dnp_err err = {0};

	if (!dnp_chosen_exist(profile, &err) && !dnp_requests_exist(profile, &err))
		return DNP_EXIT_DONE;
	dnp_say("%s", err.text);
	return DNP_EXIT_INCOMPLETE;
}

/* The options of a filter that leave out stacks, as "--thread, --include". */
static void list_options(const struct dnp_filter *filter, struct dnp_text *out)
{
	const struct {
		bool given;
		const char *name;
	} options[] = {
		{filter->thread_count, "--thread"},
		{filter->request_count, "--request"},
		{filter->state, "--state"},
		{filter->include_count, "--include"},
		{filter->exclude_count, "--exclude"},
	};
	const char *before = "";

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!options[i].given)
			continue;
		dnp_text_puts(out, before);
		dnp_text_puts(out, options[i].name);
		before = ", ";
	}
}

/* Whether all of it is shown whatever patterns choose: it has no stacks, or more than these. */
static bool is_all_shown(const struct dnp_profile *profile, const struct dnp_event *event)
{
	return event->switches || event->says ||
		(profile->collections.n && is(profile, event, "gc"));
}

/* Whether any stack or call is left of those that there were; true if there was none. */
static bool is_any_left(const struct dnp_profile *profile)
{
	bool taken = false;

	for (size_t i = 0; i < profile->events.n; i++) {
		const struct dnp_event *event = &profile->events.p[i];

		if (event->switches || event->says)
			continue;
		if (event->samples || (event->calls && event->calls->calls))
			return true;
		taken = taken || (event->taken && !is_all_shown(profile, event));
	}
	return !taken;
}

int dnp_said_nothing_left(const struct dnp_profile *profile, uint32_t event)
{
	const struct dnp_filter *filter = &profile->filter;
	const struct dnp_event *shown = event == DNP_NONE ? NULL : &profile->events.p[event];
	char buffer[64];
	struct dnp_text options;

	if (!filter->include_count && !filter->exclude_count)
		return DNP_EXIT_DONE;
	if ((shown && is_all_shown(profile, shown)) || is_any_left(profile))
		return DNP_EXIT_DONE;
	dnp_text_init(&options, buffer, sizeof(buffer));
	if (filter->thread_count || filter->request_count || filter->state) {
		list_options(filter, &options);
		dnp_say("%s together left out all that was recorded; leave one of them away",
			buffer);
	} else {
		dnp_say("%s left out all that was recorded; give %s pattern",
			filter->exclude_count ? "--exclude" : "--include",
			filter->exclude_count ? "a narrower" : "a wider");
	}
	return DNP_EXIT_INCOMPLETE;
}

int dnp_loaded_whole(
	const struct dnp_loaded *loaded, const struct dnp_exporter *exporter, uint32_t event)
{
	const struct dnp_profile *profile = &loaded->profile;
	int status = dnp_said_absent(profile);

	if (!status)
		status = dnp_said_nothing_left(profile, exporter->chooses ? DNP_NONE : event);
	if (!profile->incomplete)
		return status;
	dnp_say("the recording is incomplete: %s", dnp_profile_string(profile, profile->missing));
	return DNP_EXIT_INCOMPLETE;
}
