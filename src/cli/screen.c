/* SPDX-License-Identifier: MIT */
#include "cli/screen.h"

#include "base/utf8.h"

int dnp_screen_begin(struct dnp_screen *screen, const struct dnp_terminal *terminal)
{
	size_t n = (size_t)terminal->columns * (size_t)terminal->lines;

	if (dnp_vec_reserve(&screen->cells, n))
		return -ENOMEM;
	screen->cells.n = n;
	for (size_t i = 0; i < n; i++)
		screen->cells.p[i] = (struct dnp_terminal_cell){.code = ' '};
	screen->columns = terminal->columns;
	screen->lines = terminal->lines;
	screen->utf8 = terminal->utf8;
	screen->colours = terminal->colours;
	screen->column = screen->line = 0;
	screen->colour = DNP_TERMINAL_PLAIN;
	return 0;
}

void dnp_screen_done(struct dnp_screen *screen)
{
	dnp_vec_done(&screen->cells);
}

void dnp_screen_go(struct dnp_screen *screen, int line)
{
	screen->line = line;
	screen->column = 0;
}

void dnp_screen_paint(struct dnp_screen *screen, enum dnp_terminal_colour colour)
{
	screen->colour = screen->colours ? (uint8_t)colour : DNP_TERMINAL_PLAIN;
}

void dnp_screen_put(struct dnp_screen *screen, uint32_t code)
{
	size_t at = (size_t)screen->line * (size_t)screen->columns + (size_t)screen->column;

	if (screen->line >= screen->lines || screen->column >= screen->columns)
		return;
	screen->cells.p[at] = (struct dnp_terminal_cell){code, screen->colour};
	screen->column++;
}

void dnp_screen_text(struct dnp_screen *screen, const char *text, int columns)
{
	struct dnp_str str = dnp_str(text);
	int used = 0;

	for (size_t at = 0; at < str.n && used < columns; used++) {
		uint32_t code = dnp_utf8_next(str, &at);

		if (dnp_utf8_unsafe(code) || (code > 126 && !screen->utf8))
			code = '?';
		dnp_screen_put(screen, code);
	}
	for (; used < columns; used++)
		dnp_screen_put(screen, ' ');
}
