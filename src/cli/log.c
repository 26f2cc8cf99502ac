/* SPDX-License-Identifier: MIT */
/* dnprof log: traced calls, one a line, and how often each function was called. */
#include <string.h>

#include "base/clean.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/words.h"
#include "export/log.h"

#define OPT(name) DNP_OPT(log, name)

struct log {
	const struct dnp_values *values;
	struct dnp_log_options options;
	struct dnp_log_outcome outcome;
	struct dnp_words threads, include, exclude;
	struct dnp_input input;
};

static int parse_options(struct log *log)
{
	const struct dnp_values *values = log->values;

	if (values->given[OPT(calls)] && values->given[OPT(summary)])
		return dnp_usage("log", "--calls and --summary leave nothing; give one of them");
	log->options.by_time = values->given[OPT(by_time)] > 0;
	log->options.times = values->given[OPT(times)] > 0;
	log->options.signatures = values->given[OPT(signatures)] > 0;
	log->options.no_calls = values->given[OPT(summary)] > 0;
	log->options.no_summary = values->given[OPT(calls)] > 0;
	return DNP_EXIT_DONE;
}

static int split_lists(struct log *log, struct dnp_err *err)
{
	const char *const *text = log->values->text;

	if (dnp_words_split(&log->threads, text[OPT(thread)]) ||
		dnp_words_split(&log->include, text[OPT(include)]) ||
		dnp_words_split(&log->exclude, text[OPT(exclude)]))
		return dnp_err(err, -ENOMEM, "cannot write the log: out of memory; free some");
	log->options.threads = log->threads.list.p;
	log->options.thread_count = log->threads.list.n;
	log->options.include = log->include.list.p;
	log->options.include_count = log->include.list.n;
	log->options.exclude = log->exclude.list.p;
	log->options.exclude_count = log->exclude.list.n;
	return 0;
}

static int write_out(struct log *log, struct dnp_err *err)
{
	const char *output = log->values->text[OPT(output)];
	struct dnp_sink_fd out;
	int status;

	if (output && strcmp(output, "-"))
		return dnp_log_write(&log->input, output, &log->options, &log->outcome, err);
	dnp_output_begin(&out);
	status = dnp_log_put(&log->input, &log->options, &out.sink, &log->outcome, err);
	return status ? status : dnp_output_end(&out, "the log", "choose a place with -o", err);
}

static int make_log(struct log *log, int argc, char **argv)
{
	struct dnp_err err = {0};

	if (split_lists(log, &err) || dnp_input_read(&log->input, argc, argv, &err) ||
		write_out(log, &err))
		return dnp_failed(&err);
	if (log->outcome.absent.code)
		dnp_say("%s", log->outcome.absent.text);
	if (log->outcome.incomplete)
		dnp_say("the log is incomplete: %s", log->outcome.missing);
	return log->outcome.absent.code || log->outcome.incomplete ? DNP_EXIT_INCOMPLETE
								   : DNP_EXIT_DONE;
}

int dnp_cmd_log(const struct dnp_values *values, int argc, char **argv)
{
	struct log log = {.values = values};
	int status;

	if (!argc)
		return dnp_usage("log", "no recording named");
	status = parse_options(&log);
	if (!status)
		status = dnp_output_spares("log", values->text[OPT(output)], argc, argv);
	if (status)
		return status;
	dnp_input_init(&log.input);
	status = make_log(&log, argc, argv);
	dnp_input_done(&log.input);
	dnp_words_done(&log.threads);
	dnp_words_done(&log.include);
	dnp_words_done(&log.exclude);
	return status;
}
