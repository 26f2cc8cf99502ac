/* SPDX-License-Identifier: MIT */
#include "os/console.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Make a line below exist (index, reverse index), go there, and after the text come back. */
#define BELOW "\033D\033M\0337\033D\r\033[2K"
#define BACK  "\0338"

static bool shown;

static void go_on(int signo)
{
	(void)signo;
}

/*
 * Standard streams that are closed: no file that is opened may get their numbers. Who writes to
 * them or reads gets -EBADF as before, and programs that are executed find them closed.
 */
static void take_closed(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", O_CLOEXEC | (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY)) <
				0)
			return;
}

int dnp_console_begin(int *argc, char ***argv)
{
	struct sigaction action;

	(void)argc;
	(void)argv;
	take_closed();
	/* By a handler, which a program that is started does not inherit. */
	if (!sigaction(SIGXFSZ, NULL, &action) && action.sa_handler == SIG_DFL) {
		action.sa_handler = go_on;
		sigaction(SIGXFSZ, &action, NULL);
	}
	return 0;
}

unsigned dnp_console_columns(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

bool dnp_console_status_possible(void)
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

void dnp_console_status_show(const char *text)
{
	if (!is_ours())
		return;
	fprintf(stderr, BELOW "%.*s" BACK, columns() - 1, text);
	shown = true;
}

void dnp_console_status_clear(void)
{
	if (shown && is_ours())
		fputs(BELOW BACK, stderr);
	shown = false;
}

void dnp_console_outlive_reader(void)
{
	signal(SIGPIPE, SIG_IGN);
}
