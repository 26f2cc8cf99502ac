/* SPDX-License-Identifier: MIT */
/* What the report for people tells of events that count calls, and of the calls of one method. */
#ifndef DNP_EXPORT_TEXT_CALLS_H
#define DNP_EXPORT_TEXT_CALLS_H

#include "aggregate/tree.h"
#include "export/export.h"
#include "export/line.h"

/* The event in short: how many calls, what was lost, how they ended. */
void dnp_text_calls_event(const struct dnp_tree *tree, struct dnp_line *line);

/* A heading for methods, and one of them. */
void dnp_text_calls_columns(const struct dnp_tree *tree, struct dnp_line *line);
void dnp_text_calls_method(
	const struct dnp_tree *tree, const struct dnp_method *method, struct dnp_line *line);

/* Callers and callees of the methods that options->about names, of any event. 0 or -ENOMEM. */
int dnp_text_neighbours(const struct dnp_tree *tree, const struct dnp_export_options *options,
	struct dnp_line *line);

#endif
