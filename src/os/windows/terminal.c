/* SPDX-License-Identifier: MIT */
/*
 * A screen buffer of one's own, drawn cell by cell: it goes with its last handle, also when this
 * process is killed, and no mode of the console has to be put back. Sequences would not do: Wine's
 * console has them for the characters that they consist of.
 */
#include "os/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "base/clean.h"
#include "os/windows/error.h"

#define NS_PER_MS UINT64_C(1000000)
#define CTRL_C    3

#define COLUMNS 80 /* where the console does not tell */
#define LINES   25

struct dnp_terminal_os {
	HANDLE before; /* owned: what was seen */
	HANDLE screen; /* owned */
	WORD plain;    /* its colours */
	struct cells {
		CHAR_INFO *p; /* owned */
		size_t n;
	} cells;
};

static HANDLE asked; /* owned: set when somebody wants it to end */

/* On a thread of the system's, which no handler outlives that is taken back. */
static BOOL WINAPI on_control(DWORD what)
{
	if (what != CTRL_C_EVENT && what != CTRL_BREAK_EVENT)
		return FALSE;
	SetEvent(asked);
	return TRUE;
}

bool dnp_terminal_possible(void)
{
	DWORD mode;

	return GetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), &mode) &&
		GetConsoleMode(GetStdHandle(STD_OUTPUT_HANDLE), &mode);
}

static void measure(struct dnp_terminal *terminal)
{
	CONSOLE_SCREEN_BUFFER_INFO info;

	if (!GetConsoleScreenBufferInfo(terminal->os->screen, &info))
		return;
	terminal->columns = info.srWindow.Right - info.srWindow.Left + 1;
	terminal->lines = info.srWindow.Bottom - info.srWindow.Top + 1;
	terminal->os->plain = info.wAttributes;
}

static HANDLE no_handle(HANDLE handle)
{
	return handle == INVALID_HANDLE_VALUE ? NULL : handle;
}

static int open_screen(struct dnp_terminal_os *os)
{
	static const DWORD access = GENERIC_READ | GENERIC_WRITE,
			   share = FILE_SHARE_READ | FILE_SHARE_WRITE;
	const CONSOLE_CURSOR_INFO hidden = {.dwSize = 1, .bVisible = FALSE};

	os->before =
		no_handle(CreateFileW(L"CONOUT$", access, share, NULL, OPEN_EXISTING, 0, NULL));
	os->screen = no_handle(
		CreateConsoleScreenBuffer(access, share, NULL, CONSOLE_TEXTMODE_BUFFER, NULL));
	if (!os->before || !os->screen || !SetConsoleActiveScreenBuffer(os->screen))
		return dnp_windows_error();
	SetConsoleCursorInfo(os->screen, &hidden);
	return 0;
}

/* From before there is a screen until after: nobody's ctrl-C leaves it behind. */
static int open_terminal(struct dnp_terminal_os *os)
{
	int failed;

	asked = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (!asked)
		return dnp_windows_error();
	SetConsoleCtrlHandler(on_control, TRUE);
	failed = open_screen(os);
	if (failed)
		SetConsoleCtrlHandler(on_control, FALSE);
	return failed;
}

static void close_all(struct dnp_terminal *terminal)
{
	HANDLE const owned[] = {terminal->os->before, terminal->os->screen, asked};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(owned); i++)
		if (owned[i])
			CloseHandle(owned[i]);
	asked = NULL;
	free(terminal->os->cells.p);
	free(terminal->os);
}

int dnp_terminal_open(struct dnp_terminal *terminal)
{
	int failed;

	*terminal = (struct dnp_terminal){
		.utf8 = dnp_terminal_says_utf8(true),
		.colours = !getenv("NO_COLOR"),
		.columns = COLUMNS,
		.lines = LINES,
		.os = calloc(1, sizeof(*terminal->os)),
	};
	if (!terminal->os)
		return -ENOMEM;
	failed = open_terminal(terminal->os);
	if (failed)
		close_all(terminal);
	else
		measure(terminal);
	return failed;
}

void dnp_terminal_close(struct dnp_terminal *terminal)
{
	SetConsoleActiveScreenBuffer(terminal->os->before);
	SetConsoleCtrlHandler(on_control, FALSE);
	close_all(terminal);
}

