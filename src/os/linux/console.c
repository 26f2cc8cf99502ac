/* SPDX-License-Identifier: MIT */
#include "os/console.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

int dnp_console_begin(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
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
