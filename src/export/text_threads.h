/* SPDX-License-Identifier: MIT */
/* The threads in the report for people. */
#ifndef DNP_EXPORT_TEXT_THREADS_H
#define DNP_EXPORT_TEXT_THREADS_H

#include "aggregate/tree.h"
#include "export/export.h"
#include "export/line.h"

/* What follows, and how much of it. */
void dnp_text_heading(const char *what, size_t shown, size_t all, struct dnp_line *line);

/* 0 or -ENOMEM. */
int dnp_text_threads(const struct dnp_tree *tree, const struct dnp_export_options *options,
	struct dnp_line *line);

#endif
