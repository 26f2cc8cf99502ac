/* SPDX-License-Identifier: MIT */
/* Reading recordings: whole, cut, damaged, several in one, and what is none. */
#include "read/input.h"
#include "read/visit.h"

#include "recording.h"
#include "test.h"

static int count_sample(void *arg, const struct dnp_rec_sample *rec, uint64_t time_ns)
{
	uint64_t *sums = arg;

	sums[0] += rec->weight;
	sums[1] = time_ns;
	return 0;
}

static const struct dnp_visitor counting = {.sample = count_sample};

static int open_bytes(struct dnp_input *input, const void *bytes, size_t n, struct dnp_err *err)
{
	int status;

	dnp_input_init(input);
	status = dnp_input_add_bytes(input, "test.dnp", bytes, n, err);
	return status ? status : dnp_input_finish(input, err);
}

/* The weight of all samples that can be read. */
static uint64_t weight_of(const struct dnp_input *input)
{
	uint64_t sums[2] = {0}, damaged = 0;

	for (size_t i = 0; i < input->recordings.n; i++)
		CHECK_EQ(
			dnp_recording_visit(&input->recordings.p[i], &counting, sums, &damaged), 0);
	return sums[0];
}

TEST(read_whole)
{
	struct recording rec = recording_new(7);
	struct dnp_input input;
	uint64_t sums[2] = {0}, damaged = 0;

	recording_small(&rec);
	CHECK_EQ(open_bytes(&input, rec.bytes.p, rec.bytes.n, NULL), 0);
	CHECK_EQ(input.recordings.n, 1);
	CHECK_EQ(input.recordings.p[0].problems.n, 0);
	CHECK_EQ(input.recordings.p[0].process.pid, 42);
	CHECK_EQ(input.recordings.p[0].next_sequence, 5);
	CHECK_EQ(dnp_recording_visit(&input.recordings.p[0], &counting, sums, &damaged), 0);
	CHECK_EQ(sums[0], 12);
	CHECK_EQ(sums[1], 5045000000);
	CHECK_EQ(damaged, 0);
	dnp_input_done(&input);
	recording_done(&rec);
}

TEST(read_cut_at_every_byte)
{
	struct recording rec = recording_new(7);
	uint64_t before = 0;

	recording_small(&rec);
	for (size_t n = 0; n < rec.bytes.n; n++) {
		struct dnp_err err = {0};
		struct dnp_input input;
		int status = open_bytes(&input, rec.bytes.p, n, &err);

		if (status) {
			CHECK(err.code == status && strstr(err.text, "test.dnp: "));
		} else {
			uint64_t weight = weight_of(&input);

			CHECK(weight >= before);
			before = weight;
		}
		dnp_input_done(&input);
	}
	CHECK_EQ(before, 12);
	recording_done(&rec);
}

TEST(read_cut_says_so)
{
	struct recording rec = recording_new(7);
	struct dnp_input input;

	recording_small(&rec);
	CHECK_EQ(open_bytes(&input, rec.bytes.p, rec.bytes.n - 3, NULL), 0);
	CHECK_EQ(input.recordings.p[0].problems.n, 1);
	CHECK(strstr(input.recordings.p[0].problems.p[0], "cut off"));
	dnp_input_done(&input);
	recording_done(&rec);
}

TEST(read_flipped_bytes)
{
	struct recording rec = recording_new(7);

	recording_small(&rec);
	for (size_t i = 0; i < rec.bytes.n; i++) {
		struct dnp_err err = {0};
		struct dnp_input input;

		rec.bytes.p[i] ^= 0x41;
		CHECK_EQ(open_bytes(&input, rec.bytes.p, rec.bytes.n, &err), 0);
		CHECK(input.recordings.n >= 1);
		CHECK(input.recordings.p[0].problems.n > 0);
		CHECK(weight_of(&input) == 12 || weight_of(&input) == 0);
		dnp_input_done(&input);
		rec.bytes.p[i] ^= 0x41;
	}
	recording_done(&rec);
}

/* Removes chunk number `which` from the bytes. */
static void drop_chunk(struct recording *rec, size_t which)
{
	struct dnp_chunk_header header;
	size_t at = 0, n;

	for (;;) {
		memcpy(&header, rec->bytes.p + at, sizeof(header));
		n = sizeof(header) + header.length;
		if (!which--)
			break;
		at += n;
	}
	memmove(rec->bytes.p + at, rec->bytes.p + at + n, rec->bytes.n - at - n);
	rec->bytes.n -= n;
}

