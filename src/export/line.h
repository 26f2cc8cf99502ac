/* SPDX-License-Identifier: MIT */
/*
 * Lines of text for a terminal or a file: keeps count of the columns, cuts what is too wide, and
 * lets nothing through that would act on the terminal.
 */
#ifndef DNP_EXPORT_LINE_H
#define DNP_EXPORT_LINE_H

#include <stdbool.h>

#include "base/sink.h"

struct dnp_line {
	struct dnp_sink *sink; /* borrowed */
	unsigned columns;      /* 0: as long as they get */
	size_t used;           /* columns of the line so far */
	unsigned wrap;         /* own words and texts go on in a new line, so far indented; 0: no */
	bool space;            /* where wrap is set: a blank to come before the next word */
};

/* Our own words. */
void dnp_line_puts(struct dnp_line *line, const char *text);
void dnp_line_printf(struct dnp_line *line, const char *format, ...)
	__attribute__((format(__printf__, 2, 3)));
/* The same, to the right of a field. */
void dnp_line_right(struct dnp_line *line, const char *text, size_t width);

/* Words of unknown origin, cut where the line ends if they do not go on in the next. */
void dnp_line_text(struct dnp_line *line, const char *text);
/* A name: where it is too long it loses its arguments first, then its beginning. */
void dnp_line_name(struct dnp_line *line, const char *name);
/* Ends the line, and the wrapping. */
void dnp_line_end(struct dnp_line *line);

#endif
