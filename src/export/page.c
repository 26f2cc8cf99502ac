/* SPDX-License-Identifier: MIT */
/* The exporter of the page that this dnprof was built with. */
#include "export/export.h"
#include "export/html.h"

/* assets.S */
extern const char dnp_page_html[];
extern const uint64_t dnp_page_html_bytes;

static int write_page(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_sink *sink, struct dnp_err *err)
{
	struct dnp_str template = {dnp_page_html, dnp_page_html_bytes};

	return dnp_html_write(template, profile, options, sink, err);
}

const struct dnp_exporter dnp_export_html = {
	.name = "html",
	.extensions = ".html .htm",
	.detail = DNP_BY_TIME,
	.chooses = true,
	.write = write_page,
};
