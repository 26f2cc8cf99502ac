/* SPDX-License-Identifier: MIT */
/*
 * Messages to the diagnostics server of a .NET runtime, as bytes. Each begins with a head of 20
 * bytes: the magic "DOTNET_IPC_V1" with its zero, the length of all (uint16), the set of commands,
 * the command, two bytes of zero. Numbers are little-endian; texts are UTF-16 with a zero behind,
 * and the count of their units (uint32) before. Source: dotnet/diagnostics, IPC protocol.
 */
#ifndef DNP_LAUNCH_IPC_MESSAGE_H
#define DNP_LAUNCH_IPC_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hresult.h"

#define DNP_IPC_HEAD 20u

/* The length has sixteen bits. */
#define DNP_IPC_MAX UINT16_MAX

/* Set and command, as (set << 8 | command). */
enum dnp_ipc_command {
	DNP_IPC_ATTACH_PROFILER = 0x0301,
	DNP_IPC_STARTUP_PROFILER = 0x0302,
	DNP_IPC_RESUME_RUNTIME = 0x0401,
	DNP_IPC_SET_VARIABLE = 0x0403,
};

/* A request that is being written. What does not fit sets `failed`; the rest is then left out. */
struct dnp_ipc_request {
	uint8_t bytes[DNP_IPC_MAX];
	size_t n;
	bool failed;
};

void dnp_ipc_begin(struct dnp_ipc_request *request, enum dnp_ipc_command command);
void dnp_ipc_put_u32(struct dnp_ipc_request *request, uint32_t value);
void dnp_ipc_put_bytes(struct dnp_ipc_request *request, const void *bytes, size_t n);
void dnp_ipc_put_text(struct dnp_ipc_request *request, const char *utf8);

/* A GUID as text, in braces or not; anything else sets `failed`. */
void dnp_ipc_put_guid(struct dnp_ipc_request *request, const char *text);

/* Completes the head. 0 or -E2BIG. */
int dnp_ipc_end(struct dnp_ipc_request *request);

/*
 * Reads the head of an answer, which may be anything: the bytes that follow it in *rest, and
 * whether the command was done. 0 or -EBADMSG.
 */
int dnp_ipc_read_head(const uint8_t head[DNP_IPC_HEAD], bool *done, size_t *rest);

/* What the n bytes behind the head say: a result; one that is no failure where none stands there.
 */
HRESULT dnp_ipc_read_result(const uint8_t *bytes, size_t n);

/* The same as a whole: a failure also where it was not done, and nothing, or a success, is said of
 * it. */
HRESULT dnp_ipc_outcome(bool done, const uint8_t *bytes, size_t n);

/* A connection. 0 or -errno. */
struct dnp_ipc_stream {
	int (*send)(const void *context, const uint8_t *bytes, size_t n);
	int (*receive)(const void *context, uint8_t *bytes, size_t n);
	const void *context; /* borrowed */
};

/*
 * Sends a request that is complete and waits for the answer. 0: there is one, *result; -EBADMSG: it
 * makes no sense; else what the functions return.
 */
int dnp_ipc_converse(const struct dnp_ipc_stream *stream, const struct dnp_ipc_request *request,
	HRESULT *result);

/* Whether text is xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, hexadecimal, in braces or without. */
bool dnp_ipc_is_guid(const char *text);

#endif
