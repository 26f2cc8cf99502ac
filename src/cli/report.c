/* SPDX-License-Identifier: MIT */
/* dnprof report: recordings as text, JSON, or what the output's name ends with. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/clean.h"
#include "cli/cli.h"
#include "cli/words.h"
#include "export/export.h"
#include "read/symbolize.h"

#define OPT(name) DNP_OPT(report, name)

struct report {
	const struct dnp_values *values;
	const struct dnp_exporter *exporter;
	struct dnp_export_options options;
	struct dnp_words threads, include, exclude;
	struct dnp_input input;
	struct dnp_sink_memory names; /* chunks with the names of native functions */
	struct dnp_profile profile;
};

static bool parse_percent(const char *text, double *percent)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789.")])
		return false;
	*percent = strtod(text, &end);
	return !*end && *percent <= 100;
}

static unsigned terminal_columns(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
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

	report->exporter = &dnp_export_text;
	if (report->values->given[OPT(json)])
		report->exporter = &dnp_export_json;
	else if (output && strcmp(output, "-"))
		report->exporter = dnp_exporter_for(output);
	if (!report->exporter)
		return dnp_usage("report", "%s: no format is known by that ending", output);
	return DNP_EXIT_DONE;
}

static int parse_options(struct report *report)
{
	const struct dnp_values *values = report->values;
	bool part = values->given[OPT(threads)] || values->given[OPT(tree)];
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
	report->options.each_thread = values->given[OPT(thread)];
	status = parse_shown(report);
	return status ? status : choose_exporter(report);
}

/* A recording whose launcher had no time to look up names gets them now, if this is its machine. */
static int add_names(struct report *report, struct dnp_err *err)
{
	struct dnp_input *input = &report->input;
	size_t found, total = 0;

	dnp_sink_memory_init(&report->names);
	for (size_t i = 0; i < input->recordings.n; i++) {
		if (dnp_symbolize(&input->recordings.p[i], &report->names.sink, &found))
			return dnp_err(err, -ENOMEM, "cannot report: out of memory; free some");
		total += found;
	}
	if (!total)
		return 0;
	if (dnp_input_add_bytes(
		    input, "names of functions", report->names.bytes.p, report->names.bytes.n, err))
		return err->code;
	return dnp_input_finish(input, err);
}

static int read_files(struct report *report, int argc, char **argv, struct dnp_err *err)
{
	int status;

	for (int i = 0; i < argc; i++) {
		status = dnp_input_add_file(&report->input, argv[i], err);
		if (status)
			return status;
	}
	status = dnp_input_finish(&report->input, err);
	return status ? status : add_names(report, err);
}

static int make_profile(struct report *report, struct dnp_err *err)
{
	struct dnp_filter filter;
	int status;

	if (dnp_words_split(&report->threads, report->values->text[OPT(thread)]) ||
		dnp_words_split(&report->include, report->values->text[OPT(include)]) ||
		dnp_words_split(&report->exclude, report->values->text[OPT(exclude)]))
		return dnp_err(err, -ENOMEM, "cannot report: out of memory; free some");
	filter = (struct dnp_filter){
		.threads = report->threads.list.p,
		.thread_count = report->threads.list.n,
		.include = report->include.list.p,
		.include_count = report->include.list.n,
		.exclude = report->exclude.list.p,
		.exclude_count = report->exclude.list.n,
	};
	if (!report->exporter->chooses) {
		filter.native = report->options.native;
		filter.state = report->options.state;
	}
	if (dnp_profile_init(&report->profile, report->exporter->timed, &filter))
		return dnp_err(err, -ENOMEM, "cannot report: out of memory; free some");
	status = dnp_profile_add(&report->profile, &report->input, err);
	if (!status)
		dnp_profile_finish(&report->profile);
	return status;
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

static int choose_event(struct report *report, struct dnp_err *err)
{
	const struct dnp_profile *profile = &report->profile;
	const char *name = report->values->text[OPT(event)];
	auto_free char *recorded = NULL;

	if (!profile->events.n)
		return dnp_err(err, -ENODATA,
			"nothing to report: the recording has no events; record again");
	report->options.event = name ? dnp_profile_event(profile, name) : 0;
	if (report->options.event != DNP_NONE)
		return 0;
	recorded = list_events(profile);
	return dnp_err(err, -ENOENT, "cannot show %s: it was not recorded; choose with -e: %s",
		name, recorded ? recorded : "");
}

static int write_out(struct report *report, struct dnp_err *err)
{
	const char *output = report->values->text[OPT(output)];
	struct dnp_sink_fd out;
	int status;

	if (output && strcmp(output, "-"))
		return dnp_export_file(
			report->exporter, &report->profile, &report->options, output, err);
	report->options.columns = terminal_columns();
	dnp_sink_fd_init(&out, STDOUT_FILENO);
	status = report->exporter->write(&report->profile, &report->options, &out.sink, err);
	if (status)
		return status;
	status = dnp_sink_fd_flush(&out);
	if (status && status != -EPIPE)
		return dnp_err(err, status, "cannot write the report: %s; choose a place with -o",
			strerror(-status));
	return 0;
}

static int make_report(struct report *report, int argc, char **argv)
{
	struct dnp_err err = {0};

	if (read_files(report, argc, argv, &err) || make_profile(report, &err) ||
		choose_event(report, &err) || write_out(report, &err))
		return dnp_failed(&err);
	if (!report->profile.incomplete)
		return DNP_EXIT_DONE;
	dnp_say("the recording is incomplete: %s",
		dnp_profile_string(&report->profile, report->profile.missing));
	return DNP_EXIT_INCOMPLETE;
}

int dnp_cmd_report(const struct dnp_values *values, int argc, char **argv)
{
	struct report report = {.values = values};
	int status;

	if (!argc)
		return dnp_usage("report", "no recording named");
	status = parse_options(&report);
	if (status)
		return status;
	dnp_input_init(&report.input);
	status = make_report(&report, argc, argv);
	dnp_profile_done(&report.profile);
	dnp_input_done(&report.input);
	dnp_vec_done(&report.names.bytes);
	dnp_words_done(&report.threads);
	dnp_words_done(&report.include);
	dnp_words_done(&report.exclude);
	return status;
}
