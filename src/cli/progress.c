/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Make a line below exist (index, reverse index), go there, and after the text come back. */
#define BELOW "\033D\033M\0337\033D\r\033[2K"
#define BACK  "\0338"

static bool shown;

bool dnp_progress_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
}

/* A job in the background leaves the terminal to others. */
static bool is_ours(void)
{
	return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static int columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2)
		return 80;
	return size.ws_col;
}

void dnp_progress_show(const char *format, ...)
{
	char text[256];
	va_list args;

	if (!is_ours())
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, BELOW "%.*s" BACK, columns() - 1, text);
	shown = true;
}

void dnp_progress_samples(
	uint64_t elapsed_ns, uint64_t samples, uint64_t lost, uint64_t cpu_ns, const char *tail)
{
	dnp_progress_show("dnprof: %.0f s, %'llu samples, lost %'llu, CPU %.1f s%s",
		(double)elapsed_ns / 1e9, (unsigned long long)samples, (unsigned long long)lost,
		(double)cpu_ns / 1e9, tail);
}

void dnp_progress_clear(void)
{
	if (shown && is_ours())
		fputs(BELOW BACK, stderr);
	shown = false;
}
