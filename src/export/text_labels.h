/* SPDX-License-Identifier: MIT */
/* The part of the report that tells what samples are about: the types that were allocated, say. */
#ifndef DNP_EXPORT_TEXT_LABELS_H
#define DNP_EXPORT_TEXT_LABELS_H

#include "aggregate/tree.h"
#include "export/line.h"

/* Those that weigh most, at most `top` (0: all); nothing where samples have no labels. */
void dnp_text_labels(const struct dnp_tree *tree, size_t top, struct dnp_line *line);

/* Where the true bytes are, in a column: 95 % within. `lot` as of dnp_label_range. */
void dnp_text_label_range(const struct dnp_label_sum *sum, uint64_t lot, struct dnp_line *line);

/* Whether an event's sums are estimates: not every one was counted. */
bool dnp_text_has_ranges(const struct dnp_event *event);
/* Columns of one sum, and what stands above them; what it is of comes after. */
void dnp_text_label_columns(const struct dnp_event *event, bool ranges, struct dnp_line *line);
void dnp_text_label(const struct dnp_event *event, const struct dnp_label_sum *sum, uint64_t total,
	bool ranges, struct dnp_line *line);

#endif
