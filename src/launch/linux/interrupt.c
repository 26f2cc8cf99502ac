/* SPDX-License-Identifier: MIT */
#include "launch/interrupt.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/clock.h"

#define MS_NS UINT64_C(1000000)

static sigset_t old_mask; /* of the one that keeps them */

bool dnp_interrupt_ignores(int signal)
{
	struct sigaction action;

	return !sigaction(signal, NULL, &action) && action.sa_handler == SIG_IGN;
}

int dnp_interrupt_take(struct dnp_interrupt *interrupt, struct dnp_err *err)
{
	static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(ending); i++)
		if (!dnp_interrupt_ignores(ending[i]))
			sigaddset(&set, ending[i]);
	interrupt->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (interrupt->fd < 0)
		return dnp_err(err, -errno, "cannot receive signals: %s; see 'ulimit -n'",
			strerror(errno));
	sigprocmask(SIG_BLOCK, &set, &old_mask);
	return 0;
}

unsigned dnp_interrupt_count(const struct dnp_interrupt *interrupt)
{
	struct signalfd_siginfo info;
	unsigned n = 0;

	while (read(interrupt->fd, &info, sizeof(info)) == sizeof(info))
		n++;
	return n;
}

void dnp_interrupt_give_back(struct dnp_interrupt *interrupt)
{
	if (interrupt->fd < 0)
		return;
	close(interrupt->fd);
	interrupt->fd = -1;
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
}

bool dnp_interrupt_sleep(int fd, uint64_t until_ns)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	uint64_t now_ns = dnp_now_ns();

	do {
		uint64_t left_ms = now_ns < until_ns ? (until_ns - now_ns + MS_NS - 1) / MS_NS : 0;

		if (poll(&ready, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) > 0)
			return true;
		now_ns = dnp_now_ns();
	} while (now_ns < until_ns);
	return false;
}

int dnp_interrupt_await(int fd, int interrupt, uint64_t until_ns)
{
	struct pollfd ready[] = {{.fd = fd, .events = POLLIN}, {.fd = interrupt, .events = POLLIN}};
	uint64_t now_ns = dnp_now_ns();
	int n = 0;

	while (n <= 0 && now_ns < until_ns) {
		uint64_t left_ms = (until_ns - now_ns) / 1000000 + 1;

		n = poll(ready, DNP_ARRAY_SIZE(ready), left_ms < INT_MAX ? (int)left_ms : INT_MAX);
		if (n < 0 && errno != EINTR)
			return -errno;
		now_ns = dnp_now_ns();
	}
	if (n <= 0)
		return -EAGAIN;
	return ready[0].revents ? 0 : -EINTR;
}