TEST(read_missing_chunk)
{
	struct recording rec = recording_new(7);
	struct dnp_input input;

	recording_small(&rec);
	drop_chunk(&rec, 2);
	CHECK_EQ(open_bytes(&input, rec.bytes.p, rec.bytes.n, NULL), 0);
	CHECK_EQ(input.recordings.p[0].problems.n, 1);
	CHECK(strstr(input.recordings.p[0].problems.p[0], "1 chunk of the recording is missing"));
	CHECK_EQ(weight_of(&input), 0);
	dnp_input_done(&input);
	recording_done(&rec);
}

TEST(read_several_and_the_same_twice)
{
	struct recording a = recording_new(7), b = recording_new(8);
	struct dnp_input input;

	recording_small(&a);
	recording_small(&b);
	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_bytes(&input, "a", a.bytes.p, a.bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_add_bytes(&input, "b", b.bytes.p, b.bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_add_bytes(&input, "a again", a.bytes.p, a.bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(input.recordings.n, 2);
	CHECK_EQ(weight_of(&input), 24);
	CHECK_EQ(input.recordings.p[0].problems.n, 0);
	dnp_input_done(&input);
	recording_done(&a);
	recording_done(&b);
}

/* Its first chunk has less, as in a copy from before it was packed. */
TEST(read_refuses_two_copies_that_differ)
{
	struct recording whole = recording_new(7), early = recording_new(7);
	struct dnp_err err = {0};
	struct dnp_input input;

	for (int i = 0; i < 2; i++) {
		struct recording *rec = i ? &whole : &early;

		RECORD(rec, process, .pid = 1);
		RECORD(rec, sample, .weight = 2);
		if (i)
			RECORD(rec, sample, .weight = 3);
		recording_flush(rec);
	}
	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_bytes(&input, "early", early.bytes.p, early.bytes.n, &err), 0);
	CHECK_EQ(dnp_input_add_bytes(&input, "whole", whole.bytes.p, whole.bytes.n, &err), 0);
	CHECK_EQ(dnp_input_finish(&input, &err), -EINVAL);
	CHECK(strstr(err.text, "cannot read whole: early has another copy"));
	dnp_input_done(&input);
	recording_done(&whole);
	recording_done(&early);
}

static void check_refused(const void *bytes, size_t n, int code, const char *words)
{
	struct dnp_err err = {0};
	struct dnp_input input;

	CHECK_EQ(open_bytes(&input, bytes, n, &err), code);
	CHECK(strstr(err.text, words));
	dnp_input_done(&input);
}

TEST(read_refuses_with_a_reason)
{
	struct recording rec = recording_new(7);

	recording_small(&rec);
	check_refused("", 0, -ENODATA, "it is empty");
	check_refused("hello, world", 12, -EINVAL, "not a recording");
	check_refused(rec.bytes.p, 40, -ENODATA, "cut off or damaged");
	rec.bytes.n = 0;
	recording_chunk(&rec, DNP_CHUNK_RECORDS, "", 0);
	rec.bytes.p[6] = 9; /* the version */
	check_refused(rec.bytes.p, rec.bytes.n, -ENOTSUP, "update dnprof");
	recording_done(&rec);
}

TEST(read_skips_what_it_does_not_know)
{
	static const uint8_t later[] = {200, 1, 3, 'a', 'b', 'c'}; /* record 200, 3 bytes */
	struct recording rec = recording_new(7);
	struct dnp_input input;

	RECORD(&rec, process, .pid = 1);
	memcpy(recording_room(&rec, sizeof(later)), later, sizeof(later));
	rec.payload.n += sizeof(later);
	RECORD(&rec, sample, .weight = 2);
	recording_flush(&rec);
	recording_chunk(&rec, (enum dnp_chunk_kind)77, "xyz", 3);
	CHECK_EQ(open_bytes(&input, rec.bytes.p, rec.bytes.n, NULL), 0);
	CHECK_EQ(input.recordings.p[0].problems.n, 0);
	CHECK_EQ(weight_of(&input), 2);
	dnp_input_done(&input);
	recording_done(&rec);
}

/* Headers over headers, each with a wrong checksum and a long payload: must not take for ever. */
TEST(read_hostile_headers_in_linear_time)
{
	size_t n = 32u << 20;
	uint8_t *bytes = calloc(n, 1);
	struct dnp_input input;

	CHECK(bytes);
	for (size_t at = 0; at + 32 <= n; at += 32) {
		struct dnp_chunk_header header = {.magic = DNP_CHUNK_MAGIC,
			.kind = DNP_CHUNK_RECORDS,
			.version = DNP_FORMAT_VERSION,
			.length = DNP_CHUNK_MAX};

		memcpy(bytes + at, &header, sizeof(header));
	}
	CHECK_EQ(open_bytes(&input, bytes, n, NULL), -ENODATA);
	dnp_input_done(&input);
	free(bytes);
}
