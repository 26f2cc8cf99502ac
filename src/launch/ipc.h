/* SPDX-License-Identifier: MIT */
/*
 * Asks the diagnostics server of the .NET runtime in a process: a socket, or a pipe of Windows,
 * that the runtime makes when it starts, unless diagnostics are switched off. One connection, one
 * command; the server serves one after the other.
 */
#ifndef DNP_LAUNCH_IPC_H
#define DNP_LAUNCH_IPC_H

#include "launch/ipc_message.h"
#include "launch/target.h"

/*
 * Sends a request that is complete and waits for the answer. 0: there is one, *result; -errno: none
 * came. -ENOENT, -ECONNREFUSED: no server is there; -EACCES: it is another user's; -EBADE: the
 * server is another process's; -EBUSY: too many ask at once; -EAGAIN: no answer within the time;
 * -ECONNRESET: the process ended the connection; -EBADMSG: the answer makes no sense; -EINTR:
 * `interrupt` (launch/interrupt.h; -1: none).
 */
int dnp_ipc_ask(const struct dnp_target *target, const struct dnp_ipc_request *request,
	uint64_t patience_ns, int interrupt, HRESULT *result);

#endif
