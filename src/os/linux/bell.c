/* SPDX-License-Identifier: MIT */
#include "os/bell.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fds.h"
#include "os/file.h"
#include "os/linux/bell.h"

/* The file that the system has for all events, dnp_file_id. */
static _Atomic uint64_t device, number;

/* Whether it is there: the program may have closed it, and have another file in its place. */
static bool is_there(int bell)
{
	return dnp_file_is(bell, (struct dnp_file_id){device, number});
}

int dnp_bell_polled(int bell)
{
	return is_there(bell) ? bell : -1;
}

int dnp_bell_open(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct dnp_file_id id;

	if (fd < 0)
		return -errno;
	id = dnp_file_id(fd);
	device = id.device;
	number = id.number;
	return dnp_fd_move_up(fd);
}

void dnp_bell_close(int bell)
{
	if (is_there(bell))
		close(bell);
}

void dnp_bell_ring(int bell)
{
	static const uint64_t one = 1;

	/* It fails when it has rung 2^64 times already, and then it rings. */
	if (is_there(bell) && write(bell, &one, sizeof(one)) < 0)
		return;
}

bool dnp_bell_take(int bell)
{
	uint64_t rung;

	return is_there(bell) && read(bell, &rung, sizeof(rung)) > 0;
}

bool dnp_bell_wait(int bell, uint64_t deadline_ns)
{
	uint64_t now = dnp_now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
	struct timespec patience = {
		(time_t)(left / UINT64_C(1000000000)), (long)(left % UINT64_C(1000000000))};
	struct pollfd fd = {.fd = dnp_bell_polled(bell), .events = POLLIN};

	return ppoll(&fd, 1, &patience, NULL) > 0 && dnp_bell_take(bell);
}
