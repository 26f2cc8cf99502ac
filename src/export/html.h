/* SPDX-License-Identifier: MIT */
#ifndef DNP_EXPORT_HTML_H
#define DNP_EXPORT_HTML_H

#include "aggregate/profile.h"
#include "base/sink.h"

/*
 * Writes `template` with the profile in place of its two markers, @DNPROF_META@ and, behind it,
 * @DNPROF_DATA@. `event` is the one whose samples the threads count.
 */
int dnp_html_write(struct dnp_str template, const struct dnp_profile *profile, uint32_t event,
	struct dnp_sink *sink, struct dnp_err *err);

#endif
