/* SPDX-License-Identifier: MIT */
/* Recordings of several processes that become one file. */
#include <stdio.h>

#include "base/clean.h"
#include "launch/record.h"
#include "os/file.h"
#include "read/input.h"
#include "recording.h"

#include "test.h"

/* The folder in which each process has made its own; the file lies beside them. */
struct place {
	char folder[64], file[96];
};

static struct place make_place(void)
{
	struct place place = {.folder = "test-gather-XXXXXX"};
	int fd;

	CHECK_EQ(dnp_folder_create(place.folder), 0);
	snprintf(place.file, sizeof(place.file), "%s/gathered", place.folder);
	fd = dnp_file_create_new(place.file);
	CHECK(fd >= 0);
	close(fd);
	return place;
}

static void put_file(const struct place *place, const char *name, const struct recording *rec)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", place->folder, name);
	auto_close int fd = dnp_file_create_new(path);
	CHECK(fd >= 0);
	CHECK_EQ(dnp_file_write_all(fd, rec->bytes.p, rec->bytes.n), 0);
}

static void put(const struct place *place, const char *name, uint64_t pid, uint64_t start_ns)
{
	struct recording rec = recording_new(pid);

	recording_chunk(&rec, DNP_CHUNK_SCHEMA, dnp_rec_schema, strlen(dnp_rec_schema));
	RECORD(&rec, process, .pid = pid, .start_ns = start_ns);
	recording_flush(&rec);
	put_file(place, name, &rec);
	recording_done(&rec);
}

/* "5 6 7 ": the processes in the file. */
static void pids_in(const char *path, char text[64])
{
	struct dnp_input input;
	size_t n = 0;

	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	text[0] = '\0';
	for (size_t i = 0; i < input.recordings.n; i++)
		n += (size_t)snprintf(text + n, 64 - n, "%llu ",
			(unsigned long long)input.recordings.p[i].process.pid);
	dnp_input_done(&input);
}

/* Whatever their names are: a system may give a process any number, and a folder has its own order.
 */
TEST(recordings_of_children_are_gathered_in_the_order_in_which_they_began)
{
	struct place place = make_place();
	struct dnp_err err = {0};
	char pids[64];

	put(&place, "100-3.dnp", 100, 3000);
	put(&place, "64-1.dnp", 64, 1000);
	put(&place, "72-4.dnp", 72, 4000);
	put(&place, "96-2.dnp", 96, 2000);
	put(&place, "notes.txt", 1, 1);
	CHECK_EQ(dnp_record_gather(place.file, place.folder, &err), 0);
	pids_in(place.file, pids);
	CHECK_STR(pids, "64 96 100 72 ");
	dnp_folder_remove(place.folder);
}

/* One that does not say when it began, since it was cut before, is there, too. */
TEST(recordings_without_a_begin_are_gathered_after_the_others)
{
	struct place place = make_place();
	struct recording cut = recording_new(9);
	struct dnp_err err = {0};
	char pids[64];

	recording_chunk(&cut, DNP_CHUNK_SCHEMA, dnp_rec_schema, strlen(dnp_rec_schema));
	put_file(&place, "1-1.dnp", &cut);
	recording_done(&cut);
	put(&place, "5-5.dnp", 5, 5000);
	CHECK_EQ(dnp_record_gather(place.file, place.folder, &err), 0);
	pids_in(place.file, pids);
	CHECK_STR(pids, "5 0 ");
	dnp_folder_remove(place.folder);
}
