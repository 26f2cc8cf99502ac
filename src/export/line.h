/* SPDX-License-Identifier: MIT */
/*
 * Lines of text for a terminal or a file: keeps count of the columns, cuts what is too wide, and
 * lets nothing through that would act on the terminal.
 */
#ifndef DNP_EXPORT_LINE_H
#define DNP_EXPORT_LINE_H

#include "base/sink.h"

struct dnp_line {
	struct dnp_sink *sink; /* borrowed */
	unsigned columns;      /* 0: as long as they get */
	size_t used;           /* columns of the line so far */
};

/* Our own words. */
void dnp_line_puts(struct dnp_line *line, const char *text);
void dnp_line_printf(struct dnp_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, to the right of a field. */
void dnp_line_right(struct dnp_line *line, const char *text, size_t width);

/* Words of unknown origin: cut where the line ends. */
void dnp_line_text(struct dnp_line *line, const char *text);
/* A name: where it is too long it loses its arguments first, then its beginning. */
void dnp_line_name(struct dnp_line *line, const char *name);
/* A sentence over as many lines as it takes, those after the first indented; ends the line. */
void dnp_line_wrapped(struct dnp_line *line, const char *text, unsigned indent);

void dnp_line_end(struct dnp_line *line);

#endif
