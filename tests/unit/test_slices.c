/* SPDX-License-Identifier: MIT */
/* Slices into records and out of them again. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clean.h"
#include "format/chunk.h"
#include "store/slice_writer.h"
#include "test.h"

#define MANY 20000

static struct dnp_slice_at made[MANY], got[MANY + 1];
static struct dnp_slice_writer encoder;
static uint8_t file[1 << 20];

static uint64_t random_state = 88172645463325252u;

/* xorshift64, Marsaglia 2003. */
static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20) % limit;
}

/* The records `slices` of a file, in order; returns the slices in them. */
static size_t read_slices(const char *path, size_t *records, uint64_t *gap_ns, size_t *bytes)
{
	auto_close int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, file, sizeof(file));
	size_t slices = 0;

	*records = *bytes = 0;
	*gap_ns = 0;
	for (size_t at = 0; n > 0 && at < (size_t)n;) {
		struct dnp_chunk_header header;
		struct dnp_str body;
		uint64_t id;
		size_t in = 0;

		memcpy(&header, file + at, sizeof(header));
		at += sizeof(header);
		while (header.kind == DNP_CHUNK_RECORDS &&
			dnp_rec_next(file + at, header.length, &in, &id, &body) > 0) {
			struct dnp_slice_reader reader;
			struct dnp_rec_slices rec;

			CHECK_EQ(id, DNP_REC_slices);
			CHECK_EQ(dnp_get_slices((const uint8_t *)body.p, body.n, &rec), 0);
			dnp_slice_reader_init(&reader, &rec);
			while (slices <= MANY && dnp_slice_next(&reader, &got[slices]) == 1)
				slices++;
			CHECK(reader.in == reader.end);
			++*records;
			*gap_ns += rec.gap_ns;
			*bytes += body.n;
		}
		at += header.length;
	}
	return slices;
}

TEST(slices_come_back_as_they_were)
{
	static char path[] = "/tmp/dnprof-slices-XXXXXX";
	struct dnp_writer writer;
	uint64_t time_ns = UINT64_C(40000) * 1000000000, gap_ns, begin_ns = time_ns;
	size_t records, bytes, n;
	int fd = mkstemp(path);

	CHECK_EQ(dnp_writer_open(&writer, fd, 1), 0);
	dnp_slice_writer_begin(&encoder, &writer, 7, begin_ns, DNP_SLICE_WAITS);
	for (size_t i = 0; i < MANY; i++) {
		time_ns += 1000 + random_below(1000000);
		made[i].start_ns = time_ns;
		time_ns += 500 + random_below(300000);
		made[i].end_ns = time_ns;
		made[i].cpu = random_below(16);
		made[i].how = random_below(2);
		dnp_slice_writer_add(&encoder, made[i].start_ns, made[i].end_ns, made[i].cpu,
			(enum dnp_slice_end)made[i].how);
	}
	dnp_slice_writer_end_at(&encoder, time_ns + 500);
	CHECK_EQ(dnp_writer_close(&writer), 0);
	n = read_slices(path, &records, &gap_ns, &bytes);
	unlink(path);
	CHECK_EQ(n, MANY);
	CHECK(!memcmp(made, got, MANY * sizeof(*made)));
	/* Each byte is used, and the time between records is told once. */
	CHECK(bytes <= 8 * (size_t)MANY);
	CHECK(records > 2 && gap_ns > made[0].start_ns - begin_ns + 500);
}

TEST(what_overlaps_is_cut)
{
	static char path[] = "/tmp/dnprof-slices-XXXXXX";
	struct dnp_writer writer;
	size_t records, bytes;
	uint64_t gap_ns;
	int fd = mkstemp(path);

	CHECK_EQ(dnp_writer_open(&writer, fd, 1), 0);
	dnp_slice_writer_begin(&encoder, &writer, 7, 1000, DNP_SLICE_UNKNOWN);
	dnp_slice_writer_add(&encoder, 900, 1500, 0, DNP_SLICE_PREEMPTED);
	dnp_slice_writer_add(&encoder, 1400, 1450, UINT16_MAX, DNP_SLICE_SAMPLED);
	dnp_slice_writer_end_at(&encoder, 1500);
	CHECK_EQ(dnp_writer_close(&writer), 0);
	CHECK_EQ(read_slices(path, &records, &gap_ns, &bytes), 2);
	unlink(path);
	CHECK_EQ(records, 1);
	CHECK_EQ(gap_ns, 0);
	CHECK_EQ(got[0].start_ns, 1000);
	CHECK_EQ(got[0].end_ns, 1500);
	CHECK_EQ(got[1].start_ns, 1500);
	CHECK_EQ(got[1].end_ns, 1500);
	CHECK_EQ(got[1].cpu, UINT16_MAX);
}

TEST(what_is_no_slice_is_refused)
{
	uint8_t bytes[2 * DNP_SLICE_BYTES];
	size_t n = dnp_slice_put(bytes, 300, 400, 70000, DNP_SLICE_PREEMPTED);
	struct dnp_rec_slices rec = {.time_ns = 5, .slices = {(const char *)bytes, n}};
	struct dnp_slice_reader reader;
	struct dnp_slice_at slice;

	dnp_slice_reader_init(&reader, &rec);
	CHECK_EQ(dnp_slice_next(&reader, &slice), 1);
	CHECK_EQ(slice.start_ns, 305);
	CHECK_EQ(slice.end_ns, 705);
	CHECK_EQ(slice.cpu, 70000);
	CHECK_EQ(dnp_slice_next(&reader, &slice), 0);
	for (size_t cut = 1; cut < n; cut++) {
		rec.slices.n = cut;
		dnp_slice_reader_init(&reader, &rec);
		CHECK_EQ(dnp_slice_next(&reader, &slice), -EBADMSG);
	}
	/* Beyond the end of time, and of processors. */
	rec.slices.n = dnp_slice_put(bytes, UINT64_MAX, 1, 0, DNP_SLICE_WAITS);
	dnp_slice_reader_init(&reader, &rec);
	CHECK_EQ(dnp_slice_next(&reader, &slice), -EBADMSG);
	rec.slices.n = dnp_slice_put(bytes, 1, UINT64_MAX - 2, 0, DNP_SLICE_WAITS);
	dnp_slice_reader_init(&reader, &rec);
	CHECK_EQ(dnp_slice_next(&reader, &slice), -EBADMSG);
	rec.slices.n = 2;
	rec.slices.n += (size_t)(dnp_varint_put(bytes + 2, UINT64_C(1) << 40) - bytes - 2);
	bytes[0] = bytes[1] = 1;
	dnp_slice_reader_init(&reader, &rec);
	CHECK_EQ(dnp_slice_next(&reader, &slice), -EBADMSG);
}
