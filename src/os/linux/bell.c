/* SPDX-License-Identifier: MIT */
#include "os/bell.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fds.h"

int dnp_bell_open(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	return fd < 0 ? -errno : dnp_fd_move_up(fd);
}

void dnp_bell_close(int bell)
{
	close(bell);
}

void dnp_bell_ring(int bell)
{
	static const uint64_t one = 1;

	/* It fails when it has rung 2^64 times already, and then it rings. */
	if (write(bell, &one, sizeof(one)) < 0)
		return;
}

bool dnp_bell_take(int bell)
{
	uint64_t rung;

	return read(bell, &rung, sizeof(rung)) > 0;
}

bool dnp_bell_wait(int bell, uint64_t deadline_ns)
{
	uint64_t now = dnp_now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
	struct timespec patience = {
		(time_t)(left / UINT64_C(1000000000)), (long)(left % UINT64_C(1000000000))};
	struct pollfd fd = {.fd = bell, .events = POLLIN};

	return ppoll(&fd, 1, &patience, NULL) > 0 && dnp_bell_take(bell);
}
