/* SPDX-License-Identifier: MIT */
/* What is other on Windows than elsewhere: names, devices, zones. */
#include <stdio.h>
#include <windows.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/file_sink.h"
#include "os/mem.h"
#include "os/thread.h"
#include "os/thread_word.h"
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

static bool is_memory(void *page)
{
	MEMORY_BASIC_INFORMATION region;

	return VirtualQuery(page, &region, sizeof(region)) && region.State == MEM_COMMIT;
}

TEST(address_space_is_memory_once_it_is_asked_for)
{
	const size_t bytes = (size_t)1 << 32, page = 4096;
	char *space = dnp_mem_reserve(bytes);

	CHECK(space);
	CHECK(!is_memory(space));
	CHECK_EQ(dnp_mem_commit(space + 2 * page, 3 * page), 0);
	space[2 * page] = 1;
	CHECK_EQ(dnp_mem_commit(space + page, 3 * page), 0);
	CHECK_EQ(space[2 * page], 1);
	CHECK(is_memory(space + page) && is_memory(space + 4 * page));
	CHECK(!is_memory(space + 5 * page));
	dnp_mem_decommit(space, bytes);
	CHECK(!is_memory(space + 2 * page));
	CHECK_EQ(dnp_mem_commit(space, 3 * page), 0);
	CHECK_EQ(space[2 * page], 0);
	dnp_mem_unmap(space, bytes);
}

static void *look_at_word(void *context)
{
	void **seen = context;

	seen[0] = *dnp_thread_word_place();
	dnp_thread_word_set(seen);
	seen[1] = *dnp_thread_word_place();
	return NULL;
}

TEST(each_thread_has_a_word)
{
	struct dnp_own_thread thread;
	void *seen[2] = {seen, NULL};

	CHECK_EQ(dnp_thread_word_open(), 0);
	CHECK_EQ(dnp_thread_word_set(&thread), 0);
	CHECK_EQ(dnp_own_thread_start(&thread, look_at_word, seen), 0);
	dnp_own_thread_join(&thread);
	CHECK(!seen[0] && seen[1] == seen);
	CHECK(*dnp_thread_word_place() == &thread);
}

/* Slots behind the first 64 are not in the thread's description. */
TEST(no_word_is_left)
{
	while (TlsAlloc() < TLS_MINIMUM_AVAILABLE)
		;
	CHECK_EQ(dnp_thread_word_open(), -ENOTSUP);
	CHECK_EQ(dnp_thread_word, 0);
}
