/* SPDX-License-Identifier: MIT */
/* The part of the report that tells of collections of garbage. */
#ifndef DNP_EXPORT_TEXT_COLLECTIONS_H
#define DNP_EXPORT_TEXT_COLLECTIONS_H

#include "aggregate/collections.h"
#include "export/export.h"
#include "export/line.h"

/* Of the profile, where there are any. 0 or -ENOMEM. */
int dnp_text_collections(const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_line *line);

#endif
