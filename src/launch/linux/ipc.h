/* SPDX-License-Identifier: MIT */
/* The socket of a runtime, which it makes in its TMPDIR. */
#ifndef DNP_LAUNCH_LINUX_IPC_H
#define DNP_LAUNCH_LINUX_IPC_H

#include "launch/ipc.h"

/* The socket's name: pid as the process knows it, start time (unsigned long long). */
#define DNP_IPC_NAME      "dotnet-diagnostic-%d-%llu-socket"
#define DNP_IPC_NAME_ROOM 108u /* of any path to a socket */

/*
 * The socket of the runtime in a process, and the folder in which it is by that name: an O_PATH
 * descriptor, or -errno. Where the path is too long for a socket, the runtime cuts it.
 */
int dnp_ipc_folder(const struct dnp_target *target, char name[DNP_IPC_NAME_ROOM]);

/* A connection, which is there already and sends as long as its SO_SNDTIMEO says. */
struct dnp_socket {
	int fd, interrupt; /* borrowed; launch/interrupt.h, -1: none */
	uint64_t until_ns;
};

/* Passes n bytes. 0 or -errno: -EAGAIN: not in time, -EINTR, -ECONNRESET. */
int dnp_socket_send(const struct dnp_socket *to, const uint8_t *bytes, size_t n);
int dnp_socket_receive(const struct dnp_socket *from, uint8_t *bytes, size_t n);

#endif
