/* SPDX-License-Identifier: MIT */
/* Who listens in a process where hardly a descriptor is left. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "format/control.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/fds.h"
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

/* ---- A program may close what is not its own, and what gets the numbers is then the program's */

/* What one that is moved up (os/fds.h) will have. */
static int next_descriptor(void)
{
	int next = dnp_fd_move_up(dup(0));

	CHECK(next >= 0 && !close(next));
	return next;
}

TEST(what_takes_the_place_of_a_connection_is_not_ours)
{
	uint8_t bytes[8] = "program";
	struct dnp_channel_message message = {.bytes = bytes, .room = sizeof(bytes)};
	int client, connection, pid, ends[2];
	bool same_user;

	listen_here();
	client = connect_here();
	connection = dnp_channel_accept(&pid, &same_user);
	CHECK(connection >= 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	CHECK_EQ(dup2(ends[0], connection), connection);
	CHECK_EQ(send(ends[1], bytes, sizeof(bytes), 0), (int)sizeof(bytes));
	CHECK_EQ(dnp_watch_wait(dnp_now_ns(), NULL), 0);
	CHECK(dnp_channel_has_news(connection));
	CHECK_EQ(dnp_channel_receive(connection, &message), -EPIPE);
	CHECK_EQ(dnp_channel_send(connection, bytes, 1, -1, false), -EPIPE);
	dnp_channel_drop(connection);
	CHECK_EQ(recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT), -1);
	CHECK_EQ(recv(connection, bytes, sizeof(bytes), MSG_DONTWAIT), (int)sizeof(bytes));
	CHECK(!close(ends[0]) && !close(ends[1]) && !close(connection) && !close(client));
	listen_no_more();
}

TEST(what_takes_the_place_of_who_listens_is_not_ours)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t n = sizeof(address.sun_family); /* a name that the system chooses */
	int ours, listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	int client = socket(AF_UNIX, SOCK_SEQPACKET, 0), pid, accepted;
	bool same_user;

	CHECK_EQ(dnp_watch_open(), 0);
	ours = next_descriptor() + 1; /* the folder is opened first */
	listen_here();
	CHECK(!bind(listener, (struct sockaddr *)&address, n) && !listen(listener, 1));
	n = sizeof(address);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &n), 0);
	CHECK_EQ(connect(client, (struct sockaddr *)&address, n), 0);
	CHECK_EQ(dup2(listener, ours), ours);
	CHECK_EQ(dnp_watch_wait(dnp_now_ns(), NULL), 0);
	CHECK_EQ(dnp_channel_accept(&pid, &same_user), -EAGAIN);
	listen_no_more();
	accepted = accept(ours, NULL, NULL);
	CHECK(accepted >= 0);
	CHECK(!close(accepted) && !close(client) && !close(listener) && !close(ours));
}

/* What has our name there is another's. */
TEST(what_takes_the_place_of_our_folder_is_not_ours)
{
	char others[] = "/tmp/dnprof-test-channel-XXXXXX", name[64];
	int ours, first, other, n;

	CHECK_EQ(dnp_watch_open(), 0);
	ours = next_descriptor();
	listen_here();
	first = open(folder, O_PATH | O_DIRECTORY);
	CHECK(mkdtemp(others));
	other = open(others, O_PATH | O_DIRECTORY);
	CHECK_EQ(dup2(other, ours), ours);
	dnp_channel_keep();
	n = snprintf(name, sizeof(name), DNP_CONTROL_NAME, (int)getpid(),
		(unsigned long long)dnp_process_start_ticks(getpid()));
	CHECK(n > 0 && n < (int)sizeof(name));
	CHECK_EQ(symlinkat("nowhere", other, name), 0);
	dnp_channel_shut();
	dnp_watch_close();
	CHECK_EQ(fcntl(ours, F_GETFD), 0);
	CHECK_EQ(unlinkat(other, name, 0), 0);
	CHECK_EQ(unlinkat(first, name, 0), 0);
	CHECK(!close(first) && !close(other) && !close(ours));
	CHECK(!rmdir(others) && !rmdir(folder));
}
