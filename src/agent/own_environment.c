/* SPDX-License-Identifier: MIT */
#include "agent/own_environment.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/process.h"

/* Diagnostics IPC (dotnet/diagnostics, documentation/design-docs/ipc-protocol.md), little-endian.
 */
#define NAME_MAX_CHARS 63

struct ipc_header {
	char magic[14]; /* "DOTNET_IPC_V1", zero-terminated */
	uint16_t size;  /* of the whole message */
	uint8_t set;
	uint8_t command; /* in an answer: 0 OK, 0xff error */
	uint16_t reserved;
};

#define IPC_SET_PROCESS        4
#define IPC_SET_ENVIRONMENT    3
#define IPC_SET_SERVER         0xff
#define IPC_SERVER_OK          0
#define IPC_ANSWER_SECONDS_MAX 1

/* SetEnvironmentVariable: two strings, each its length in UTF-16 units with the zero, then they. */
struct ipc_unset {
	struct ipc_header header;
	uint8_t payload[4 + 2 * (NAME_MAX_CHARS + 1) + 4];
};

_Static_assert(sizeof(struct ipc_header) == 20, "the header is 20 bytes on the wire");

static int connect_server(void)
{
	const struct timeval patience = {.tv_sec = IPC_ANSWER_SECONDS_MAX};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *folder = getenv("TMPDIR");
	size_t n;
	int fd;

	if (!folder || !*folder)
		folder = "/tmp";
	n = (size_t)snprintf(address.sun_path, sizeof(address.sun_path),
		"%s/dotnet-diagnostic-%d-%llu-socket", folder, (int)getpid(),
		(unsigned long long)dnp_process_start_ticks(getpid()));
	if (n >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
		connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		int failed = -errno;

		close(fd);
		return failed;
	}
	return fd;
}

/* The message that removes `name`; its size. A value of no characters stands for none. */
static uint16_t put_unset(struct ipc_unset *message, const char *name)
{
	uint32_t chars = (uint32_t)strlen(name) + 1;
	uint16_t size = (uint16_t)(sizeof(message->header) + 4 + 2 * chars + 4);

	*message = (struct ipc_unset){
		.header = {"DOTNET_IPC_V1", size, IPC_SET_PROCESS, IPC_SET_ENVIRONMENT, 0},
	};
	memcpy(message->payload, &chars, 4);
	for (uint32_t i = 0; i < chars; i++)
		message->payload[4 + 2 * i] = (uint8_t)name[i];
	return size;
}

static int read_answer(int fd)
{
	struct ipc_header answer;
	ssize_t n = recv(fd, &answer, sizeof(answer), MSG_WAITALL);

	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(answer))
		return -EPROTO;
	return answer.set == IPC_SET_SERVER && answer.command == IPC_SERVER_OK ? 0 : -EPROTO;
}

int dnp_own_environment_unset(const char *name)
{
	auto_close int fd = -1;
	struct ipc_unset message;
	uint16_t size;

	unsetenv(name);
	if (strlen(name) > NAME_MAX_CHARS)
		return -ENAMETOOLONG;
	fd = connect_server();
	if (fd < 0)
		return fd;
	size = put_unset(&message, name);
	if (send(fd, &message, size, MSG_NOSIGNAL) != size)
		return errno ? -errno : -EPIPE;
	return read_answer(fd);
}
