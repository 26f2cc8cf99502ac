/* SPDX-License-Identifier: MIT */
/* Files that are written: for their user alone, and where no link leads. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clean.h"
#include "os/file.h"
#include "os/file_sink.h"

#include "test.h"

static char folder[32];

static const char *in_folder(const char *name)
{
	static char path[64];

	snprintf(folder, sizeof(folder), "/tmp/dnprof-test-XXXXXX");
	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *path, const char *text)
{
	struct dnp_sink_file file;

	CHECK_EQ(dnp_sink_file_open(&file, path, NULL), 0);
	dnp_sink_puts(&file.out.sink, text);
	CHECK_EQ(dnp_sink_file_commit(&file, NULL), 0);
}

TEST(file_is_private_and_follows_no_link)
{
	const char *path = in_folder("out");
	struct dnp_sink_file file;
	struct stat st;
	char target[80];

	CHECK_EQ(dnp_sink_file_open(&file, path, NULL), 0);
	dnp_sink_puts(&file.out.sink, "half");
	CHECK(stat(path, &st));
	dnp_sink_file_abort(&file);
	CHECK(stat(path, &st));
	snprintf(target, sizeof(target), "%s/victim", folder);
	CHECK_EQ(symlink(target, path), 0);
	write_file(path, "whole");
	CHECK_EQ(lstat(path, &st), 0);
	CHECK(S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0600 && st.st_size == 5);
	CHECK(stat(target, &st));
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(folder), 0);
}

/* A program that is killed while it writes leaves nothing. */
TEST(file_has_no_name_until_it_is_whole)
{
	const char *path = in_folder("out");
	struct dnp_sink_file file;
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		SKIP("this file system has no files without names");
	close(fd);
	CHECK_EQ(dnp_sink_file_open(&file, path, NULL), 0);
	dnp_sink_puts(&file.out.sink, "half");
	CHECK_EQ(rmdir(folder), 0);
	CHECK_EQ(mkdir(folder, 0700), 0);
	dnp_sink_file_abort(&file);
	write_file(path, "whole");
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(folder), 0);
}

/* Nobody else can make one that is; a link to it is none. */
TEST(folder_is_own_by_its_owner)
{
	const char *link = in_folder("link");

	CHECK_EQ(dnp_folder_is_own(folder, 0), 0);
	CHECK_EQ(symlink(folder, link), 0);
	CHECK_EQ(dnp_folder_is_own(link, 0), -ENOTDIR);
	if (!geteuid()) {
		CHECK_EQ(chown(folder, 12345, 12345), 0);
		CHECK_EQ(dnp_folder_is_own(folder, 12345), 0);
		CHECK_EQ(dnp_folder_is_own(folder, 54321), -EPERM);
	}
	unlink(link);
	rmdir(folder);
}

TEST(device_is_not_replaced)
{
	struct dnp_err err = {0};
	struct dnp_sink_file file;

	CHECK_EQ(dnp_sink_file_open(&file, "/dev/null", &err), -EINVAL);
	CHECK(strstr(err.text, "not a regular file"));
}
