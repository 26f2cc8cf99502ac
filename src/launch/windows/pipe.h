/* SPDX-License-Identifier: MIT */
/*
 * The pipe of a .NET runtime's diagnostics server, as bytes. One thread.
 *
 * A runtime that is connected to in the moment between making an instance of its pipe and beginning
 * to wait at it never learns of that (ds_ipc_listen, CoreCLR 8 to 10): nobody is answered any more,
 * as long as it lives. It makes the next one when somebody has connected, and before it reads what
 * he says; so of those that connect here one waits until the other has his answer.
 */
#ifndef DNP_LAUNCH_WINDOWS_PIPE_H
#define DNP_LAUNCH_WINDOWS_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dnp_pipe {
	intptr_t connection, event; /* handles, owned */
	intptr_t turn;              /* a mutex, owned and held; 0: it could not be had */
	int interrupt;              /* handle of an event that ends waiting, borrowed; -1: none */
	uint64_t until_ns;
};

/* Whether a process has such a pipe; everybody may know. */
bool dnp_pipe_is_there(pid_t pid);

/*
 * Connects; nothing from then on takes longer than until then (dnp_now_ns()). 0 or -errno: -ENOENT:
 * no such pipe, -EACCES: no rights, -EBADE: another process has made it, -EBUSY: no room by then,
 * -EINTR: `interrupt`.
 */
int dnp_pipe_open(struct dnp_pipe *pipe, pid_t pid, uint64_t until_ns, int interrupt);
void dnp_pipe_close(struct dnp_pipe *pipe);

/* Passes n bytes. 0 or -errno: -EAGAIN: not in time, -EINTR, -ECONNRESET. */
int dnp_pipe_send(const struct dnp_pipe *pipe, const uint8_t *bytes, size_t n);
int dnp_pipe_receive(const struct dnp_pipe *pipe, uint8_t *bytes, size_t n);

#endif
