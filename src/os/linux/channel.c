/* SPDX-License-Identifier: MIT */
#include "os/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "format/control.h"
#include "os/clock.h"
#include "os/fds.h"
#include "os/file.h"
#include "os/linux/watch.h"
#include "os/process.h"
#include "os/watch.h"

#define WAITING_MAX 8 /* who have connected and were not accepted yet */

/* Who has connected waits so long where no descriptor is to be had for him, and again. */
#define REST_NS UINT64_C(100000000)

static struct {
	int fd;                   /* owned, -1: none */
	pid_t pid;                /* of the process that made it */
	int folder;               /* owned, -1: none; where the socket lies … */
	struct dnp_file_id place; /* … which is that one */
	char name[64];            /* there */
} listener = {.fd = -1, .folder = -1};

/* As the runtime finds the place of its own socket. */
static const char *folder_path(void)
{
	const char *path = getenv("TMPDIR");

	return path && *path ? path : "/tmp";
}

/* A path to the socket that is short enough for an address, whatever the folder's is. */
static int make_address(struct sockaddr_un *address)
{
	int n;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(address->sun_path, sizeof(address->sun_path), "%s/%s", folder_path(),
		listener.name);
	if (n >= (int)sizeof(address->sun_path))
		n = snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s",
			listener.folder, listener.name);
	return n < (int)sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

/*
 * Whether the name is taken by a socket of ours that nobody listens to: a process of that id and
 * start time that has died without a word.
 */
static bool is_stale(const struct sockaddr_un *address)
{
	struct stat st; /* read by system call: libc's is newer than the oldest libc */
	bool refused;
	int fd;

	if (syscall(SYS_newfstatat, listener.folder, listener.name, &st, AT_SYMLINK_NOFOLLOW) ||
		!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
		errno == ECONNREFUSED;
	close(fd);
	return refused;
}

/* The mode is the socket's before it has a name, so that nobody meets it with another. */
static int bind_socket(const struct sockaddr_un *address)
{
	if (fchmod(listener.fd, 0600))
		return -errno;
	if (!bind(listener.fd, (const struct sockaddr *)address, sizeof(*address)))
		return 0;
	if (errno != EADDRINUSE || !is_stale(address))
		return -errno;
	if (unlinkat(listener.folder, listener.name, 0) && errno != ENOENT)
		return -errno;
	return bind(listener.fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
}

static int listen_in_folder(void)
{
	struct sockaddr_un address;
	int failed;

	snprintf(listener.name, sizeof(listener.name), DNP_CONTROL_NAME, (int)getpid(),
		(unsigned long long)dnp_process_start_ticks(getpid()));
	failed = make_address(&address);
	if (!failed)
		failed = bind_socket(&address);
	if (failed)
		return failed;
	if (!listen(listener.fd, WAITING_MAX))
		failed = dnp_watch_add(listener.fd);
	else
		failed = -errno;
	if (failed)
		unlinkat(listener.folder, listener.name, 0);
	return failed;
}

/* Unless the program has closed it, and has another file there. */
static bool has_folder(void)
{
	return listener.folder >= 0 && dnp_file_is(listener.folder, listener.place);
}

static void close_folder(void)
{
	if (has_folder())
		close(listener.folder);
	listener.folder = -1;
}

static void close_watched(int fd)
{
	bool lost = dnp_watch_has_lost(fd);

	dnp_watch_remove(fd);
	if (!lost)
		close(fd);
}

int dnp_channel_listen(void)
{
	int failed;

	listener.pid = getpid();
	listener.folder = open(folder_path(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (listener.folder < 0)
		return -errno;
	listener.folder = dnp_fd_move_up(listener.folder);
	listener.place = dnp_file_id(listener.folder);
	listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	failed = listener.fd < 0 ? -errno : 0;
	if (!failed) {
		listener.fd = dnp_fd_move_up(listener.fd);
		failed = listen_in_folder();
	}
	if (failed) {
		if (listener.fd >= 0)
			close(listener.fd);
		listener.fd = -1;
		close_folder();
	}
	return failed;
}

void dnp_channel_keep(void)
{
	int before = listener.fd, fd;
	struct stat st;

	if (before < 0 || listener.pid != getpid() || !has_folder() ||
		!syscall(
			SYS_newfstatat, listener.folder, listener.name, &st, AT_SYMLINK_NOFOLLOW) ||
		errno != ENOENT)
		return;
	/* One that had a name gets no other. */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	listener.fd = dnp_fd_move_up(fd);
	if (listen_in_folder()) {
		close(listener.fd);
		listener.fd = before;
		return;
	}
	close_watched(before);
}

void dnp_channel_tell(const char *folder)
{
	char open_one[32], there[PATH_MAX], link[PATH_MAX + sizeof(listener.name)];
	ssize_t n;

	if (!has_folder())
		return;
	snprintf(open_one, sizeof(open_one), "/proc/self/fd/%d", listener.folder);
	n = readlink(open_one, there, sizeof(there));
	if (n <= 0 || (size_t)n == sizeof(there))
		return;
	there[n] = '\0';
	snprintf(link, sizeof(link), "%s/%s", folder, listener.name);
	if (symlink(there, link))
		return; /* as said */
}

void dnp_channel_shut(void)
{
	if (listener.fd < 0)
		return;
	if (has_folder())
		unlinkat(listener.folder, listener.name, 0);
	close_watched(listener.fd);
	listener.fd = -1;
	close_folder();
}

/* A program that ends while we leave it does not tell us any more. */
__attribute__((destructor)) static void remove_socket(void)
{
	if (listener.fd >= 0 && listener.pid == getpid() && has_folder())
		unlinkat(listener.folder, listener.name, 0);
}

static bool is_allowed(int fd, int *pid)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t n = sizeof(peer);

	*pid = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n))
		return false;
	*pid = peer.pid;
	return peer.uid == geteuid() || peer.uid == 0;
}

int dnp_channel_accept(int *pid, bool *same_user)
{
	int fd;

	if (dnp_watch_has_lost(listener.fd))
		return -EAGAIN;
	fd = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		/* Else whoever waits is news, all the time. */
		if (errno != EAGAIN)
			dnp_watch_rest(listener.fd, dnp_now_ns() + REST_NS);
		return -EAGAIN;
	}
	fd = dnp_fd_move_up(fd);
	*same_user = is_allowed(fd, pid);
	dnp_watch_add(fd);
	return fd;
}

