/* SPDX-License-Identifier: MIT */
/*
 * Asks the diagnostics server of the .NET runtime in a process: a socket that the runtime makes in
 * its TMPDIR when it starts, unless diagnostics are switched off. One connection, one command; the
 * server serves one after the other.
 */
#ifndef DNP_LAUNCH_LINUX_IPC_H
#define DNP_LAUNCH_LINUX_IPC_H

#include "launch/ipc_message.h"
#include "launch/target.h"

/* The socket's name: pid as the process knows it, start time (unsigned long long). */
#define DNP_IPC_NAME      "dotnet-diagnostic-%d-%llu-socket"
#define DNP_IPC_NAME_ROOM 108u /* of any path to a socket */

/*
 * The socket of the runtime in a process, and the folder in which it is by that name: an O_PATH
 * descriptor, or -errno. Where the path is too long for a socket, the runtime cuts it.
 */
int dnp_ipc_folder(const struct dnp_target *target, char name[DNP_IPC_NAME_ROOM]);

/*
 * Sends a request that is complete and waits for the answer. 0: there is one, *result; -errno: none
 * came. -ENOENT, -ECONNREFUSED: no server is there; -EACCES: it is another user's; -EBADE: the
 * socket is another process's; -EBUSY: too many ask at once; -EAGAIN: no answer within the time;
 * -ECONNRESET: the process ended the connection; -EBADMSG: the answer makes no sense; -EINTR:
 * `interrupt` is readable (-1: none).
 */
int dnp_ipc_ask(const struct dnp_target *target, const struct dnp_ipc_request *request,
	uint64_t patience_ns, int interrupt, HRESULT *result);

/* The same over a connection that is there already. */
int dnp_ipc_talk(int fd, const struct dnp_ipc_request *request, uint64_t patience_ns, int interrupt,
	HRESULT *result);

#endif
