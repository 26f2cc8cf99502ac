/* SPDX-License-Identifier: MIT */
/* The part of the report that tells where objects are made, exceptions thrown, locks waited for. */
#ifndef DNP_EXPORT_TEXT_SITES_H
#define DNP_EXPORT_TEXT_SITES_H

#include "aggregate/sites.h"
#include "aggregate/tree.h"
#include "export/line.h"

/* A line: the type, the method, and the program's own ones that called that. */
void dnp_text_site(const struct dnp_tree *tree, const struct dnp_site *site, struct dnp_line *line);

/* Those that weigh most, at most `top` (0: all); nothing where the event has none. 0 or -ENOMEM. */
int dnp_text_sites(const struct dnp_tree *tree, size_t top, struct dnp_line *line);

#endif
