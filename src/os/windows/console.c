/* SPDX-License-Identifier: MIT */
#include "os/console.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include <shellapi.h> /* does not stand alone */

#include "base/clean.h"
#include "os/windows/console.h"
#include "os/windows/wide.h"

#define TITLE_UNITS 1024

static wchar_t title[TITLE_UNITS]; /* of the window, before there was another one */
static bool titled;
static UINT code_page; /* of the console, in the place of which is ours; 0: ours is not there */

void dnp_console_speak_utf8(void)
{
	UINT now = GetConsoleOutputCP();

	if (!code_page && now && now != CP_UTF8 && SetConsoleOutputCP(CP_UTF8))
		code_page = now;
}

void dnp_console_speak_as_before(void)
{
	/* Another one was set by somebody else, who wants it to be there. */
	if (code_page && GetConsoleOutputCP() == CP_UTF8)
		SetConsoleOutputCP(code_page);
	code_page = 0;
}

/* The words as they were typed; the C library's have lost what the old code page has no room for.
 */
static int read_words(int *argc, char ***argv)
{
	wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), argc);
	char **words = wide ? calloc((size_t)*argc + 1, sizeof(*words)) : NULL;
	int status = words ? 0 : -ENOMEM;

	for (int i = 0; i < *argc && !status; i++) {
		words[i] = dnp_narrow(wide[i]);
		status = words[i] ? 0 : -ENOMEM;
	}
	LocalFree((void *)wide);
	*argv = words; /* for as long as the program runs */
	return status;
}

int dnp_console_begin(int *argc, char ***argv)
{
	_setmode(_fileno(stdout), _O_BINARY);
	_setmode(_fileno(stderr), _O_BINARY);
	/* Written byte by byte, letters of more than one, and lines, would arrive in pieces. */
	setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
	setvbuf(stderr, NULL, _IOFBF, BUFSIZ);
	dnp_console_speak_utf8();
	atexit(dnp_console_speak_as_before);
	return read_words(argc, argv);
}

unsigned dnp_console_columns(void)
{
	CONSOLE_SCREEN_BUFFER_INFO info;

	if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info))
		return 0;
	return (unsigned)(info.srWindow.Right - info.srWindow.Left + 1);
}

bool dnp_console_status_possible(void)
{
	DWORD mode;

	return GetConsoleMode(GetStdHandle(STD_ERROR_HANDLE), &mode);
}

void dnp_console_status_show(const char *text)
{
	auto_free wchar_t *wide = dnp_wide(text);

	if (!titled && !GetConsoleTitleW(title, TITLE_UNITS))
		*title = 0;
	titled = true;
	if (wide)
		SetConsoleTitleW(wide);
}

void dnp_console_status_clear(void)
{
	if (titled)
		SetConsoleTitleW(title);
	titled = false;
}

void dnp_console_outlive_reader(void)
{
	/* So it is: there are no signals. */
}
