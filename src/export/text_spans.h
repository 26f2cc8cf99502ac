/* SPDX-License-Identifier: MIT */
/* The parts of the report that tell what the program said it was doing. */
#ifndef DNP_EXPORT_TEXT_SPANS_H
#define DNP_EXPORT_TEXT_SPANS_H

#include "export/export.h"
#include "export/line.h"

/* Of events without stacks: ", failed N: reason" for each. */
void dnp_text_failures(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_line *line);

/* How many there are. */
void dnp_text_spans_event(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_line *line);

/* Spans and marks of options->event, by name. 0 or -ENOMEM. */
int dnp_text_spans(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_line *line);

#endif
