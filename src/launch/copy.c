/* SPDX-License-Identifier: MIT */
#include "launch/copy.h"

#include "base/clean.h"
#include "launch/record.h"

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
