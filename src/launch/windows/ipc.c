/* SPDX-License-Identifier: MIT */
#include "launch/ipc.h"

#include "launch/windows/pipe.h"
#include "os/clock.h"

static int send_to(const void *pipe, const uint8_t *bytes, size_t n)
{
	return dnp_pipe_send(pipe, bytes, n);
}

static int receive_from(const void *pipe, uint8_t *bytes, size_t n)
{
	return dnp_pipe_receive(pipe, bytes, n);
}

int dnp_ipc_ask(const struct dnp_target *target, const struct dnp_ipc_request *request,
	uint64_t patience_ns, int interrupt, HRESULT *result)
{
	struct dnp_pipe pipe;
	const struct dnp_ipc_stream stream = {send_to, receive_from, &pipe};
	int ret = dnp_pipe_open(&pipe, target->pid, dnp_now_ns() + patience_ns, interrupt);

	if (ret)
		return ret;
	ret = dnp_ipc_converse(&stream, request, result);
	dnp_pipe_close(&pipe);
	return ret;
}
