/* SPDX-License-Identifier: MIT */
/* Names of methods that patterns leave out: told once, the first, in a bounded buffer. */
#include "capture/left_out.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

struct file {
	struct dnp_writer writer;
	int fd;
};

static struct file begin(void)
{
	struct file file = {.fd = memfd_create("recording", MFD_CLOEXEC)};

	dnp_left_out_reset();
	CHECK_EQ(dnp_writer_open(&file.writer, dup(file.fd), 1), 0);
	return file;
}

/* How often the text stands in what was written. */
static unsigned count(struct file *file, const char *text)
{
	static char bytes[1 << 20];
	size_t n, m = strlen(text);
	unsigned found = 0;

	CHECK_EQ(dnp_writer_flush(&file->writer), 0);
	n = (size_t)pread(file->fd, bytes, sizeof(bytes), 0);
	for (char *p = bytes; (p = memmem(p, n - (size_t)(p - bytes), text, m)); p += m)
		found++;
	return found;
}

static void end(struct file *file)
{
	CHECK_EQ(dnp_writer_close(&file->writer), 0);
	close(file->fd);
}

TEST(left_out_is_told_once)
{
	struct file file = begin();

	dnp_left_out_note(dnp_str("Shop.Cart.Add(int)"));
	dnp_left_out_write(&file.writer, 0);
	dnp_left_out_note(dnp_str("Shop.Cart.Sum()"));
	dnp_left_out_note(dnp_str(""));
	dnp_left_out_write(&file.writer, 0);
	dnp_left_out_write(&file.writer, 0);
	CHECK_EQ(count(&file, "Shop.Cart.Add(int)"), 1);
	CHECK_EQ(count(&file, "Shop.Cart.Sum()"), 1);
	end(&file);
}

TEST(left_out_is_bounded)
{
	struct file file = begin();
	char name[64];

	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "Shop.M%06d()", i);
		dnp_left_out_note(dnp_str(name));
	}
	dnp_left_out_write(&file.writer, 0);
	CHECK_EQ(count(&file, "Shop.M000000()"), 1);
	CHECK_EQ(count(&file, "Shop.M099999()"), 0);
	CHECK(count(&file, "Shop.M") > 10000);
	end(&file);
}

TEST(left_out_long_name)
{
	struct file file = begin();
	char name[2000];

	memset(name, 'x', sizeof(name));
	dnp_left_out_note((struct dnp_str){name, sizeof(name)});
	dnp_left_out_note(dnp_str("Next()"));
	dnp_left_out_write(&file.writer, 0);
	CHECK_EQ(count(&file, "Next()"), 1);
	end(&file);
}
