/* SPDX-License-Identifier: MIT */
/* dnprof report: recordings as text, JSON, or what the output's name ends with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/chosen.h"
#include "aggregate/tree.h"
#include "base/clean.h"
#include "cli/cli.h"
#include "cli/loaded.h"
#include "cli/output.h"
#include "cli/words.h"
#include "os/console.h"

#define OPT(name) DNP_OPT(report, name)

struct report {
	const struct dnp_values *values;
	const struct dnp_exporter *exporter;
	struct dnp_export_options options;
	struct dnp_words threads, requests, include, exclude, about;
	struct dnp_loaded loaded;
};

static bool parse_percent(const char *text, double *percent)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789.")])
		return false;
	*percent = strtod(text, &end);
	return !*end && *percent <= 100;
}

static int parse_shown(struct report *report)
{
	static const char *const natives[] = {"all", "leaf", "none", NULL};
	static const char *const states[] = {"any", "running", "waiting", NULL};
	const char *const *text = report->values->text;
	int native = dnp_choose("report", "native", text[OPT(native)], natives), state;

	if (native < 0)
		return DNP_EXIT_USAGE;
	state = dnp_choose("report", "state", text[OPT(state)], states);
	if (state < 0)
		return DNP_EXIT_USAGE;
	report->options.native = (enum dnp_native)native;
	report->options.state = (enum dnp_state)state;
	return DNP_EXIT_DONE;
}

static int choose_exporter(struct report *report)
{
	const char *output = report->values->text[OPT(output)];
	bool to_file = output && strcmp(output, "-"), json = report->values->given[OPT(json)];

	report->exporter = to_file ? dnp_exporter_for(output) : &dnp_export_text;
	if (json && to_file && report->exporter)
		return dnp_usage("report",
			"-o %s: that ending means %s, not --json; choose another name, or leave "
			"--json away",
			output, report->exporter->name);
	if (json)
		report->exporter = &dnp_export_json;
	if (!report->exporter)
		return dnp_usage("report", "%s: no format is known by that ending", output);
	return DNP_EXIT_DONE;
}

/* Options that choose stacks mean nothing where none are shown. */
static int check_chosen(const struct report *report)
{
	static const struct {
		unsigned option;
		const char *shown;
	} of_stacks[] = {
		{OPT(include), "--include"},
		{OPT(exclude), "--exclude"},
		{OPT(native), "--native"},
		{OPT(state), "--state"},
	};

	for (size_t i = 0; report->exporter->switches && i < DNP_ARRAY_SIZE(of_stacks); i++)
		if (report->values->given[of_stacks[i].option])
			return dnp_usage("report",
				"%s chooses stacks, and %s shows switches of threads; leave %s "
				"away",
				of_stacks[i].shown, report->exporter->name, of_stacks[i].shown);
	return DNP_EXIT_DONE;
}

static bool has_stacks(const struct dnp_event *event)
{
	return !event->switches && !event->says;
}

/*
 * Trees and methods are those of stacks: the first event that has some is meant, unless one is
 * named.
 */
static int check_stacks(struct report *report, struct dnp_err *err)
{
	const struct dnp_profile *profile = &report->loaded.profile;
	const unsigned *given = report->values->given;
	const char *option = given[OPT(tree)] ? "--tree" : given[OPT(method)] ? "--method" : NULL;
	uint32_t *event_index = &report->options.event, named = *event_index;
	const struct dnp_event *event;

	if (!option || named >= profile->events.n)
		return 0;
	while (!given[OPT(event)] && !given[OPT(state)] && *event_index < profile->events.n &&
		!has_stacks(&profile->events.p[*event_index]))
		++*event_index;
	if (*event_index == profile->events.n)
		*event_index = named;
	event = &profile->events.p[*event_index];
	if (has_stacks(event))
		return 0;
	return dnp_err(err, -EINVAL,
		"cannot show %s for %s: it has no stacks; leave %s away, or choose another event",
		dnp_profile_string(profile, event->name), option, option);
}

static int parse_options(struct report *report)
{
	const struct dnp_values *values = report->values;
	bool part = values->given[OPT(threads)] || values->given[OPT(tree)] ||
		values->given[OPT(method)];
	bool json = values->given[OPT(json)];
	uint64_t top;
	int status;

	if (!dnp_parse_count(values->text[OPT(top)], 0, UINT32_MAX, &top))
		return dnp_usage("report", "--top %s: not a number", values->text[OPT(top)]);
	if (!parse_percent(values->text[OPT(min)], &report->options.min_percent))
		return dnp_usage(
			"report", "--min %s: not a share in percent", values->text[OPT(min)]);
	report->options.top = json && !values->given[OPT(top)] ? 0 : top;
	if (json && !values->given[OPT(min)])
		report->options.min_percent = 0;
	report->options.methods = !part;
	report->options.threads = !part || values->given[OPT(threads)];
	report->options.tree = !part || values->given[OPT(tree)];
	report->options.input = &report->loaded.input;
	report->options.each_thread = values->given[OPT(thread)];
	status = parse_shown(report);
	if (!status)
		status = choose_exporter(report);
	return status ? status : check_chosen(report);
}

