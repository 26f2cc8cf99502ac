/* SPDX-License-Identifier: MIT */
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clean.h"

/* The other screen, no cursor, no wrapping of long lines; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

#define COLUMNS 80
#define LINES   24

bool dnp_terminal_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");
}

static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

static void measure(struct dnp_terminal *terminal)
{
	struct winsize size = {0};

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	terminal->columns = size.ws_col ? size.ws_col : COLUMNS;
	terminal->lines = size.ws_row ? size.ws_row : LINES;
}

static void put(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

static int enter(struct dnp_terminal *terminal)
{
	struct termios raw = terminal->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw))
		return -errno;
	put(ENTER);
	measure(terminal);
	return 0;
}

static void leave(const struct dnp_terminal *terminal)
{
	put(LEAVE);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
}

static int take_signals(struct dnp_terminal *terminal)
{
	static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(taken); i++)
		sigaddset(&set, taken[i]);
	terminal->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (terminal->signals < 0)
		return -errno;
	sigprocmask(SIG_BLOCK, &set, &terminal->signals_before);
	return 0;
}

static void give_signals_back(struct dnp_terminal *terminal)
{
	sigprocmask(SIG_SETMASK, &terminal->signals_before, NULL);
	close(terminal->signals);
}

int dnp_terminal_open(struct dnp_terminal *terminal)
{
	int failed;

	*terminal = (struct dnp_terminal){.utf8 = is_utf8(), .colours = !getenv("NO_COLOR")};
	if (tcgetattr(STDIN_FILENO, &terminal->before))
		return -errno;
	failed = take_signals(terminal);
	if (failed)
		return failed;
	failed = enter(terminal);
	if (failed)
		give_signals_back(terminal);
	return failed;
}

void dnp_terminal_close(struct dnp_terminal *terminal)
{
	leave(terminal);
	give_signals_back(terminal);
}

/* Ctrl-Z: the shell has its terminal until it lets us go on. */
static void pause_here(struct dnp_terminal *terminal)
{
	leave(terminal);
	kill(0, SIGSTOP);
	enter(terminal);
}

/* Whether there were any. */
static bool heed_signals(struct dnp_terminal *terminal)
{
	struct signalfd_siginfo info;
	bool any = false;

	while (read(terminal->signals, &info, sizeof(info)) == sizeof(info)) {
		any = true;
		if (info.ssi_signo == SIGWINCH)
			measure(terminal);
		else if (info.ssi_signo == SIGTSTP)
			pause_here(terminal);
		else
			terminal->ended = true;
	}
	return any;
}

int dnp_terminal_key(struct dnp_terminal *terminal, uint64_t patience_ns)
{
	struct pollfd ready[] = {
		{.fd = terminal->signals, .events = POLLIN},
		{.fd = STDIN_FILENO, .events = POLLIN},
	};
	int n = poll(ready, DNP_ARRAY_SIZE(ready), (int)(patience_ns / 1000000));
	unsigned char key = 0;

	if (n > 0 && heed_signals(terminal))
		return terminal->ended ? -1 : 0;
	if (n <= 0 || !ready[1].revents)
		return 0;
	if (read(STDIN_FILENO, &key, 1) == 1)
		return key;
	terminal->ended = true; /* it has been closed */
	return -1;
}
