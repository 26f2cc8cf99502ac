/* SPDX-License-Identifier: MIT */
/* Pictures for a terminal of any size. */
#include "cli/screen.h"

#include <string.h>

#include "test.h"

/* The characters of a line, all of which are ASCII here. */
static const char *line_of(const struct dnp_screen *screen, int line)
{
	static char text[64];

	for (int i = 0; i < screen->columns; i++)
		text[i] = (char)screen->cells.p[line * screen->columns + i].code;
	text[screen->columns] = '\0';
	return text;
}

TEST(screen_is_blank_and_cuts_what_does_not_fit)
{
	const struct dnp_terminal terminal = {.columns = 6, .lines = 2, .utf8 = true};
	struct dnp_screen screen = {0};

	CHECK_EQ(dnp_screen_begin(&screen, &terminal), 0);
	CHECK_EQ(screen.cells.n, 12);
	dnp_screen_text(&screen, "longer than that", 16);
	for (int line = 1; line < 5; line++) {
		dnp_screen_go(&screen, line);
		dnp_screen_text(&screen, line == 1 ? "ab" : "below", 4);
		dnp_screen_put(&screen, '|');
	}
	CHECK_STR(line_of(&screen, 0), "longer");
	CHECK_STR(line_of(&screen, 1), "ab  | ");
	CHECK_EQ(dnp_screen_begin(&screen, &terminal), 0);
	CHECK_STR(line_of(&screen, 0), "      ");
	dnp_screen_done(&screen);
}

TEST(screen_of_no_size)
{
	const struct dnp_terminal terminal = {.columns = 0, .lines = 0};
	struct dnp_screen screen = {0};

	CHECK_EQ(dnp_screen_begin(&screen, &terminal), 0);
	dnp_screen_text(&screen, "nothing", 7);
	dnp_screen_go(&screen, terminal.lines - 1);
	dnp_screen_text(&screen, "nothing", 7);
	CHECK_EQ(screen.cells.n, 0);
	dnp_screen_done(&screen);
}

TEST(screen_shows_what_the_terminal_can)
{
	struct dnp_terminal terminal = {.columns = 4, .lines = 1, .utf8 = true, .colours = true};
	struct dnp_screen screen = {0};

	CHECK_EQ(dnp_screen_begin(&screen, &terminal), 0);
	dnp_screen_paint(&screen, DNP_TERMINAL_RED);
	dnp_screen_text(&screen, "\033\xc3\xa9x", 3);
	CHECK_EQ(screen.cells.p[0].code, '?');
	CHECK_EQ(screen.cells.p[1].code, 0xe9);
	CHECK_EQ(screen.cells.p[2].colour, DNP_TERMINAL_RED);
	CHECK_EQ(screen.cells.p[3].colour, DNP_TERMINAL_PLAIN);

	terminal.utf8 = terminal.colours = false;
	CHECK_EQ(dnp_screen_begin(&screen, &terminal), 0);
	dnp_screen_paint(&screen, DNP_TERMINAL_RED);
	dnp_screen_text(&screen, "\xc3\xa9x", 4);
	CHECK_STR(line_of(&screen, 0), "?x  ");
	CHECK_EQ(screen.cells.p[1].colour, DNP_TERMINAL_PLAIN);
	dnp_screen_done(&screen);
}
