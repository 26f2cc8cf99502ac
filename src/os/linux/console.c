/* SPDX-License-Identifier: MIT */
#include "os/console.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void go_on(int signo)
{
	(void)signo;
}

int dnp_console_begin(int *argc, char ***argv)
{
	struct sigaction action;

	(void)argc;
	(void)argv;
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

void dnp_console_outlive_reader(void)
{
	signal(SIGPIPE, SIG_IGN);
}