static int make_profile(struct report *report, struct dnp_err *err)
{
	struct dnp_filter filter;

	if (dnp_words_split(&report->threads, report->values->text[OPT(thread)]) ||
		dnp_words_split(&report->requests, report->values->text[OPT(request)]) ||
		dnp_words_split(&report->include, report->values->text[OPT(include)]) ||
		dnp_words_split(&report->exclude, report->values->text[OPT(exclude)]) ||
		dnp_words_split(&report->about, report->values->text[OPT(method)]))
		return dnp_err(err, -ENOMEM, "cannot report: out of memory; free some");
	report->options.about = report->about.list.p;
	report->options.about_count = report->about.list.n;
	filter = (struct dnp_filter){
		.threads = report->threads.list.p,
		.thread_count = report->threads.list.n,
		.requests = report->requests.list.p,
		.request_count = report->requests.list.n,
		.include = report->include.list.p,
		.include_count = report->include.list.n,
		.exclude = report->exclude.list.p,
		.exclude_count = report->exclude.list.n,
	};
	if (!report->exporter->chooses) {
		filter.native = report->options.native;
		filter.state = report->options.state;
	}
	return dnp_loaded_profile(&report->loaded, report->exporter, &filter, err);
}

static int choose_event(struct report *report, struct dnp_err *err)
{
	const char *const *text = report->values->text;

	return dnp_loaded_event(&report->loaded, report->exporter, text[OPT(event)],
		text[OPT(output)], &report->options.event, err);
}

static int write_out(struct report *report, struct dnp_err *err)
{
	const char *output = report->values->text[OPT(output)];
	struct dnp_sink_fd out;
	int status;

	if (output && strcmp(output, "-"))
		return dnp_export_file(
			report->exporter, &report->loaded.profile, &report->options, output, err);
	report->options.columns = dnp_console_columns();
	dnp_output_begin(&out);
	status = report->exporter->write(&report->loaded.profile, &report->options, &out.sink, err);
	return status ? status : dnp_output_end(&out, "the report", "choose a place with -o", err);
}

/* Whether the event that is shown has a method for each pattern of --method. */
static int look_for_methods(
	const struct dnp_tree *tree, const struct dnp_export_options *options, struct dnp_err *err)
{
	int status = 0;

	for (size_t i = 0; i < options->about_count && !status; i++) {
		struct dnp_search search = {
			.option = "--method", .pattern = options->about[i], .kind = "methods"};

		for (size_t k = 0; k < tree->methods.n && !search.found; k++)
			dnp_search_see(&search, dnp_tree_name(tree, tree->methods.p[k].frame));
		status = dnp_search_end(&search, err);
	}
	return status;
}

static int tell_missing(const struct report *report)
{
	const struct dnp_export_options *options = &report->options;
	int status = dnp_loaded_whole(&report->loaded, report->exporter, options->event);
	struct dnp_err err = {0};
	struct dnp_tree tree;

	if (status || !options->about_count)
		return status;
	if (dnp_tree_init(&tree, &report->loaded.profile, options->event))
		dnp_err(&err, -ENOMEM, "cannot report: out of memory; free some");
	else
		look_for_methods(&tree, options, &err);
	dnp_tree_done(&tree);
	if (!err.code)
		return DNP_EXIT_DONE;
	dnp_say("%s", err.text);
	return DNP_EXIT_INCOMPLETE;
}

static int make_report(struct report *report, int argc, char **argv)
{
	struct dnp_err err = {0};

	if (dnp_loaded_read(&report->loaded, argc, argv, &err) || make_profile(report, &err) ||
		choose_event(report, &err) || check_stacks(report, &err) || write_out(report, &err))
		return dnp_failed(&err);
	return tell_missing(report);
}

int dnp_cmd_report(const struct dnp_values *values, int argc, char **argv)
{
	struct report report = {.values = values};
	int status;

	if (!argc)
		return dnp_usage("report", "no recording named");
	status = parse_options(&report);
	if (!status)
		status = dnp_output_spares("report", values->text[OPT(output)], argc, argv);
	if (status)
		return status;
	dnp_loaded_init(&report.loaded);
	status = make_report(&report, argc, argv);
	dnp_loaded_done(&report.loaded);
	dnp_words_done(&report.threads);
	dnp_words_done(&report.requests);
	dnp_words_done(&report.include);
	dnp_words_done(&report.exclude);
	dnp_words_done(&report.about);
	return status;
}
