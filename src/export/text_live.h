/* SPDX-License-Identifier: MIT */
/* The part of the report that tells which objects are still there, and where they were made. */
#ifndef DNP_EXPORT_TEXT_LIVE_H
#define DNP_EXPORT_TEXT_LIVE_H

#include "aggregate/tree.h"
#include "export/export.h"
#include "export/line.h"

/* 0 or -ENOMEM. Nothing where no objects were watched. */
int dnp_text_live(const struct dnp_tree *tree, const struct dnp_export_options *options,
	struct dnp_line *line);

#endif
