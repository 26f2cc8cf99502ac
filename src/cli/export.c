/* SPDX-License-Identifier: MIT */
/* dnprof export: recordings in the formats of other tools. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/loaded.h"
#include "cli/output.h"
#include "cli/words.h"

#define OPT(name) DNP_OPT(export, name)

struct export
{
	const struct dnp_values *values;
	const struct dnp_exporter *exporter;
	struct dnp_export_options options;
	struct dnp_words threads, requests;
	struct dnp_loaded loaded;
};

static bool to_stdout(const struct dnp_values *values)
{
	const char *output = values->text[OPT(output)];

	return !output || !strcmp(output, "-");
}

static int unknown_format(const char *format)
{
	char names[128];
	size_t used = 0;

	for (size_t i = 0; dnp_exporters[i] && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
			dnp_exporters[i]->name);
	return dnp_usage("export", "-f %s: no such format; choose: %s", format, names);
}

static int choose_exporter(struct export *export)
{
	const char *format = export->values->text[OPT(format)];
	const char *output = export->values->text[OPT(output)];

	if (format) {
		export->exporter = dnp_exporter_named(format);
		return export->exporter ? DNP_EXIT_DONE : unknown_format(format);
	}
	if (to_stdout(export->values))
		return dnp_usage("export", "the format is missing; give -o FILE or -f FORMAT");
	export->exporter = dnp_exporter_for(output);
	if (export->exporter)
		return DNP_EXIT_DONE;
	return dnp_usage(
		"export", "-o %s: no format is known by that ending; add -f FORMAT", output);
}

static int make_profile(struct export *export, struct dnp_err *err)
{
	struct dnp_filter filter;

	if (dnp_words_split(&export->threads, export->values->text[OPT(thread)]) ||
		dnp_words_split(&export->requests, export->values->text[OPT(request)]))
		return dnp_err(err, -ENOMEM, "cannot export: out of memory; free some");
	filter = (struct dnp_filter){
		.threads = export->threads.list.p,
		.thread_count = export->threads.list.n,
		.requests = export->requests.list.p,
		.request_count = export->requests.list.n,
	};
	return dnp_loaded_profile(&export->loaded, export->exporter, &filter, err);
}

static int write_out(struct export *export, struct dnp_err *err)
{
	const struct dnp_profile *profile = &export->loaded.profile;
	struct dnp_sink_fd out;
	int status;

	if (!to_stdout(export->values))
		return dnp_export_file(export->exporter, profile, &export->options,
			export->values->text[OPT(output)], err);
	dnp_output_begin(&out);
	status = export->exporter->write(profile, &export->options, &out.sink, err);
	return status ? status : dnp_output_end(&out, "the export", "choose a place with -o", err);
}

static int make_export(struct export *export, int argc, char **argv)
{
	const char *const *text = export->values->text;
	const char *output = text[OPT(output)] ? text[OPT(output)] : export->exporter->name;
	struct dnp_err err = {0};

	if (dnp_loaded_read(&export->loaded, argc, argv, &err) || make_profile(export, &err) ||
		dnp_loaded_event(&export->loaded, export->exporter, text[OPT(event)], output,
			&export->options.event, &err) ||
		write_out(export, &err))
		return dnp_failed(&err);
	return dnp_loaded_whole(&export->loaded, export->exporter, export->options.event);
}

int dnp_cmd_export(const struct dnp_values *values, int argc, char **argv)
{
	struct export export = {
		.values = values,
		.options = {.methods = true, .threads = true, .tree = true},
	};
	int status;

	if (!argc)
		return dnp_usage("export", "no recording named");
	status = choose_exporter(&export);
	if (!status)
		status = dnp_output_spares("export", values->text[OPT(output)], argc, argv);
	if (status)
		return status;
	export.options.input = &export.loaded.input;
	dnp_loaded_init(&export.loaded);
	status = make_export(&export, argc, argv);
	dnp_loaded_done(&export.loaded);
	dnp_words_done(&export.threads);
	dnp_words_done(&export.requests);
	return status;
}
