/* SPDX-License-Identifier: MIT */
/*
 * A program may close what is not its own, and what gets the numbers is then the program's: who
 * sleeps on them sleeps on, by time alone.
 */
#include "test.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "os/bell.h"
#include "os/clock.h"
#include "os/fds.h"
#include "os/switches.h"

#define SHORT_NS UINT64_C(5000000)

static int ends[2]; /* of the program's pipe, from which there is always something to read */

static void open_pipe(void)
{
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], "12345678", 8), 8);
}

static void close_pipe(void)
{
	int unread;

	CHECK_EQ(ioctl(ends[0], FIONREAD, &unread), 0);
	CHECK_EQ(unread, 8);
	CHECK(!close(ends[0]) && !close(ends[1]));
}

TEST(what_takes_the_place_of_a_bell_is_not_ours)
{
	int bell = dnp_bell_open();
	uint64_t until_ns;

	CHECK(bell >= 0);
	open_pipe();
	CHECK_EQ(dup2(ends[1], bell), bell);
	dnp_bell_ring(bell);
	CHECK_EQ(dup2(ends[0], bell), bell);
	CHECK(!dnp_bell_take(bell));
	until_ns = dnp_now_ns() + SHORT_NS;
	CHECK(!dnp_bell_wait(bell, until_ns));
	CHECK(dnp_now_ns() >= until_ns);
	dnp_bell_close(bell);
	CHECK(!close(bell));
	until_ns = dnp_now_ns() + SHORT_NS;
	CHECK(!dnp_bell_wait(bell, until_ns));
	CHECK(dnp_now_ns() >= until_ns);
	close_pipe();
}

/* Of the calling thread alone, and a bell before them. */
static struct dnp_switches *open_switches(int *bell)
{
	struct dnp_switches_options options = {.pid = getpid()};
	struct dnp_switches *switches;
	struct dnp_err err;

	*bell = dnp_bell_open();
	CHECK(*bell >= 0);
	if (dnp_switches_open(&switches, &options, &err)) {
		dnp_bell_close(*bell);
		SKIP("the kernel may not be asked to tell of switches here");
	}
	return switches;
}

static void check_waits(struct dnp_switches *switches, int bell)
{
	uint64_t until_ns = dnp_now_ns() + SHORT_NS;

	dnp_switches_wait(switches, bell, until_ns);
	CHECK(dnp_now_ns() >= until_ns);
}

TEST(what_takes_the_place_of_rings_ends_no_wait)
{
	int bell, behind;
	struct dnp_switches *switches = open_switches(&bell);

	behind = dnp_fd_move_up(dup(0));
	CHECK(behind > bell && !close(behind));
	dnp_switches_start(switches);
	check_waits(switches, bell);
	open_pipe();
	for (int fd = bell; fd < behind; fd++)
		CHECK_EQ(dup2(ends[0], fd), fd);
	check_waits(switches, bell);
	for (int fd = bell; fd < behind; fd++)
		CHECK(!close(fd));
	check_waits(switches, bell);
	for (int fd = bell; fd < behind; fd++)
		CHECK_EQ(dup2(ends[0], fd), fd);
	dnp_switches_stop(switches);
	dnp_switches_close(switches);
	dnp_bell_close(bell);
	for (int fd = bell; fd < behind; fd++)
		CHECK(!close(fd));
	close_pipe();
}
