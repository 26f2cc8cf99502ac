/* SPDX-License-Identifier: MIT */
#ifndef DNP_EXPORT_HTML_H
#define DNP_EXPORT_HTML_H

#include "export/export.h"

/*
 * Writes `template` with the profile in place of its two markers, @DNPROF_META@ and, behind it,
 * @DNPROF_DATA@. Event, native frames and state are what the page begins with.
 */
int dnp_html_write(struct dnp_str template, const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_sink *sink, struct dnp_err *err);

#endif
