/* SPDX-License-Identifier: MIT */
/* The part of the report that tells what samples are about: the types that were allocated, say. */
#ifndef DNP_EXPORT_TEXT_LABELS_H
#define DNP_EXPORT_TEXT_LABELS_H

#include "aggregate/tree.h"
#include "export/line.h"

/* Those that weigh most, at most `top` (0: all); nothing where samples have no labels. */
void dnp_text_labels(const struct dnp_tree *tree, size_t top, struct dnp_line *line);

/* Where the true bytes are, in a column: 95 % within. */
void dnp_text_label_range(const struct dnp_label_sum *sum, struct dnp_line *line);

#endif
