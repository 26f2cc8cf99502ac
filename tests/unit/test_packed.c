/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/chunk.h"
#include "read/input.h"
#include "read/pack.h"
#include "read/packed.h"
#include "read/visit.h"
#include "test.h"

#define PROBLEMS 5000

static uint32_t put_chunk(FILE *file, uint32_t sequence, const uint8_t *payload, size_t n)
{
	struct dnp_chunk_header header;

	dnp_chunk_seal(&header, DNP_CHUNK_RECORDS, 7, sequence, payload, (uint32_t)n);
	CHECK(fwrite(&header, sizeof(header), 1, file) == 1);
	CHECK(fwrite(payload, n, 1, file) == 1);
	return sequence + 1;
}

/* A recording of PROBLEMS problems in chunks of 50; their time_ns counts up. */
static void write_recording(const char *path)
{
	FILE *file = fopen(path, "w");
	uint32_t sequence = 0;
	uint8_t payload[8192];
	size_t n;

	CHECK(file);
	n = dnp_put_process(payload, sizeof(payload), &(struct dnp_rec_process){.pid = 42});
	for (uint64_t i = 0; i < PROBLEMS; i++) {
		n += dnp_put_problem(payload + n, sizeof(payload) - n,
			&(struct dnp_rec_problem){
				.time_ns = i, .text = dnp_str("what went wrong")});
		if (i % 50 == 49) {
			sequence = put_chunk(file, sequence, payload, n);
			n = 0;
		}
	}
	fclose(file);
}

static int count_problem(void *arg, const struct dnp_rec_problem *rec, uint64_t time_ns)
{
	uint64_t *next = arg;

	(void)time_ns;
	CHECK(rec->time_ns == *next);
	CHECK_EQ(rec->text.n, 15);
	++*next;
	return 0;
}

static uint64_t count_problems(const char *path, size_t *n_told)
{
	static const struct dnp_visitor visitor = {.problem = count_problem};
	struct dnp_err err = {0};
	struct dnp_input input;
	uint64_t next = 0, damaged = 0;

	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, &err), 0);
	CHECK_EQ(dnp_input_finish(&input, &err), 0);
	CHECK_EQ(input.recordings.n, 1);
	CHECK_EQ(input.recordings.p[0].process.pid, 42);
	dnp_recording_visit(&input.recordings.p[0], &visitor, &next, &damaged);
	CHECK_EQ(damaged, 0);
	*n_told = input.recordings.p[0].problems.n;
	dnp_input_done(&input);
	return next;
}

static char *temporary_path(void)
{
	static char path[] = "/tmp/dnprof-packed-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	return path;
}

static off_t size_of(const char *path)
{
	struct stat st;

	CHECK_EQ(stat(path, &st), 0);
	return st.st_size;
}

TEST(packed_recording_reads_the_same_and_is_smaller)
{
	char *path = temporary_path();
	off_t before;
	size_t told;

	write_recording(path);
	before = size_of(path);
	CHECK_EQ(dnp_pack_file(path, NULL), 0);
	CHECK(size_of(path) < before / 5);
	CHECK_EQ(count_problems(path, &told), PROBLEMS);
	CHECK_EQ(told, 0);
	/* Packed again, it stays what it is. */
	CHECK_EQ(dnp_pack_file(path, NULL), 0);
	CHECK_EQ(count_problems(path, &told), PROBLEMS);
	unlink(path);
}

static int read_both(struct dnp_input *input, char *a, char *b, struct dnp_err *err)
{
	dnp_input_init(input);
	return dnp_input_read(input, 2, (char *[]){a, b}, err);
}

/* What both tell of would count twice. */
TEST(packed_recording_is_not_read_beside_what_it_was)
{
	char *path = temporary_path(), *again;
	struct dnp_err err = {0};
	struct dnp_input input;

	CHECK(asprintf(&again, "%s.packed", path) > 0);
	write_recording(path);
	write_recording(again);
	CHECK_EQ(dnp_pack_file(again, NULL), 0);
	CHECK_EQ(read_both(&input, path, again, &err), -EINVAL);
	CHECK(strstr(err.text, ".packed: /tmp/dnprof-packed-"));
	dnp_input_done(&input);
	write_recording(again);
	CHECK_EQ(read_both(&input, path, again, &err), 0);
	CHECK_EQ(input.recordings.n, 1);
	dnp_input_done(&input);
	unlink(path);
	unlink(again);
	free(again);
}

TEST(packed_recording_stays_its_owners)
{
	char *path = temporary_path();
	struct stat st;

	if (geteuid())
		SKIP("only root may write what is somebody else's");
	write_recording(path);
	CHECK(!chown(path, 64321, 64322) && !chmod(path, 0640));
	CHECK_EQ(dnp_pack_file(path, NULL), 0);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_uid, 64321);
	CHECK_EQ(st.st_gid, 64322);
	CHECK_EQ(st.st_mode & 0777, 0640);
	unlink(path);
}

TEST(damaged_recording_is_not_packed)
{
	char *path = temporary_path();
	off_t before;
	size_t told;

	write_recording(path);
	CHECK_EQ(truncate(path, size_of(path) - 3), 0);
	before = size_of(path);
	CHECK_EQ(dnp_pack_file(path, NULL), 0);
	CHECK_EQ(size_of(path), before);
	CHECK_EQ(count_problems(path, &told), PROBLEMS - 50);
	CHECK_EQ(told, 1);
	unlink(path);
}

TEST(unpack_refuses_what_is_damaged_or_too_large)
{
	uint8_t payload[64] = {0}, *records;
	uint32_t length = DNP_CHUNK_MAX + 1;
	size_t n;

	CHECK_EQ(dnp_unpack(payload, 3, &records, &n), -EBADMSG);
	memcpy(payload, &length, sizeof(length));
	CHECK_EQ(dnp_unpack(payload, sizeof(payload), &records, &n), -EBADMSG);
	length = 1000;
	memcpy(payload, &length, sizeof(length));
	memset(payload + 4, 0xff, sizeof(payload) - 4);
	CHECK_EQ(dnp_unpack(payload, sizeof(payload), &records, &n), -EBADMSG);
}