/* ---- Keys */

/* The character of a key that goes down, 0: it was something else. */
static int read_key(HANDLE input)
{
	INPUT_RECORD record;
	DWORD n = 0;

	/* What another reader has taken meanwhile would be waited for. */
	if (!GetNumberOfConsoleInputEvents(input, &n) || !n ||
		!ReadConsoleInputW(input, &record, 1, &n) || !n || record.EventType != KEY_EVENT ||
		!record.Event.KeyEvent.bKeyDown)
		return 0;
	return record.Event.KeyEvent.uChar.UnicodeChar;
}

static int end(struct dnp_terminal *terminal)
{
	terminal->ended = true;
	return -1;
}

int dnp_terminal_key(struct dnp_terminal *terminal, uint64_t patience_ns)
{
	HANDLE const ready[] = {asked, GetStdHandle(STD_INPUT_HANDLE)};
	DWORD n = DNP_ARRAY_SIZE(ready), ms = (DWORD)((patience_ns + NS_PER_MS - 1) / NS_PER_MS);
	DWORD which = WaitForMultipleObjects(n, ready, FALSE, ms);
	int key;

	measure(terminal);
	switch (which) {
	case WAIT_OBJECT_0: return end(terminal);
	case WAIT_OBJECT_0 + 1: key = read_key(ready[1]); break;
	case WAIT_TIMEOUT: return 0;
	default: return end(terminal); /* the console has gone */
	}
	/* A console whose mode says that ctrl-C is a key. */
	return key == CTRL_C ? end(terminal) : key;
}

/* ---- Drawing */

static WORD attributes(const struct dnp_terminal *terminal, uint8_t colour)
{
	static const WORD colours[] = {
		[DNP_TERMINAL_RED] = FOREGROUND_RED,
		[DNP_TERMINAL_GREEN] = FOREGROUND_GREEN,
		[DNP_TERMINAL_YELLOW] = FOREGROUND_RED | FOREGROUND_GREEN,
		[DNP_TERMINAL_BLUE] = FOREGROUND_BLUE,
		[DNP_TERMINAL_MAGENTA] = FOREGROUND_RED | FOREGROUND_BLUE,
		[DNP_TERMINAL_CYAN] = FOREGROUND_GREEN | FOREGROUND_BLUE,
		[DNP_TERMINAL_GREY] = 0,
	};

	if (colour == DNP_TERMINAL_PLAIN)
		return terminal->os->plain;
	return (WORD)((terminal->os->plain & 0xf0) | FOREGROUND_INTENSITY | colours[colour]);
}

/* Of a character that takes two units a cell has no room. */
static CHAR_INFO cell_of(const struct dnp_terminal *terminal, const struct dnp_terminal_cell *cell)
{
	return (CHAR_INFO){
		.Char.UnicodeChar = cell->code > 0xffff ? L'?' : (WCHAR)cell->code,
		.Attributes = attributes(terminal, cell->colour),
	};
}

static bool make_room(struct cells *cells, size_t n)
{
	CHAR_INFO *grown = n > cells->n ? realloc(cells->p, n * sizeof(*grown)) : cells->p;

	if (!grown)
		return false;
	cells->p = grown;
	cells->n = n > cells->n ? n : cells->n;
	return true;
}

int dnp_terminal_draw(struct dnp_terminal *terminal, const struct dnp_terminal_cell *cells)
{
	COORD size = {(SHORT)terminal->columns, (SHORT)terminal->lines}, first = {0, 0};
	size_t n = (size_t)terminal->columns * (size_t)terminal->lines;
	CONSOLE_SCREEN_BUFFER_INFO info;

	if (!make_room(&terminal->os->cells, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		terminal->os->cells.p[i] = cell_of(terminal, &cells[i]);
	/* What was the window's size when the picture was made need not be any more. */
	if (!GetConsoleScreenBufferInfo(terminal->os->screen, &info) ||
		!WriteConsoleOutputW(terminal->os->screen, terminal->os->cells.p, size, first,
			&(SMALL_RECT){info.srWindow.Left, info.srWindow.Top,
				(SHORT)(info.srWindow.Left + size.X - 1),
				(SHORT)(info.srWindow.Top + size.Y - 1)}))
		return dnp_windows_error();
	return 0;
}
