/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#include "os/file_sink.h"

const struct dnp_exporter *const dnp_exporters[] = {
	&dnp_export_text,
	&dnp_export_json,
	&dnp_export_collapsed,
#ifdef DNP_HAVE_PAGE
	&dnp_export_html,
#endif
	&dnp_export_perfetto,
	&dnp_export_chrome,
	&dnp_export_csv,
	NULL,
};

const struct dnp_exporter *dnp_exporter_named(const char *name)
{
	for (size_t i = 0; dnp_exporters[i]; i++)
		if (!strcmp(dnp_exporters[i]->name, name))
			return dnp_exporters[i];
	return NULL;
}

/* The longest of the blank-separated words of `list` that `name` ends with: its length. */
static size_t ending_of(const char *name, const char *list)
{
	struct dnp_str rest = dnp_str(list), ending;
	size_t length = strlen(name), longest = 0;

	while (dnp_str_cut(&rest, ' ', &ending))
		if (ending.n <= length && ending.n > longest &&
			!memcmp(name + length - ending.n, ending.p, ending.n))
			longest = ending.n;
	return longest;
}

const struct dnp_exporter *dnp_exporter_for(const char *path)
{
	const char *slash = strrchr(path, '/');
	const struct dnp_exporter *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; dnp_exporters[i]; i++) {
		size_t length = ending_of(slash ? slash : path, dnp_exporters[i]->extensions);

		if (length > longest) {
			longest = length;
			best = dnp_exporters[i];
		}
	}
	return best;
}

int dnp_export_file(const struct dnp_exporter *exporter, const struct dnp_profile *profile,
	const struct dnp_export_options *options, const char *path, struct dnp_err *err)
{
	struct dnp_sink_file file;
	int status = dnp_sink_file_open(&file, path, err);

	if (status)
		return status;
	status = exporter->write(profile, options, &file.out.sink, err);
	if (status) {
		dnp_sink_file_abort(&file);
		return status;
	}
	return dnp_sink_file_commit(&file, err);
}
