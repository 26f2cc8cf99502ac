/* SPDX-License-Identifier: MIT */
/* Answers of a diagnostics server, and requests with texts and GUIDs, from any bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "launch/ipc_message.h"

static void read_answer(const uint8_t *data, size_t n)
{
	uint8_t head[DNP_IPC_HEAD] = {0};
	size_t rest, held = n < sizeof(head) ? n : sizeof(head);
	bool done;
	int status;

	memcpy(head, data, held);
	status = dnp_ipc_read_head(head, &done, &rest);
	if (status ? status != -EBADMSG : rest > DNP_IPC_MAX - DNP_IPC_HEAD)
		abort();
	dnp_ipc_read_result(data + held, n - held);
}

/* What is written is of the length that it says. */
static void write_request(const char *text)
{
	static struct dnp_ipc_request request;

	dnp_ipc_begin(&request, DNP_IPC_STARTUP_PROFILER);
	dnp_ipc_put_text(&request, text);
	if (dnp_ipc_is_guid(text))
		dnp_ipc_put_guid(&request, text);
	if (!dnp_ipc_end(&request) &&
		request.n != (request.bytes[14] | (size_t)request.bytes[15] << 8))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);

	if (!text)
		return 0;
	memcpy(text, data, n);
	text[n] = '\0';
	read_answer(data, n);
	write_request(text);
	free(text);
	return 0;
}
