/* SPDX-License-Identifier: MIT */
#include "launch/port.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/clean.h"
#include "launch/linux/ipc.h"
#include "os/clock.h"

#define MS_NS     UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

struct dnp_port {
	struct sockaddr_un address;
	int listener;           /* owned */
	struct dnp_socket peer; /* its descriptor is owned; -1: nobody is there */

	int aside[DNP_PORT_ASIDE]; /* a ring of descriptors, owned */
	unsigned n_aside;          /* … there were */
};

static uint64_t left_ns(uint64_t until_ns)
{
	uint64_t now = dnp_now_ns();

	return now + MS_NS < until_ns ? until_ns - now : MS_NS;
}

static int listen_at(struct dnp_port *port)
{
	mode_t mask = umask(0177);
	int ret = port->listener < 0 ||
			bind(port->listener, (struct sockaddr *)&port->address,
				sizeof(port->address))
		? -errno
		: 0;

	umask(mask);
	if (!ret && listen(port->listener, 16)) {
		ret = -errno;
		unlink(port->address.sun_path);
	}
	return ret;
}

static struct dnp_port *make(const char *name, int interrupt)
{
	struct dnp_port *port = calloc(1, sizeof(*port));

	if (!port)
		return NULL;
	port->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	port->peer.fd = -1;
	port->peer.interrupt = interrupt;
	port->address.sun_family = AF_UNIX;
	memcpy(port->address.sun_path, name, strlen(name) + 1);
	return port;
}

int dnp_port_open(struct dnp_port **out, const char *name, int interrupt, struct dnp_err *err)
{
	struct dnp_port *port;
	int failed;

	if (strlen(name) >= sizeof(port->address.sun_path))
		return dnp_err(err, -ENAMETOOLONG,
			"cannot wait at the port %s: the name is too long; sockets have at most "
			"107 bytes",
			name);
	port = make(name, interrupt);
	if (!port)
		return dnp_err(err, -ENOMEM, "%s", strerror(ENOMEM));
	failed = listen_at(port);
	*out = port;
	if (!failed)
		return 0;
	if (port->listener >= 0)
		close(port->listener);
	free(port);
	return dnp_err(err, failed,
		"cannot wait at the port %s: %s; remove the file if nobody else waits there, or "
		"name another one",
		name, strerror(-failed));
}

void dnp_port_close(struct dnp_port *port)
{
	dnp_port_leave(port);
	for (unsigned i = 0; i < port->n_aside && i < DNP_PORT_ASIDE; i++)
		close(port->aside[i]);
	close(port->listener);
	unlink(port->address.sun_path);
	free(port);
}

void dnp_port_limit(struct dnp_port *port, uint64_t until_ns)
{
	uint64_t ns = left_ns(until_ns);
	struct timeval patience = {(time_t)(ns / SECOND_NS), (suseconds_t)(ns % SECOND_NS / 1000)};

	setsockopt(port->peer.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	port->peer.until_ns = until_ns;
}

/* Who has come: a user that we may serve. */
static pid_t peer_of(const struct dnp_port *port)
{
	struct ucred peer = {0};
	socklen_t n = sizeof(peer);

	if (getsockopt(port->peer.fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) ||
		(peer.uid != geteuid() && geteuid()))
		return -1;
	return peer.pid;
}

int dnp_port_accept(struct dnp_port *port, uint64_t until_ns, pid_t *pid)
{
	struct pollfd ready[] = {
		{.fd = port->listener, .events = POLLIN},
		{.fd = port->peer.interrupt, .events = POLLIN},
	};

	if (poll(ready, DNP_ARRAY_SIZE(ready), (int)(left_ns(until_ns) / MS_NS)) <= 0)
		return -EAGAIN;
	if (ready[1].revents)
		return -EINTR;
	port->peer.fd = accept4(port->listener, NULL, NULL, SOCK_CLOEXEC);
	if (port->peer.fd < 0)
		return -EAGAIN;
	*pid = peer_of(port);
	if (*pid >= 0)
		return 0;
	dnp_port_leave(port);
	return -EAGAIN;
}

int dnp_port_send(const struct dnp_port *port, const uint8_t *bytes, size_t n)
{
	return dnp_socket_send(&port->peer, bytes, n);
}

int dnp_port_receive(const struct dnp_port *port, uint8_t *bytes, size_t n)
{
	return dnp_socket_receive(&port->peer, bytes, n);
}

void dnp_port_leave(struct dnp_port *port)
{
	if (port->peer.fd >= 0)
		close(port->peer.fd);
	port->peer.fd = -1;
}

void dnp_port_set_aside(struct dnp_port *port)
{
	int *place = &port->aside[port->n_aside % DNP_PORT_ASIDE];

	if (port->n_aside++ >= DNP_PORT_ASIDE)
		close(*place);
	*place = port->peer.fd;
	port->peer.fd = -1;
}
