/* SPDX-License-Identifier: MIT */
/* Who listens in a process where hardly a descriptor is left. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "format/control.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/watch.h"

static char folder[] = "/tmp/dnprof-test-channel-XXXXXX";

static void listen_here(void)
{
	CHECK(mkdtemp(folder));
	CHECK_EQ(setenv("TMPDIR", folder, 1), 0);
	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_channel_listen(), 0);
}

static void listen_no_more(void)
{
	dnp_channel_shut();
	dnp_watch_close();
	CHECK_EQ(rmdir(folder), 0);
}

static int connect_here(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), n;

	n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/" DNP_CONTROL_NAME, folder,
		(int)getpid(), (unsigned long long)dnp_process_start_ticks(getpid()));
	CHECK(n > 0 && n < (int)sizeof(address.sun_path));
	CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

/* As if no descriptor were to be had. */
static int accept_without_descriptors(void)
{
	struct rlimit before, limit;
	int first_free = dup(0), failed, pid;
	bool same_user;

	CHECK(first_free >= 0 && !close(first_free));
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)first_free;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	failed = dnp_channel_accept(&pid, &same_user);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	return failed;
}

/* He is no news for a while, lest who listens did nothing but to try; then he is. */
TEST(who_cannot_be_accepted_waits)
{
	int client, connection, pid;
	uint64_t before_ns;
	bool same_user;

	listen_here();
	client = connect_here();
	before_ns = dnp_now_ns();
	CHECK_EQ(dnp_watch_wait(before_ns + TEST_HANG_NS, NULL), DNP_WATCH_READABLE);
	before_ns = dnp_now_ns();
	CHECK_EQ(accept_without_descriptors(), -EAGAIN);
	while (dnp_watch_wait(before_ns + TEST_HANG_NS, NULL) != DNP_WATCH_READABLE)
		CHECK(dnp_now_ns() < before_ns + TEST_HANG_NS);
	CHECK(dnp_now_ns() - before_ns >= 50000000);
	connection = dnp_channel_accept(&pid, &same_user);
	CHECK(connection >= 0 && same_user && pid == getpid());
	/* Others are news at once again. */
	close(connect_here());
	CHECK_EQ(dnp_watch_wait(dnp_now_ns(), NULL), DNP_WATCH_READABLE);
	dnp_channel_drop(connection);
	close(client);
	listen_no_more();
}
