/* SPDX-License-Identifier: MIT */
/* What is other on Windows than elsewhere: names, devices, zones. */
#include <stdio.h>
#include <windows.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/file_sink.h"
#include "os/windows/wide.h"

#include "test.h"

TEST(names_of_files_are_utf8)
{
	static const char name[] = "dnprof-test-\xc3\xa9-\xe6\x97\xa5.txt";
	struct dnp_sink_file file;

	CHECK_EQ(dnp_sink_file_open(&file, name, NULL), 0);
	CHECK_EQ(dnp_sink_file_commit(&file, NULL), 0);
	CHECK(GetFileAttributesW(L"dnprof-test-\x00e9-\x65e5.txt") != INVALID_FILE_ATTRIBUTES);
	CHECK(DeleteFileW(L"dnprof-test-\x00e9-\x65e5.txt"));
	CHECK_EQ(dnp_sink_file_open(&file, "not utf-8: \xff", NULL), -EILSEQ);
}

TEST(text_keeps_what_it_says)
{
	static const char text[] = "a \xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80";
	auto_free wchar_t *wide = dnp_wide(text);
	auto_free char *narrow = wide ? dnp_narrow(wide) : NULL;

	CHECK(narrow);
	CHECK_STR(narrow, text);
}

TEST(device_is_not_replaced)
{
	struct dnp_err err = {0};
	struct dnp_sink_file file;

	CHECK_EQ(dnp_sink_file_open(&file, "NUL", &err), -EINVAL);
	CHECK(strstr(err.text, "not a regular file"));
}

TEST(clocks_go_on)
{
	uint64_t begin = dnp_now_ns(), date = dnp_unix_ns(), cpu = dnp_thread_cpu_ns(0);

	dnp_sleep_until_ns(begin + 20000000);
	CHECK(dnp_now_ns() >= begin + 20000000);
	CHECK(dnp_unix_ns() > date);
	CHECK(dnp_thread_cpu_ns(0) >= cpu);
	CHECK_EQ(dnp_thread_cpu_ns(0x7ffffff0), 0);
}

TEST(time_has_its_zone)
{
	char text[48], utc[32];

	CHECK(dnp_unix_text(UINT64_C(1769903999) * 1000000000, text, sizeof(text)));
	CHECK_EQ(strspn(text, "0123456789-: +UTC"), strlen(text));
	snprintf(utc, sizeof(utc), "%.19s", "2026-01-31 23:59:59");
	if (strstr(text, "UTC"))
		CHECK(!strncmp(text, utc, 19));
	CHECK(!dnp_unix_text(0, text, 8));
}
