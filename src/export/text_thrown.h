/* SPDX-License-Identifier: MIT */
/* The part of the report that tells what became of exceptions: who caught them, and what they say.
 */
#ifndef DNP_EXPORT_TEXT_THROWN_H
#define DNP_EXPORT_TEXT_THROWN_H

#include "aggregate/tree.h"
#include "export/line.h"

/* Of the most frequent types, at most `top` (0: all); nothing where there are none. */
void dnp_text_thrown(const struct dnp_tree *tree, size_t top, struct dnp_line *line);

#endif
