/* SPDX-License-Identifier: MIT */
/* Copies of recordings that somebody else made, and may still write. */
#include "launch/copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clean.h"
#include "launch/record.h"
#include "read/input.h"
#include "read/visit.h"
#include "recording.h"

#include "test.h"

/* A folder with a recording in it, `torn` bytes of which are still to come. */
struct place {
	char folder[32], recording[64], pattern[64], copy[64];
	int fd;
	size_t bytes; /* of it when it is whole */
};

static struct place make_place(size_t torn)
{
	struct place place = {.folder = "/tmp/dnprof-copy-XXXXXX"};
	struct recording rec = recording_new(7);

	CHECK(mkdtemp(place.folder));
	snprintf(place.recording, sizeof(place.recording), "%s/there.dnp", place.folder);
	snprintf(place.pattern, sizeof(place.pattern), "%s/%%p.dnp", place.folder);
	snprintf(place.copy, sizeof(place.copy), "%s/42.dnp", place.folder);
	place.fd = open(place.recording, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	recording_small(&rec);
	recording_flush(&rec);
	RECORD(&rec, problem, .text = dnp_str("the last words"));
	recording_flush(&rec);
	place.bytes = rec.bytes.n;
	CHECK_EQ(write(place.fd, rec.bytes.p, rec.bytes.n - torn), (ssize_t)(rec.bytes.n - torn));
	recording_done(&rec);
	return place;
}

static void remove_place(struct place *place)
{
	close(place->fd);
	unlink(place->recording);
	unlink(place->copy);
	CHECK_EQ(rmdir(place->folder), 0); /* nothing else is left there */
}

struct seen {
	unsigned problems, dumped;
};

static int see_problem(void *arg, const struct dnp_rec_problem *problem, uint64_t time_ns)
{
	struct seen *seen = arg;

	(void)problem;
	(void)time_ns;
	seen->problems++;
	return 0;
}

static int see_end(void *arg, const struct dnp_rec_end *end, uint64_t time_ns)
{
	struct seen *seen = arg;

	(void)time_ns;
	seen->dumped += end->reason == DNP_END_DUMP;
	return 0;
}

/* What is in a copy that has to be whole. */
static struct seen look_at(const char *path)
{
	static const struct dnp_visitor visitor = {.problem = see_problem, .end = see_end};
	struct seen seen = {0};
	struct dnp_input input;
	uint64_t damaged = 0;

	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(input.recordings.n, 1);
	CHECK_EQ(input.recordings.p[0].problems.n, 0);
	dnp_recording_visit(&input.recordings.p[0], &visitor, &seen, &damaged);
	CHECK_EQ(damaged, 0);
	dnp_input_done(&input);
	return seen;
}

static void take(const struct place *place, bool dumped)
{
	struct dnp_copy copy;
	struct dnp_err err = {0};

	CHECK_EQ(dnp_copy_open(&copy, place->pattern, 42, &err), 0);
	CHECK_EQ(dnp_copy_take(&copy, place->fd, true, dumped, &err), 0);
	CHECK_STR(copy.recording, place->copy);
	dnp_copy_done(&copy);
}

TEST(copy_of_a_whole_recording_is_the_same)
{
	struct place place = make_place(0);
	struct stat st;

	CHECK_EQ(lseek(place.fd, 5, SEEK_SET), 5);
	take(&place, false);
	CHECK_EQ(lseek(place.fd, 0, SEEK_CUR), 5); /* another process writes there */
	CHECK_EQ(stat(place.copy, &st), 0);
	CHECK_EQ((size_t)st.st_size, place.bytes);
	CHECK_EQ(st.st_mode & 0777, 0600);
	CHECK_EQ(look_at(place.copy).problems, 1);
	remove_place(&place);
}

TEST(copy_ends_with_the_last_whole_chunk)
{
	const size_t torn[] = {1, 20, sizeof(struct dnp_chunk_header) + 16};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(torn); i++) {
		struct place place = make_place(torn[i]);
		struct seen seen;

		take(&place, true);
		seen = look_at(place.copy);
		CHECK_EQ(seen.problems, 0);
		CHECK_EQ(seen.dumped, 1);
		remove_place(&place);
	}
}

