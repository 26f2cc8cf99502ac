/* SPDX-License-Identifier: MIT */
/* One picture for a terminal, drawn from its top to its bottom; what does not fit is cut. */
#ifndef DNP_CLI_SCREEN_H
#define DNP_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "os/terminal.h"

struct dnp_screen {
	struct dnp_vec_of(struct dnp_terminal_cell) cells; /* line by line */
	int columns, lines;
	bool utf8, colours;
	int column, line; /* the next cell */
	uint8_t colour;   /* it gets */
};

/* A blank one, of the terminal's size. 0 or -ENOMEM. */
int dnp_screen_begin(struct dnp_screen *screen, const struct dnp_terminal *terminal);
void dnp_screen_done(struct dnp_screen *screen);

/* To the beginning of a line, from 0 on. */
void dnp_screen_go(struct dnp_screen *screen, int line);

/* The colour from now on; none on a terminal that is to have none. */
void dnp_screen_paint(struct dnp_screen *screen, enum dnp_terminal_colour colour);

/* One character, which is safe to show. */
void dnp_screen_put(struct dnp_screen *screen, uint32_t code);

/* At most so many columns of any text, made safe, and blanks up to there. */
void dnp_screen_text(struct dnp_screen *screen, const char *text, int columns);

#endif
