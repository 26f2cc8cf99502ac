/* SPDX-License-Identifier: MIT */
#include "launch/windows/ipc.h"

#include "launch/windows/pipe.h"
#include "os/clock.h"

static int converse(
	const struct dnp_pipe *pipe, const struct dnp_ipc_request *request, HRESULT *result)
{
	static uint8_t rest[DNP_IPC_MAX];
	uint8_t head[DNP_IPC_HEAD];
	size_t n;
	bool done;
	int ret = dnp_pipe_send(pipe, request->bytes, request->n);

	if (!ret)
		ret = dnp_pipe_receive(pipe, head, sizeof(head));
	if (!ret)
		ret = dnp_ipc_read_head(head, &done, &n);
	if (!ret)
		ret = dnp_pipe_receive(pipe, rest, n);
	if (!ret)
		*result = dnp_ipc_outcome(done, rest, n);
	return ret;
}

int dnp_ipc_ask(const struct dnp_target *target, const struct dnp_ipc_request *request,
	uint64_t patience_ns, int interrupt, HRESULT *result)
{
	struct dnp_pipe pipe;
	int ret = dnp_pipe_open(&pipe, target->pid, dnp_now_ns() + patience_ns, interrupt);

	if (ret)
		return ret;
	ret = converse(&pipe, request, result);
	dnp_pipe_close(&pipe);
	return ret;
}
