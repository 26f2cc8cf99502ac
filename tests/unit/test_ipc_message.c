/* SPDX-License-Identifier: MIT */
#include "launch/ipc_message.h"

#include <errno.h>
#include <string.h>

#include "test.h"

static struct dnp_ipc_request request;

static void check_bytes(const void *bytes, size_t n, size_t at)
{
	CHECK(request.n >= at + n);
	CHECK(!memcmp(request.bytes + at, bytes, n));
}

TEST(ipc_request_has_a_head_and_its_length)
{
	dnp_ipc_begin(&request, DNP_IPC_ATTACH_PROFILER);
	dnp_ipc_put_u32(&request, 0x12345678);
	CHECK_EQ(dnp_ipc_end(&request), 0);
	CHECK_EQ(request.n, DNP_IPC_HEAD + 4);
	check_bytes("DOTNET_IPC_V1\0\x18\0\3\1\0\0\x78\x56\x34\x12", request.n, 0);
}

TEST(ipc_texts_are_utf16)
{
	dnp_ipc_begin(&request, DNP_IPC_SET_VARIABLE);
	dnp_ipc_put_text(&request, "a\xc3\xbc\xf0\x9f\x98\x80");
	CHECK_EQ(dnp_ipc_end(&request), 0);
	check_bytes("\5\0\0\0a\0\xfc\0\x3d\xd8\0\xde\0\0", 14, DNP_IPC_HEAD);
	CHECK_EQ(request.n, DNP_IPC_HEAD + 14);
}

TEST(ipc_guids_are_laid_out_as_windows_does)
{
	static const char *const texts[] = {
		"{DF9EDC4B-25C1-4925-A3FB-6AB8D3E1F0C5}", "df9edc4b-25c1-4925-a3fb-6ab8d3e1f0c5"};

	for (size_t i = 0; i < 2; i++) {
		dnp_ipc_begin(&request, DNP_IPC_STARTUP_PROFILER);
		dnp_ipc_put_guid(&request, texts[i]);
		CHECK_EQ(dnp_ipc_end(&request), 0);
		check_bytes("\x4b\xdc\x9e\xdf\xc1\x25\x25\x49\xa3\xfb\x6a\xb8\xd3\xe1\xf0\xc5", 16,
			DNP_IPC_HEAD);
		CHECK_EQ(request.n, DNP_IPC_HEAD + 16);
	}
}

TEST(ipc_what_is_no_guid_is_refused)
{
	static const char *const texts[] = {"", "{}", "x", "{DF9EDC4B-25C1-4925-A3FB-6AB8D3E1F0C5",
		"DF9EDC4B-25C1-4925-A3FB-6AB8D3E1F0C5}", "DF9EDC4B-25C1-4925-A3FB-6AB8D3E1F0Cx",
		"DF9EDC4B025C1-4925-A3FB-6AB8D3E1F0C5"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CHECK(!dnp_ipc_is_guid(texts[i]));
		dnp_ipc_begin(&request, DNP_IPC_STARTUP_PROFILER);
		dnp_ipc_put_guid(&request, texts[i]);
		CHECK_EQ(dnp_ipc_end(&request), -E2BIG);
	}
}

TEST(ipc_a_request_that_is_too_long_is_refused)
{
	static const uint8_t bytes[DNP_IPC_MAX];

	dnp_ipc_begin(&request, DNP_IPC_ATTACH_PROFILER);
	dnp_ipc_put_bytes(&request, bytes, DNP_IPC_MAX - DNP_IPC_HEAD);
	CHECK_EQ(dnp_ipc_end(&request), 0);
	check_bytes("\xff\xff", 2, 14);
	dnp_ipc_put_bytes(&request, bytes, 1);
	CHECK_EQ(dnp_ipc_end(&request), -E2BIG);
	dnp_ipc_begin(&request, DNP_IPC_ATTACH_PROFILER);
	dnp_ipc_put_bytes(&request, bytes, SIZE_MAX);
	CHECK_EQ(dnp_ipc_end(&request), -E2BIG);
}

TEST(ipc_answers)
{
	uint8_t head[DNP_IPC_HEAD] = "DOTNET_IPC_V1\0\x18\0\xff\0";
	bool done;
	size_t rest;

	CHECK_EQ(dnp_ipc_read_head(head, &done, &rest), 0);
	CHECK(done);
	CHECK_EQ(rest, 4);
	head[17] = 0xff;
	CHECK_EQ(dnp_ipc_read_head(head, &done, &rest), 0);
	CHECK(!done);
	head[16] = 3;
	CHECK_EQ(dnp_ipc_read_head(head, &done, &rest), -EBADMSG);
	head[16] = 0xff;
	head[14] = DNP_IPC_HEAD - 1;
	CHECK_EQ(dnp_ipc_read_head(head, &done, &rest), -EBADMSG);
	head[14] = DNP_IPC_HEAD;
	head[0] = 'X';
	CHECK_EQ(dnp_ipc_read_head(head, &done, &rest), -EBADMSG);
	CHECK_EQ(dnp_ipc_read_result((const uint8_t *)"\x6a\x13\x13\x80", 4),
		CORPROF_E_PROFILER_ALREADY_ACTIVE);
	CHECK_EQ(dnp_ipc_read_result((const uint8_t *)"\x6a\x13\x13", 3), 0);
}
