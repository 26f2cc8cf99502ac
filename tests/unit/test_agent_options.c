/* SPDX-License-Identifier: MIT */
#include "format/agent_options.h"

#include <errno.h>
#include <stdio.h>

#include "clr/guid.h"
#include "test.h"

static struct dnp_agent_options options;
static struct dnp_err err;

static int parse(const char *text)
{
	return dnp_agent_options_parse(&options, text, &err);
}

TEST(options_defaults)
{
	CHECK_EQ(parse("fd=3"), 0);
	CHECK_EQ(options.fd, 3);
	CHECK_EQ(options.source, DNP_SOURCE_AUTO);
	CHECK_EQ(options.native, 1);
	CHECK_EQ(options.interval_ns, 5025125);
	CHECK_STR(options.dir, "");
}

TEST(options_roundtrip_keeps_every_byte)
{
	struct dnp_agent_options in;
	char text[DNP_OPTIONS_MAX + 1];

	dnp_agent_options_init(&in);
	for (int i = 1; i < 256; i++)
		in.dir[i - 1] = (char)i;
	snprintf(in.session, sizeof(in.session), "/tmp/a b;c=d%%e/session");
	in.pid = INT32_MAX;
	in.dev = UINT64_MAX;
	in.interval_ns = 100000;
	in.source = DNP_SOURCE_TIMER;
	in.native = 0;
	CHECK(dnp_agent_options_write(&in, text, sizeof(text)) > 0);
	CHECK_EQ(parse(text), 0);
	CHECK_STR(options.dir, in.dir);
	CHECK_STR(options.session, in.session);
	CHECK_EQ(options.fd, -1);
	CHECK_EQ(options.pid, INT32_MAX);
	CHECK(options.dev == UINT64_MAX);
	CHECK_EQ(options.interval_ns, 100000);
	CHECK_EQ(options.source, DNP_SOURCE_TIMER);
	CHECK_EQ(options.native, 0);
}

TEST(options_written_as_documented)
{
	struct dnp_agent_options in;
	char text[200];
	const char *want = "fd=9;dev=2049;ino=1234;pid=4711;session=/tmp/a%20b;source=perf";

	dnp_agent_options_init(&in);
	in.fd = 9;
	in.dev = 2049;
	in.ino = 1234;
	in.pid = 4711;
	in.source = DNP_SOURCE_PERF;
	snprintf(in.session, sizeof(in.session), "/tmp/a b");
	CHECK_EQ(dnp_agent_options_write(&in, text, sizeof(text)), (int)strlen(want));
	CHECK_STR(text, want);
	CHECK_EQ(dnp_agent_options_write(&in, text, strlen(want) + 1), (int)strlen(want));
	CHECK_EQ(dnp_agent_options_write(&in, text, strlen(want)), -E2BIG);
	CHECK_EQ(dnp_agent_options_write(&in, text, 0), -E2BIG);
}

TEST(options_two_full_paths_fit)
{
	struct dnp_agent_options in;
	char text[DNP_OPTIONS_MAX + 1];

	dnp_agent_options_init(&in);
	memset(in.dir, 'd', sizeof(in.dir) - 1);
	memset(in.session, 's', sizeof(in.session) - 1);
	CHECK(dnp_agent_options_write(&in, text, sizeof(text)) > 0);
	CHECK_EQ(parse(text), 0);
	CHECK_EQ(strlen(options.dir), sizeof(in.dir) - 1);
}

TEST(options_refused)
{
	static const struct {
		const char *text;
		int code;
	} cases[] = {
		{"", -EINVAL},
		{"verbose=1", -EINVAL},
		{"fd=1;dir=/tmp", -EINVAL},
		{"fd", -EINVAL},
		{"fd=", -EINVAL},
		{"fd=-", -EINVAL},
		{"fd=-2", -EINVAL},
		{"fd=2147483648", -EINVAL},
		{"fd=3;;pid=1", -EINVAL},
		{"fd=3;fd=3", -EINVAL},
		{"fd=3;unknown=1", -EINVAL},
		{"fd=3;pid=0x10", -EINVAL},
		{"fd=3;pid=-1", -EINVAL},
		{"fd=3;dev=18446744073709551616", -EINVAL},
		{"fd=3;interval_ns=9999", -EINVAL},
		{"fd=3;source=magic", -EINVAL},
		{"fd=3;source=", -EINVAL},
		{"fd=3;source=perfx", -EINVAL},
		{"dir=%", -EINVAL},
		{"dir=%4", -EINVAL},
		{"dir=%4g", -EINVAL},
		{"dir=/a%00b", -EINVAL},
		{"fd=3;event="
		 "012345678901234567890123456789012345678901234567890123456789012301234567890123456"
		 "78901234567890123456789012345678901234567890123",
			-E2BIG},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret = parse(cases[i].text);

		if (ret != cases[i].code)
			FAIL("'%s' gives %d, not %d", cases[i].text, ret, cases[i].code);
		CHECK(err.text[0]);
	}
}

TEST(options_too_long)
{
	static char text[DNP_OPTIONS_MAX + 2];

	memset(text, 'a', sizeof(text) - 1);
	CHECK_EQ(parse(text), -E2BIG);
}

TEST(options_class_is_the_agents)
{
	CHECK_STR(DNP_AGENT_CLSID, DNP_CLSID_AGENT_TEXT);
}

TEST(options_of_a_request_say_nothing_of_places)
{
	CHECK_EQ(dnp_agent_options_parse_request(
			 &options, dnp_str("event=cpu,wall;interval_ns=1000000"), &err),
		0);
	CHECK_STR(options.event, "cpu,wall");
	CHECK_EQ(options.interval_ns, 1000000);
	CHECK_EQ(dnp_agent_options_parse_request(&options, dnp_str(""), &err), 0);
	CHECK_EQ(options.depth, 2048);
	CHECK_EQ(dnp_agent_options_parse_request(&options, dnp_str("fd=3"), &err), -EINVAL);
	CHECK_EQ(dnp_agent_options_parse_request(&options, dnp_str("dir=/tmp"), &err), -EINVAL);
	CHECK_EQ(dnp_agent_options_parse_request(&options, dnp_str("session=/x"), &err), -EINVAL);
	CHECK_EQ(dnp_agent_options_parse_request(&options, dnp_str("depth=0"), &err), -EINVAL);
	CHECK_STR(err.text, "the request: wrong value: 'depth=0'");
}

TEST(options_of_an_attach_are_a_folder_or_nothing)
{
	CHECK_EQ(dnp_agent_options_parse_client(&options, dnp_str(""), &err), 0);
	CHECK_STR(options.event, "");
	CHECK_EQ(
		dnp_agent_options_parse_client(&options, dnp_str("dir=/tmp/x;event=cpu"), &err), 0);
	CHECK_STR(options.dir, "/tmp/x");
	CHECK_EQ(dnp_agent_options_parse_client(&options, dnp_str("event=cpu"), &err), -EINVAL);
	CHECK_EQ(dnp_agent_options_parse_client(&options, dnp_str("fd=3"), &err), -EINVAL);
	CHECK_EQ(dnp_agent_options_parse_client(&options, dnp_str("rubbish"), &err), -EINVAL);
	CHECK_STR(err.text, "the client data: not understood: 'rubbish'");
}
