/* SPDX-License-Identifier: MIT */
/* What the line behind a recording says of what is missing in it. */
#include "cli/result.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "recording.h"
#include "test.h"

/* In place of the command line's: what was said last. */
static char said[1024];

void dnp_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(said, sizeof(said), format, args);
	va_end(args);
}

int dnp_failed(const struct dnp_err *err)
{
	dnp_say("%s", err->text);
	return DNP_EXIT_FAILED;
}

unsigned dnp_given(const struct dnp_values *values, const char *name)
{
	(void)values;
	(void)name;
	return 1;
}

const char *dnp_choice_log_path(void)
{
	return "";
}

bool dnp_choice_missed(const struct dnp_choice *choice, const struct dnp_input *input,
	const struct dnp_profile *profile)
{
	(void)choice;
	(void)input;
	(void)profile;
	return false;
}

enum { CPU, OTHER };

/* With 100 samples of cpu. */
static struct recording begin(const char *name, const char *unit)
{
	struct recording rec = recording_new(7);

	recording_chunk(&rec, DNP_CHUNK_SCHEMA, dnp_rec_schema, strlen(dnp_rec_schema));
	RECORD(&rec, process, .pid = 42, .start_ns = 1000000000, .runtime = dnp_str("10.0.12"));
	RECORD(&rec, event, .index = CPU, .name = dnp_str("cpu"), .unit = dnp_str("samples"),
		.interval_ns = 10000000);
	RECORD(&rec, event, .index = OTHER, .name = dnp_str(name), .unit = dnp_str(unit));
	RECORD(&rec, thread, .index = 1, .tid = 42, .name = dnp_str("main"));
	recording_flush(&rec);
	RECORD(&rec, base, .time_ns = 2000000000);
	RECORD(&rec, sample, .event = CPU, .thread = 1, .weight = 100);
	return rec;
}

static void lose(struct recording *rec, unsigned event, uint64_t count)
{
	RECORD(rec, loss, .time_ns = 3000000000, .event = event, .thread = 1,
		.reason = DNP_LOSS_RING, .count = count);
}

/* Its exit status. */
static int end(struct recording *rec)
{
	char path[] = "/tmp/dnprof-result-XXXXXX";
	struct dnp_choice choice = {.quiet = true};
	struct dnp_result result = {
		.choice = &choice, .recording = path, .path = path, .finished = true};
	int fd = mkstemp(path), status;

	RECORD(rec, end, .time_ns = 4000000000, .reason = DNP_END_EXIT);
	recording_flush(rec);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, rec->bytes.p, rec->bytes.n), (ssize_t)rec->bytes.n);
	close(fd);
	recording_done(rec);
	said[0] = '\0';
	status = dnp_result_make(&result);
	unlink(path);
	return status;
}

TEST(few_losses_are_not_told)
{
	struct recording rec = begin("alloc", "bytes");

	lose(&rec, CPU, 1);
	CHECK_EQ(end(&rec), DNP_EXIT_DONE);
	CHECK_STR(said, "");
}

TEST(bytes_are_no_samples)
{
	struct recording rec = begin("alloc", "bytes");

	lose(&rec, OTHER, 4096);
	CHECK_EQ(end(&rec), DNP_EXIT_INCOMPLETE);
	CHECK_STR(said,
		"the recording is incomplete: 4096 bytes of 4096 were lost of alloc; record fewer "
		"events at once");
}

TEST(time_that_is_lost_altogether_is_told)
{
	struct recording rec = begin("lock", "ns");

	lose(&rec, OTHER, 4096);
	CHECK_EQ(end(&rec), DNP_EXIT_INCOMPLETE);
	CHECK_STR(said,
		"the recording is incomplete: 4096 ns of 4096 were lost of lock; record fewer "
		"events at once");
}

/* However many of something else there are. */
TEST(samples_are_judged_by_samples)
{
	struct recording rec = begin("alloc", "bytes");

	for (unsigned i = 0; i < 1000; i++)
		RECORD(&rec, sample, .event = OTHER, .thread = 1, .weight = 100000, .value = 24);
	lose(&rec, CPU, 5);
	CHECK_EQ(end(&rec), DNP_EXIT_INCOMPLETE);
	CHECK_STR(said,
		"the recording is incomplete: 5 samples of 105 were lost; sample less often, with "
		"a lower -F");
}
