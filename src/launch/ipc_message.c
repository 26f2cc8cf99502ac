/* SPDX-License-Identifier: MIT */
#include "launch/ipc_message.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const char magic[14] = "DOTNET_IPC_V1";

#define AT_LENGTH  14
#define AT_COMMAND 16

#define SET_SERVER  0xff
#define SERVER_DONE 0x00

static uint8_t low(uint32_t value, unsigned byte)
{
	return (uint8_t)(value >> 8 * byte);
}

void dnp_ipc_put_bytes(struct dnp_ipc_request *request, const void *bytes, size_t n)
{
	if (request->failed || n > sizeof(request->bytes) - request->n) {
		request->failed = true;
		return;
	}
	if (n)
		memcpy(request->bytes + request->n, bytes, n);
	request->n += n;
}

static void put_number(struct dnp_ipc_request *request, uint32_t value, unsigned size)
{
	uint8_t bytes[4];

	for (unsigned i = 0; i < size; i++)
		bytes[i] = low(value, i);
	dnp_ipc_put_bytes(request, bytes, size);
}

void dnp_ipc_put_u32(struct dnp_ipc_request *request, uint32_t value)
{
	put_number(request, value, 4);
}

void dnp_ipc_begin(struct dnp_ipc_request *request, enum dnp_ipc_command command)
{
	request->n = 0;
	request->failed = false;
	dnp_ipc_put_bytes(request, magic, sizeof(magic));
	put_number(request, 0, 2);
	put_number(request, (uint32_t)command >> 8, 1);
	put_number(request, command, 1);
	put_number(request, 0, 2);
}

static void put_utf16(struct dnp_ipc_request *request, uint32_t code)
{
	if (code >= 0x10000) {
		put_number(request, 0xd800 + ((code - 0x10000) >> 10), 2);
		code = 0xdc00 + ((code - 0x10000) & 0x3ff);
	}
	put_number(request, code, 2);
}

void dnp_ipc_put_text(struct dnp_ipc_request *request, const char *utf8)
{
	struct dnp_str text = dnp_str(utf8);
	uint32_t units = 1;

	for (size_t at = 0; at < text.n;)
		units += dnp_utf8_next(text, &at) >= 0x10000 ? 2 : 1;
	dnp_ipc_put_u32(request, units);
	for (size_t at = 0; at < text.n;)
		put_utf16(request, dnp_utf8_next(text, &at));
	put_number(request, 0, 2);
}

bool dnp_ipc_is_guid(const char *text)
{
	static const char form[] = "00000000-0000-0000-0000-000000000000";
	size_t n = strlen(text), at = 0;

	if (n == strlen(form) + 2 && text[0] == '{' && text[n - 1] == '}')
		at = 1;
	else if (n != strlen(form))
		return false;
	for (const char *f = form; *f; f++, at++)
		if (*f == '-' ? text[at] != '-' : !isxdigit((unsigned char)text[at]))
			return false;
	return true;
}

/* The first three groups are numbers, the last two bytes in their order. */
void dnp_ipc_put_guid(struct dnp_ipc_request *request, const char *text)
{
	unsigned long long last;
	char *end;

	if (!dnp_ipc_is_guid(text)) {
		request->failed = true;
		return;
	}
	dnp_ipc_put_u32(request, (uint32_t)strtoul(text + (*text == '{'), &end, 16));
	put_number(request, (uint32_t)strtoul(end + 1, &end, 16), 2);
	put_number(request, (uint32_t)strtoul(end + 1, &end, 16), 2);
	last = strtoull(end + 1, &end, 16) << 48;
	last |= strtoull(end + 1, NULL, 16);
	for (int shift = 56; shift >= 0; shift -= 8)
		put_number(request, (uint32_t)(last >> shift) & 0xff, 1);
}

int dnp_ipc_end(struct dnp_ipc_request *request)
{
	if (request->failed)
		return -E2BIG;
	request->bytes[AT_LENGTH] = low((uint32_t)request->n, 0);
	request->bytes[AT_LENGTH + 1] = low((uint32_t)request->n, 1);
	return 0;
}

int dnp_ipc_read_head(const uint8_t head[DNP_IPC_HEAD], bool *done, size_t *rest)
{
	size_t length = head[AT_LENGTH] | (size_t)head[AT_LENGTH + 1] << 8;

	if (memcmp(head, magic, sizeof(magic)) != 0 || length < DNP_IPC_HEAD ||
		head[AT_COMMAND] != SET_SERVER)
		return -EBADMSG;
	*done = head[AT_COMMAND + 1] == SERVER_DONE;
	*rest = length - DNP_IPC_HEAD;
	return 0;
}

HRESULT dnp_ipc_read_result(const uint8_t *bytes, size_t n)
{
	uint32_t value = 0;

	for (unsigned i = 0; n >= sizeof(value) && i < sizeof(value); i++)
		value |= (uint32_t)bytes[i] << 8 * i;
	return (HRESULT)value;
}

HRESULT dnp_ipc_outcome(bool done, const uint8_t *bytes, size_t n)
{
	HRESULT result = dnp_ipc_read_result(bytes, n);

	return !done && result >= 0 ? E_FAIL : result;
}

int dnp_ipc_converse(
	const struct dnp_ipc_stream *stream, const struct dnp_ipc_request *request, HRESULT *result)
{
	static uint8_t rest[DNP_IPC_MAX];
	uint8_t head[DNP_IPC_HEAD];
	size_t n;
	bool done;
	int ret = stream->send(stream->context, request->bytes, request->n);

	if (!ret)
		ret = stream->receive(stream->context, head, sizeof(head));
	if (!ret)
		ret = dnp_ipc_read_head(head, &done, &n);
	if (!ret)
		ret = stream->receive(stream->context, rest, n);
	if (!ret)
		*result = dnp_ipc_outcome(done, rest, n);
	return ret;
}