void dnp_channel_drop(int connection)
{
	close_watched(connection);
}

int dnp_channel_send(int connection, void *bytes, size_t n, int file, bool waits)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {bytes, n};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *rights;

	if (dnp_watch_has_lost(connection))
		return -EPIPE;
	if (file >= 0) {
		header.msg_control = space;
		header.msg_controllen = sizeof(space);
		rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(rights), &file, sizeof(int));
	}
	/* No signal comes where the other side has gone. */
	return sendmsg(connection, &header, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT)) < 0 ? -errno
											   : 0;
}

static void take_files(struct dnp_channel_message *message, struct msghdr *header)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n && message->n_files < DNP_CHANNEL_FILES; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			message->files[message->n_files++] = dnp_fd_move_up(fd);
		}
	}
}

int dnp_channel_receive(int connection, struct dnp_channel_message *message)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(DNP_CHANNEL_FILES * sizeof(int))];
	struct iovec bytes = {message->bytes, message->room};
	struct msghdr header = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	ssize_t n;

	message->n_files = 0;
	if (dnp_watch_has_lost(connection))
		return -EPIPE;
	n = recvmsg(connection, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	take_files(message, &header);
	message->n = (size_t)n;
	return n || message->n_files ? 0 : -EPIPE;
}

bool dnp_channel_has_news(int connection)
{
	struct pollfd end = {.fd = connection};

	/* A signal of the C library's may come. */
	return dnp_watch_has_lost(connection) || poll(&end, 1, 0) > 0;
}

void dnp_channel_deafen(int connection)
{
	shutdown(connection, SHUT_RD);
}

void dnp_channel_close(int connection)
{
	close(connection);
}
