/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a screen of one's own: nothing is echoed, keys come one by one, and what was on
 * it is there again afterwards, however it ends. One thread.
 */
#ifndef DNP_CLI_TERMINAL_H
#define DNP_CLI_TERMINAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct dnp_terminal {
	struct termios before;
	sigset_t signals_before;
	int signals; /* owned: a descriptor of those that ask to end, stop or draw anew */
	bool utf8, colours;
	bool ended; /* somebody wants it to end */
	int columns, lines;
};

/* Whether input and output are a terminal that can be drawn on. */
bool dnp_terminal_possible(void);

/* 0 or -errno. */
int dnp_terminal_open(struct dnp_terminal *terminal);
void dnp_terminal_close(struct dnp_terminal *terminal);

/*
 * Waits for a key at most that long. Its character, 0: none came, or the size has changed; -1: it
 * is to end (`ended`, too).
 */
int dnp_terminal_key(struct dnp_terminal *terminal, uint64_t patience_ns);

#endif
