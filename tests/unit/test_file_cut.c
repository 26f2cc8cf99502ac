/* SPDX-License-Identifier: MIT */
/* Files that somebody else changes while they are looked at. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "os/mem.h"

#include "test.h"

#define BYTES 10000

static void fill(int fd)
{
	for (int i = 0; i < BYTES / 10; i++)
		CHECK_EQ(write(fd, "0123456789", 10), 10);
}

/* They are this process's own: neither cut nor written anew. */
static void check_own(const char *path, int fd)
{
	struct dnp_file_bytes bytes;

	CHECK_EQ(dnp_file_load(path, &bytes), 0);
	CHECK(!bytes.mapped);
	CHECK_EQ(pwrite(fd, "x", 1, 0), 1);
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(bytes.n, BYTES);
	for (size_t i = 0; i < bytes.n; i++)
		CHECK_EQ(bytes.p[i], '0' + i % 10);
	free((void *)(uintptr_t)bytes.p);
}

/* As the one that a process under profile writes its stacks to, and has still. */
TEST(file_in_memory_is_read_once)
{
	int fd = memfd_create("given", MFD_CLOEXEC);
	char path[32];

	CHECK(fd >= 0);
	fill(fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check_own(path, fd);
	close(fd);
}

TEST(file_that_others_may_write_to_is_read_once)
{
	char path[] = "dnprof-test-XXXXXX";
	int fd = dnp_file_create(path);

	CHECK(fd >= 0);
	fill(fd);
	CHECK_EQ(fchmod(fd, 0620), 0);
	check_own(path, fd);
	if (!geteuid()) {
		CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
		fill(fd);
		CHECK_EQ(fchmod(fd, 0600), 0);
		CHECK_EQ(fchown(fd, 65534, 65534), 0);
		check_own(path, fd);
	}
	close(fd);
	dnp_file_remove(path);
}

/* As a recording that a process of another user got by its descriptor: the file's rights say
 * nothing of it. */
TEST(file_that_is_open_for_writing_is_read_once)
{
	char path[] = "dnprof-test-XXXXXX";
	int fd = dnp_file_create(path);

	CHECK(fd >= 0);
	fill(fd);
	check_own(path, fd);
	close(fd);
	dnp_file_remove(path);
}

/* Its descriptor is closed, but not its pages. */
TEST(file_that_is_mapped_for_writing_is_read_once)
{
	struct dnp_file_bytes bytes;
	char path[] = "dnprof-test-XXXXXX";
	int fd = dnp_file_create(path);
	void *shared;

	CHECK(fd >= 0);
	fill(fd);
	shared = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(shared != MAP_FAILED);
	close(fd);
	CHECK_EQ(dnp_file_load(path, &bytes), 0);
	CHECK(!bytes.mapped);
	free((void *)(uintptr_t)bytes.p);
	munmap(shared, BYTES);
	dnp_file_remove(path);
}

/* What lies behind its end would be a fault of whoever looks at it: a program under profile. */
TEST(file_that_is_too_short_is_not_shared)
{
	char path[] = "dnprof-test-XXXXXX";
	int fd = dnp_file_create(path);
	char *shared;

	CHECK(fd >= 0);
	fill(fd);
	CHECK(!dnp_mem_share(path, BYTES + 1));
	CHECK_EQ(errno, EINVAL);
	shared = dnp_mem_share(path, BYTES);
	CHECK(shared && shared[BYTES - 1] == '9');
	dnp_mem_unshare(shared, BYTES);
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK(!dnp_mem_share(path, 1));
	close(fd);
	dnp_file_remove(path);
}

/* A child, whose words it reads: one's own file ends the process, but says why. */
TEST(file_of_ones_own_that_is_cut_short_says_so)
{
	char path[] = "dnprof-test-XXXXXX", said[200] = "";
	int fd = dnp_file_create(path), out[2], status;
	pid_t child;

	CHECK(fd >= 0);
	fill(fd);
	CHECK_EQ(pipe(out), 0);
	close(fd);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		struct dnp_file_bytes bytes;

		dup2(out[1], STDERR_FILENO);
		if (dnp_file_load(path, &bytes) || !bytes.mapped || truncate(path, 0))
			_exit(10);
		_exit(*(const volatile uint8_t *)bytes.p == '0' ? 11 : 12);
	}
	close(out[1]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 1);
	CHECK(read(out[0], said, sizeof(said) - 1) > 0);
	CHECK(strstr(said, "cut short"));
	close(out[0]);
	dnp_file_remove(path);
}
