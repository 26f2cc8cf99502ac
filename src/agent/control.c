/* SPDX-License-Identifier: MIT */
#include "agent/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/answer.h"
#include "agent/requests.h"
#include "base/clean.h"
#include "format/control.h"
#include "os/clock.h"
#include "os/fds.h"
#include "os/process.h"
#include "os/watch.h"

#define CLIENTS 8
#define ASK_NS  UINT64_C(2000000000) /* how long a client may be silent */
#define FDS_MAX 8                    /* descriptors that one message can bring */

struct client {
	int fd;            /* owned, -1: none */
	pid_t pid;         /* at its other end, 0: in no process that we can see */
	uint64_t until_ns; /* UINT64_MAX: it stays */
};

static struct {
	int fd;        /* owned, -1: none */
	pid_t pid;     /* of the process that made it */
	int folder;    /* owned, -1: none; where the socket lies */
	char name[64]; /* there */
	struct client clients[CLIENTS];
} control = {.fd = -1, .folder = -1};

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
	n = snprintf(
		address->sun_path, sizeof(address->sun_path), "%s/%s", folder_path(), control.name);
	if (n >= (int)sizeof(address->sun_path))
		n = snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s",
			control.folder, control.name);
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

	if (syscall(SYS_newfstatat, control.folder, control.name, &st, AT_SYMLINK_NOFOLLOW) ||
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
	if (fchmod(control.fd, 0600))
		return -errno;
	if (!bind(control.fd, (const struct sockaddr *)address, sizeof(*address)))
		return 0;
	if (errno != EADDRINUSE || !is_stale(address))
		return -errno;
	if (unlinkat(control.folder, control.name, 0) && errno != ENOENT)
		return -errno;
	return bind(control.fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
}

static int listen_in_folder(void)
{
	struct sockaddr_un address;
	int failed;

	snprintf(control.name, sizeof(control.name), DNP_CONTROL_NAME, (int)getpid(),
		(unsigned long long)dnp_process_start_ticks(getpid()));
	failed = make_address(&address);
	if (!failed)
		failed = bind_socket(&address);
	if (failed)
		return failed;
	if (!listen(control.fd, CLIENTS))
		failed = dnp_watch_add(control.fd);
	else
		failed = -errno;
	if (failed)
		unlinkat(control.folder, control.name, 0);
	return failed;
}

static void close_fds(void)
{
	if (control.fd >= 0)
		close(control.fd);
	if (control.folder >= 0)
		close(control.folder);
	control.fd = control.folder = -1;
}

int dnp_control_open(void)
{
	int failed;

	for (unsigned i = 0; i < CLIENTS; i++)
		control.clients[i].fd = -1;
	control.pid = getpid();
	control.folder = open(folder_path(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (control.folder < 0)
		return -errno;
	control.folder = dnp_fd_move_up(control.folder);
	control.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	failed = control.fd < 0 ? -errno : 0;
	if (!failed) {
		control.fd = dnp_fd_move_up(control.fd);
		failed = listen_in_folder();
	}
	if (failed)
		close_fds();
	return failed;
}

void dnp_control_tell(const char *folder)
{
	char open_one[32], there[PATH_MAX], link[PATH_MAX + sizeof(control.name)];
	ssize_t n;

	if (control.folder < 0)
		return;
	snprintf(open_one, sizeof(open_one), "/proc/self/fd/%d", control.folder);
	n = readlink(open_one, there, sizeof(there));
	if (n <= 0 || (size_t)n == sizeof(there))
		return;
	there[n] = '\0';
	snprintf(link, sizeof(link), "%s/%s", folder, control.name);
	if (symlink(there, link))
		return; /* as said */
}

static void drop(struct client *client)
{
	if (client->fd < 0)
		return;
	dnp_watch_remove(client->fd);
	close(client->fd);
	client->fd = -1;
}

void dnp_control_close(void)
{
	if (control.fd < 0)
		return;
	unlinkat(control.folder, control.name, 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		drop(&control.clients[i]);
	dnp_watch_remove(control.fd);
	close_fds();
}

/* A program that ends while we leave it does not tell us any more. */
__attribute__((destructor)) static void remove_socket(void)
{
	if (control.fd >= 0 && control.pid == getpid())
		unlinkat(control.folder, control.name, 0);
}

static void refuse(int fd, int error, const char *text)
{
	dnp_answer_send(fd, DNP_CONTROL_ERROR, (uint32_t)error, text, -1);
}

static bool is_allowed(int fd, pid_t *pid)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t n = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n))
		return false;
	*pid = peer.pid;
	return peer.uid == geteuid() || peer.uid == 0;
}

/* A free place; where there is none, that of the client who has been silent longest. */
static struct client *find_place(void)
{
	struct client *oldest = &control.clients[0];

	for (unsigned i = 0; i < CLIENTS; i++) {
		if (control.clients[i].fd < 0)
			return &control.clients[i];
		if (control.clients[i].until_ns < oldest->until_ns)
			oldest = &control.clients[i];
	}
	drop(oldest);
	return oldest;
}

static void accept_client(int fd)
{
	struct client *client;
	pid_t pid;

	fd = dnp_fd_move_up(fd);
	if (!is_allowed(fd, &pid)) {
		refuse(fd, EPERM,
			"it belongs to another user; ask as the user that it runs as, or as root");
		close(fd);
		return;
	}
	client = find_place();
	*client = (struct client){fd, pid, dnp_now_ns() + ASK_NS};
	dnp_watch_add(fd);
}

static void accept_clients(void)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		int fd = accept4(control.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		accept_client(fd);
	}
}

