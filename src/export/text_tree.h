/* SPDX-License-Identifier: MIT */
#ifndef DNP_EXPORT_TEXT_TREE_H
#define DNP_EXPORT_TEXT_TREE_H

#include "aggregate/tree.h"
#include "export/line.h"

/*
 * The call tree, callers above callees. Only a fork indents: what has a single callee worth showing
 * stands straight above it. Of a long run of such frames that are not the program's own code and do
 * nothing themselves only the ends are shown.
 */
void dnp_text_tree(const struct dnp_tree *tree, double min_percent, struct dnp_line *line);

#endif
