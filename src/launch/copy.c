/* SPDX-License-Identifier: MIT */
#include "launch/copy.h"

#include "base/clean.h"
#include "launch/interrupt.h"
#include "launch/record.h"
#include "os/clock.h"

#define PLACING_NS      UINT64_C(10000000000) /* by then who was to give it a place has gone */
#define PLACING_LOOK_NS UINT64_C(5000000)

int dnp_copy_open(struct dnp_copy *copy, const char *pattern, pid_t pid, struct dnp_err *err)
{
	int ret;

	*copy = (struct dnp_copy){.fd = -1};
	ret = dnp_output_open(&copy->output, pattern, err);
	if (!ret)
		ret = dnp_output_name(&copy->output, pid, err);
	if (!ret) {
		copy->fd = dnp_output_make_recording(&copy->output, &copy->recording, err);
		ret = copy->fd < 0 ? copy->fd : 0;
	}
	if (ret)
		dnp_copy_done(copy);
	return ret;
}

int dnp_copy_take(struct dnp_copy *copy, int from, bool raw, bool dumped, struct dnp_err *err)
{
	int ret = dnp_record_copy(from, copy->fd, copy->output.folder, err);

	/* Not every system replaces a file that somebody has open. */
	close(copy->fd);
	copy->fd = -1;
	if (!ret && dumped)
		ret = dnp_record_dumped(copy->recording, err);
	if (!ret)
		ret = dnp_output_place_recording(&copy->output, raw, &copy->recording, err);
	if (!ret)
		dnp_output_clean(&copy->output);
	return ret;
}

void dnp_copy_done(struct dnp_copy *copy)
{
	if (copy->fd >= 0)
		close(copy->fd);
	copy->fd = -1;
	dnp_output_done(&copy->output);
	free(copy->recording);
	copy->recording = NULL;
}

/* It may be moved while it is looked for. */
static char *original_now(int fd)
{
	char *path = dnp_copy_original(fd);

	return path ? path : dnp_copy_original(fd);
}

char *dnp_copy_placed(int fd, int interrupt)
{
	uint64_t until_ns = dnp_now_ns() + PLACING_NS;
	char *path = original_now(fd);

	while (path && dnp_output_is_unplaced(path) && dnp_now_ns() < until_ns &&
		!dnp_interrupt_sleep(interrupt, dnp_now_ns() + PLACING_LOOK_NS)) {
		free(path);
		path = original_now(fd);
	}
	return path;
}
