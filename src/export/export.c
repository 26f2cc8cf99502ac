/* SPDX-License-Identifier: MIT */
#include "export/export.h"

const struct dnp_exporter *const dnp_exporters[] = {
	&dnp_export_text,
	&dnp_export_json,
	&dnp_export_collapsed,
#ifdef DNP_HAVE_PAGE
	&dnp_export_html,
#endif
	NULL,
};

const struct dnp_exporter *dnp_exporter_named(const char *name)
{
	for (size_t i = 0; dnp_exporters[i]; i++)
		if (!strcmp(dnp_exporters[i]->name, name))
			return dnp_exporters[i];
	return NULL;
}

/* Whether `ending` is one of the blank-separated words of `list`. */
static bool lists(const char *list, const char *ending)
{
	size_t n = strlen(ending);

	for (const char *at = list; (at = strstr(at, ending)); at += n)
		if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

const struct dnp_exporter *dnp_exporter_for(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *ending = strrchr(slash ? slash : path, '.');

	if (!ending || strchr(ending, ' '))
		return NULL;
	for (size_t i = 0; dnp_exporters[i]; i++)
		if (lists(dnp_exporters[i]->extensions, ending))
			return dnp_exporters[i];
	return NULL;
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