/* Two copies for results of one name, which both were told is free. */
static void open_two(const char *folder, struct dnp_copy copies[2])
{
	char pattern[64];
	bool same;

	snprintf(pattern, sizeof(pattern), "%s/%%t.html", folder);
	do {
		for (unsigned i = 0; i < 2; i++)
			CHECK_EQ(dnp_copy_open(&copies[i], pattern, 42, NULL), 0);
		same = !strcmp(copies[0].output.path, copies[1].output.path);
		for (unsigned i = 0; i < 2 && !same; i++) /* a second was over between them */
			dnp_copy_done(&copies[i]);
	} while (!same);
}

static void write_result(const struct dnp_copy *copy)
{
	int fd = open(copy->output.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	close(fd);
	CHECK_EQ(unlink(copy->recording), 0);
}

/* Whether the other one was written before, or is about to be. */
TEST(results_of_one_second_do_not_replace_each_other)
{
	for (unsigned written_before = 0; written_before < 2; written_before++) {
		struct place place = make_place(0);
		struct dnp_copy copies[2];

		open_two(place.folder, copies);
		CHECK_EQ(dnp_copy_take(&copies[0], place.fd, false, false, NULL), 0);
		if (written_before)
			write_result(&copies[0]);
		CHECK_EQ(dnp_copy_take(&copies[1], place.fd, false, false, NULL), 0);
		if (!written_before)
			write_result(&copies[0]);
		write_result(&copies[1]);
		for (unsigned i = 0; i < 2; i++) {
			CHECK_EQ(unlink(copies[i].output.path), 0);
			dnp_copy_done(&copies[i]);
		}
		remove_place(&place);
	}
}

TEST(copy_that_is_not_taken_leaves_nothing)
{
	struct place place = make_place(0);
	struct dnp_copy copy;

	CHECK_EQ(dnp_copy_open(&copy, place.pattern, 42, NULL), 0);
	dnp_copy_done(&copy);
	CHECK(dnp_copy_open(&copy, "/nowhere/at/all.dnp", 42, NULL) < 0);
	remove_place(&place);
}

TEST(original_is_found_as_long_as_it_is_there)
{
	struct place place = make_place(0);
	auto_free char *found = dnp_copy_original(place.fd), *lost = NULL;

	CHECK(found);
	CHECK_STR(found, place.recording);
	CHECK_EQ(rename(place.recording, place.copy), 0);
	free(found);
	found = dnp_copy_original(place.fd);
	CHECK(found);
	CHECK_STR(found, place.copy);
	CHECK_EQ(unlink(place.copy), 0);
	lost = dnp_copy_original(place.fd);
	CHECK(!lost);
	remove_place(&place);
}

static size_t size_of(const char *path)
{
	struct stat st;

	CHECK_EQ(stat(path, &st), 0);
	return (size_t)st.st_size;
}

/* That of a child that was killed while it wrote harms none that follows; none is left out unsaid.
 */
TEST(recordings_of_children_are_gathered_by_whole_chunks)
{
	struct place torn = make_place(1), whole = make_place(0);
	struct dnp_err err = {0};
	char link[80];

	CHECK_EQ(close(open(torn.copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)), 0);
	CHECK_EQ(dnp_record_gather(torn.copy, whole.folder, &err), 0);
	CHECK_EQ(size_of(torn.copy), whole.bytes);
	CHECK_EQ(rename(torn.copy, whole.copy), 0);
	CHECK_EQ(dnp_record_gather(whole.copy, torn.folder, &err), 0);
	CHECK(size_of(whole.copy) < 2 * whole.bytes - 1);
	CHECK_EQ(dnp_record_gather(whole.copy, torn.folder, &err), 0);
	CHECK(size_of(whole.copy) > 2 * whole.bytes);
	snprintf(link, sizeof(link), "%s/link.dnp", torn.folder);
	CHECK_EQ(symlink(torn.recording, link), 0);
	CHECK_EQ(dnp_record_gather(whole.copy, torn.folder, &err), -ELOOP);
	CHECK(strstr(err.text, "link.dnp"));
	CHECK_EQ(unlink(link), 0);
	remove_place(&torn);
	remove_place(&whole);
}
