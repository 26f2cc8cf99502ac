/* SPDX-License-Identifier: MIT */
/* The part of the report that tells of switches: what each thread got. */
#ifndef DNP_EXPORT_TEXT_SWITCHES_H
#define DNP_EXPORT_TEXT_SWITCHES_H

#include "export/export.h"
#include "export/line.h"

/* What was recorded, and how. */
void dnp_text_switches_event(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_line *line);

/* Every thread, those that computed most first. 0 or -ENOMEM. */
int dnp_text_switches_threads(const struct dnp_profile *profile, const struct dnp_event *event,
	const struct dnp_export_options *options, struct dnp_line *line);

/* What each thread waited for, where that is known. 0 or -ENOMEM. */
int dnp_text_switches_waits(const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_line *line);

/* How often each was woken by whom, and after what time it had a processor. 0 or -ENOMEM. */
int dnp_text_switches_wakes(const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_line *line);

#endif
