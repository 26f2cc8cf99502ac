/* SPDX-License-Identifier: MIT */
/* Files that are read, and written: whole or not at all. */
#include <stdio.h>

#include "base/clean.h"
#include "os/file.h"
#include "os/file_sink.h"

#include "test.h"

/* A name in the folder where the test runs that no file has. */
static const char *new_name(void)
{
	static char path[] = "dnprof-test-XXXXXX";
	int fd = dnp_file_create(path);

	CHECK(fd >= 0);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(dnp_file_kind(path), DNP_FILE_REGULAR);
	dnp_file_remove(path);
	CHECK_EQ(dnp_file_kind(path), DNP_FILE_NONE);
	return path;
}

static void write_file(const char *path, const char *text, size_t times)
{
	struct dnp_sink_file file;

	CHECK_EQ(dnp_sink_file_open(&file, path, NULL), 0);
	dnp_sink_repeat(&file.out.sink, text, times);
	CHECK_EQ(dnp_sink_file_commit(&file, NULL), 0);
}

static void check_file(const char *path, const char *text, size_t times)
{
	size_t n = strlen(text);
	struct dnp_file_bytes bytes;

	CHECK_EQ(dnp_file_load(path, &bytes), 0);
	CHECK(bytes.mapped);
	CHECK_EQ(bytes.n, n * times);
	for (size_t i = 0; i < times; i++)
		CHECK(!memcmp(bytes.p + i * n, text, n));
	dnp_file_drop(bytes.p, bytes.n);
	CHECK(!memcmp(bytes.p + bytes.n - n, text, n));
	dnp_file_unmap(bytes.p, bytes.n);
}

TEST(file_appears_whole_or_not_at_all)
{
	const char *path = new_name();
	struct dnp_sink_file file;

	CHECK_EQ(dnp_sink_file_open(&file, path, NULL), 0);
	dnp_sink_puts(&file.out.sink, "half");
	CHECK_EQ(dnp_file_kind(path), DNP_FILE_NONE);
	dnp_sink_file_abort(&file);
	CHECK_EQ(dnp_file_kind(path), DNP_FILE_NONE);
	write_file(path, "line\r\n\x1a\n", 100000);
	check_file(path, "line\r\n\x1a\n", 100000);
	write_file(path, "replaced", 1);
	check_file(path, "replaced", 1);
	dnp_file_remove(path);
}

TEST(file_takes_no_name_that_something_has)
{
	const char *from = new_name();
	char to[512];

	snprintf(to, sizeof(to), "%s.new", from);
	write_file(from, "later", 1);
	write_file(to, "first", 1);
	CHECK_EQ(dnp_file_rename_new(from, to), -EEXIST);
	check_file(to, "first", 1);
	dnp_file_remove(to);
	CHECK_EQ(dnp_file_rename_new(from, to), 0);
	check_file(to, "later", 1);
	CHECK_EQ(dnp_file_kind(from), DNP_FILE_NONE);
	dnp_file_remove(to);
	CHECK_EQ(dnp_file_rename_new(from, to), -ENOENT);
}

/* Nothing that is no folder is one of ours. */
TEST(folder_is_own)
{
	char path[] = "dnprof-test-XXXXXX";
	char file[sizeof(path) + 8];

	CHECK_EQ(dnp_folder_is_own(path, 0), -ENOENT);
	CHECK_EQ(dnp_folder_create(path), 0);
	CHECK_EQ(dnp_folder_is_own(path, 0), 0);
	snprintf(file, sizeof(file), "%s/file", path);
	write_file(file, "text", 1);
	CHECK_EQ(dnp_folder_is_own(file, 0), -ENOTDIR);
	dnp_folder_remove(path);
}

TEST(file_grows_at_its_end)
{
	const char *path = new_name();
	int fd;

	write_file(path, "ab", 3);
	fd = dnp_file_append(path);
	CHECK(fd >= 0);
	CHECK_EQ(dnp_file_write_all(fd, "abab", 4), 0);
	CHECK_EQ(close(fd), 0);
	check_file(path, "ab", 5);
	dnp_file_remove(path);
	CHECK_EQ(dnp_file_append(path), -ENOENT);
}

TEST(file_may_be_empty)
{
	const char *path = new_name();
	struct dnp_file_bytes bytes;

	write_file(path, "", 0);
	CHECK_EQ(dnp_file_load(path, &bytes), 0);
	CHECK_EQ(bytes.n, 0);
	CHECK(!bytes.mapped);
	free((void *)(uintptr_t)bytes.p);
	dnp_file_remove(path);
}

TEST(file_errors_are_told)
{
	struct dnp_file_bytes bytes;
	struct dnp_err err = {0};
	struct dnp_sink_file file;

	CHECK_EQ(dnp_file_load("nowhere/at/all", &bytes), -ENOENT);
	CHECK_EQ(dnp_file_load(".", &bytes), -EISDIR);
	CHECK_EQ(dnp_sink_file_open(&file, "nowhere/at/all", &err), -ENOENT);
	CHECK(strstr(err.text, "nowhere/at/all"));
	CHECK_EQ(dnp_sink_file_open(&file, ".", &err), -EINVAL);
	CHECK(strstr(err.text, "a folder"));
}
