/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a screen of one's own: nothing is echoed, keys come one by one, and what was on
 * it is there again afterwards, however it ends. One at a time; one thread.
 */
#ifndef DNP_OS_TERMINAL_H
#define DNP_OS_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

enum dnp_terminal_colour {
	DNP_TERMINAL_PLAIN = 0, /* what the terminal has by itself */
	DNP_TERMINAL_RED,
	DNP_TERMINAL_GREEN,
	DNP_TERMINAL_YELLOW,
	DNP_TERMINAL_BLUE,
	DNP_TERMINAL_MAGENTA,
	DNP_TERMINAL_CYAN,
	DNP_TERMINAL_GREY,
};

struct dnp_terminal_cell {
	uint32_t code;  /* of one column, and safe to show (base/utf8.h) */
	uint8_t colour; /* enum dnp_terminal_colour */
};

struct dnp_terminal {
	bool utf8, colours; /* what it can show, and is to */
	bool ended;         /* somebody wants it to end */
	int columns, lines;
	struct dnp_terminal_os *os; /* owned */
};

/* Whether input and output are a terminal that can be drawn on. */
bool dnp_terminal_possible(void);

/* 0 or -errno, and all is as it was. */
int dnp_terminal_open(struct dnp_terminal *terminal);
void dnp_terminal_close(struct dnp_terminal *terminal);

/*
 * Waits for a key at most that long. Its character, 0: none came, or the size has changed; -1: it
 * is to end (`ended`, too). The size is that of the last call.
 */
int dnp_terminal_key(struct dnp_terminal *terminal, uint64_t patience_ns);

/* Shows columns * lines cells, line by line, instead of what it shows. 0 or -errno. */
int dnp_terminal_draw(struct dnp_terminal *terminal, const struct dnp_terminal_cell *cells);

/* By the environment, as on Unix; where it does not say: `unsaid`. */
bool dnp_terminal_says_utf8(bool unsaid);

#endif
