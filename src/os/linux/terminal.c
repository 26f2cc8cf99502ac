/* SPDX-License-Identifier: MIT */
#include "os/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/sink.h"
#include "base/utf8.h"

/* The other screen, no cursor, no wrapping of long lines; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

#define COLUMNS 80
#define LINES   24

struct dnp_terminal_os {
	struct termios before;
	sigset_t signals_before;
	int signals; /* owned: a descriptor of those that ask to end, stop or draw anew */
	struct dnp_sink_memory out; /* one picture, as it is written */
};

bool dnp_terminal_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");
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
	struct termios raw = terminal->os->before;

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
	tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->os->before);
}

static int take_signals(struct dnp_terminal *terminal)
{
	static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(taken); i++)
		sigaddset(&set, taken[i]);
	terminal->os->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (terminal->os->signals < 0)
		return -errno;
	sigprocmask(SIG_BLOCK, &set, &terminal->os->signals_before);
	return 0;
}

static void give_signals_back(struct dnp_terminal *terminal)
{
	sigprocmask(SIG_SETMASK, &terminal->os->signals_before, NULL);
	close(terminal->os->signals);
}

static int open_terminal(struct dnp_terminal *terminal)
{
	int failed;

	if (tcgetattr(STDIN_FILENO, &terminal->os->before))
		return -errno;
	failed = take_signals(terminal);
	if (failed)
		return failed;
	failed = enter(terminal);
	if (failed)
		give_signals_back(terminal);
	return failed;
}

int dnp_terminal_open(struct dnp_terminal *terminal)
{
	int failed;

	*terminal = (struct dnp_terminal){
		.utf8 = dnp_terminal_says_utf8(false),
		.colours = !getenv("NO_COLOR"),
		.os = calloc(1, sizeof(*terminal->os)),
	};
	if (!terminal->os)
		return -ENOMEM;
	dnp_sink_memory_init(&terminal->os->out);
	failed = open_terminal(terminal);
	if (failed)
		free(terminal->os);
	return failed;
}

void dnp_terminal_close(struct dnp_terminal *terminal)
{
	leave(terminal);
	give_signals_back(terminal);
	dnp_vec_done(&terminal->os->out.bytes);
	free(terminal->os);
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

	while (read(terminal->os->signals, &info, sizeof(info)) == sizeof(info)) {
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
		{.fd = terminal->os->signals, .events = POLLIN},
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

/* ---- Drawing */

static void put_colour(struct dnp_sink *out, uint8_t colour)
{
	if (colour == DNP_TERMINAL_PLAIN)
		dnp_sink_puts(out, "\033[0m");
	else
		dnp_sink_printf(out, "\033[%um", colour == DNP_TERMINAL_GREY ? 90u : 30u + colour);
}

/* A line that ends early is blank from there; one that fills its line leaves nothing to be. */
static void put_line(struct dnp_sink *out, const struct dnp_terminal_cell *cells, int columns)
{
	uint8_t colour = DNP_TERMINAL_PLAIN;
	int n = columns;

	while (n && cells[n - 1].code == ' ')
		n--;
	for (int i = 0; i < n; i++) {
		char text[4];

		if (cells[i].colour != colour)
			put_colour(out, cells[i].colour);
		colour = cells[i].colour;
		dnp_sink_write(out, text, dnp_utf8_put(text, cells[i].code));
	}
	if (colour != DNP_TERMINAL_PLAIN)
		put_colour(out, DNP_TERMINAL_PLAIN);
	if (n < columns)
		dnp_sink_puts(out, "\033[K");
}

int dnp_terminal_draw(struct dnp_terminal *terminal, const struct dnp_terminal_cell *cells)
{
	struct dnp_sink_memory *out = &terminal->os->out;

	out->bytes.n = 0;
	dnp_sink_puts(&out->sink, "\033[H");
	for (int line = 0; line < terminal->lines; line++) {
		if (line)
			dnp_sink_puts(&out->sink, "\r\n");
		put_line(&out->sink, cells + (size_t)line * (size_t)terminal->columns,
			terminal->columns);
	}
	if (out->sink.error)
		return out->sink.error;
	fwrite(out->bytes.p, 1, out->bytes.n, stdout);
	fflush(stdout);
	return 0;
}
