/* SPDX-License-Identifier: MIT */
/* When the recording named on the command line began, and when its first sample was taken: two
 * numbers, CLOCK_MONOTONIC in ns. For bench/attach. */
#include <inttypes.h>
#include <stdio.h>

#include "read/input.h"
#include "read/visit.h"

static int see_sample(void *arg, const struct dnp_rec_sample *sample, uint64_t time_ns)
{
	uint64_t *first_ns = arg;

	(void)sample;
	if (time_ns < *first_ns)
		*first_ns = time_ns;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct dnp_visitor visitor = {.sample = see_sample};
	struct dnp_input input;
	struct dnp_err err = {0};
	uint64_t first_ns = UINT64_MAX, damaged = 0;

	dnp_input_init(&input);
	if (argc < 2 || dnp_input_read(&input, 1, argv + 1, &err) ||
		dnp_recording_visit(&input.recordings.p[0], &visitor, &first_ns, &damaged)) {
		fprintf(stderr, "first_sample: %s\n", err.text);
		return 1;
	}
	printf("%" PRIu64 " %" PRIu64 "\n", input.recordings.p[0].process.start_ns, first_ns);
	dnp_input_done(&input);
	return first_ns == UINT64_MAX;
}
