/* SPDX-License-Identifier: MIT */
#include "launch/linux/ipc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clean.h"
#include "launch/interrupt.h"
#include "os/clock.h"

int dnp_socket_send(const struct dnp_socket *to, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t sent = send(to->fd, bytes, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EPIPE ? -ECONNRESET : -errno;
		bytes += sent;
		n -= (size_t)sent;
	}
	return 0;
}

int dnp_socket_receive(const struct dnp_socket *from, uint8_t *bytes, size_t n)
{
	while (n) {
		int failed = dnp_interrupt_await(from->fd, from->interrupt, from->until_ns);
		ssize_t got = failed ? 0 : recv(from->fd, bytes, n, 0);

		if (failed)
			return failed;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ECONNRESET;
		bytes += got;
		n -= (size_t)got;
	}
	return 0;
}

static int send_to(const void *socket, const uint8_t *bytes, size_t n)
{
	return dnp_socket_send(socket, bytes, n);
}

static int receive_from(const void *socket, uint8_t *bytes, size_t n)
{
	return dnp_socket_receive(socket, bytes, n);
}

int dnp_ipc_folder(const struct dnp_target *target, char name[DNP_IPC_NAME_ROOM])
{
	auto_free char *variable = dnp_target_variable(target, "TMPDIR");
	const char *folder = variable && *variable ? variable : "/tmp";
	char path[DNP_IPC_NAME_ROOM], *slash;

	/* What does not fit is cut off, as the runtime does. */
	snprintf(path, sizeof(path), "%s%s" DNP_IPC_NAME, folder,
		folder[strlen(folder) - 1] == '/' ? "" : "/", target->inner_pid,
		(unsigned long long)target->process.start_ticks);
	slash = strrchr(path, '/');
	snprintf(name, DNP_IPC_NAME_ROOM, "%s", slash ? slash + 1 : path);
	if (slash)
		slash[slash == path] = '\0';
	return dnp_target_open(target, slash ? path : ".", O_PATH | O_DIRECTORY);
}

int dnp_ipc_ask(const struct dnp_target *target, const struct dnp_ipc_request *request,
	uint64_t patience_ns, int interrupt, HRESULT *result)
{
	char name[DNP_IPC_NAME_ROOM];
	auto_close int folder = dnp_ipc_folder(target, name);
	auto_close int fd = folder < 0
		? folder
		: dnp_target_connect(target, folder, name, SOCK_STREAM, patience_ns, interrupt);
	struct dnp_socket socket = {
		.fd = fd,
		.interrupt = interrupt,
		.until_ns = dnp_now_ns() + patience_ns,
	};
	const struct dnp_ipc_stream stream = {send_to, receive_from, &socket};

	if (fd < 0)
		return fd == -EAGAIN ? -EBUSY : fd;
	return dnp_ipc_converse(&stream, request, result);
}