/* What a client has sent. */
struct request {
	uint8_t packet[DNP_CONTROL_MAX + 1]; /* a byte more: what is longer does not pass */
	size_t n;
	int fds[FDS_MAX]; /* owned */
	unsigned n_fds;
};

static void take_fds(struct request *request, struct msghdr *header)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n && request->n_fds < FDS_MAX; i++)
			memcpy(&request->fds[request->n_fds++], CMSG_DATA(c) + i * sizeof(int),
				sizeof(int));
	}
}

/* 0, -EAGAIN: nothing there yet, or another -errno; -EPIPE: the client has gone. */
static int receive(int fd, struct request *request)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct iovec bytes = {request->packet, sizeof(request->packet)};
	struct msghdr header = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	ssize_t n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	request->n_fds = 0;
	if (n < 0)
		return -errno;
	take_fds(request, &header);
	request->n = (size_t)n;
	return n || request->n_fds ? 0 : -EPIPE;
}

/* True: the connection is to stay. */
static bool handle(struct client *client, struct request *request, bool (*meanwhile)(void))
{
	struct dnp_control_message message;
	struct dnp_asker asker = {
		.fd = client->fd,
		.pid = client->pid,
		.given = request->n_fds == 1 ? request->fds[0] : -1,
		.meanwhile = meanwhile,
	};
	int failed = dnp_control_get(request->packet, request->n, &message);
	bool stays = false;

	if (failed == -EPROTONOSUPPORT)
		refuse(client->fd, EPROTONOSUPPORT,
			"the agent in it is dnprof " DNP_VERSION
			"; use the dnprof of that version");
	else if (failed)
		refuse(client->fd, EBADMSG,
			"the request is not understood; use the dnprof of version " DNP_VERSION);
	else
		stays = dnp_requests_handle(&asker, &message);
	if (request->n_fds == 1 && asker.given < 0)
		request->n_fds = 0;
	return stays;
}

static void serve_client(struct client *client, bool (*meanwhile)(void))
{
	static struct request request; /* the recorder's, too large for its stack */
	int failed = receive(client->fd, &request);
	bool stays = client->until_ns == UINT64_MAX;

	if (!failed)
		stays = handle(client, &request, meanwhile);
	for (unsigned i = 0; i < request.n_fds; i++)
		close(request.fds[i]);
	if (failed == -EAGAIN ? dnp_now_ns() < client->until_ns : !failed && stays) {
		if (stays)
			client->until_ns = UINT64_MAX;
		return;
	}
	dnp_requests_gone(client->fd);
	drop(client);
}

void dnp_control_serve(bool (*meanwhile)(void))
{
	if (control.fd < 0)
		return;
	accept_clients();
	for (unsigned i = 0; i < CLIENTS; i++)
		if (control.clients[i].fd >= 0)
			serve_client(&control.clients[i], meanwhile);
}

uint64_t dnp_control_deadline(void)
{
	uint64_t deadline = UINT64_MAX;

	for (unsigned i = 0; control.fd >= 0 && i < CLIENTS; i++)
		if (control.clients[i].fd >= 0 && control.clients[i].until_ns < deadline)
			deadline = control.clients[i].until_ns;
	return deadline;
}
