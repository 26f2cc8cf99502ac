/* SPDX-License-Identifier: MIT */
/* Where results and their recordings go while a log is written, too. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clean.h"
#include "launch/output.h"
#include "os/file.h"

#include "test.h"

static char folder[] = "/tmp/dnprof-place-XXXXXX";

static void go_to_folder(void)
{
	CHECK_EQ(dnp_folder_create(folder), 0);
	CHECK_EQ(chdir(folder), 0);
}

static void check_refused(const char *pattern, const char *log)
{
	struct dnp_err err = {0};
	struct dnp_output output;

	CHECK_EQ(dnp_output_open(&output, pattern, &err), 0);
	CHECK_EQ(dnp_output_log(&output, log, &err), 0);
	CHECK_EQ(dnp_output_name(&output, 42, &err), -EEXIST);
	CHECK(strstr(err.text, "cannot write the log to "));
	dnp_output_done(&output);
}

TEST(result_does_not_get_the_name_of_the_log)
{
	char whole[64];

	go_to_folder();
	snprintf(whole, sizeof(whole), "%s/t-42.dnp", folder);
	check_refused("t-%p.dnp", "t-42.dnp");
	check_refused("./t-%p.dnp", "t-42.dnp");
	check_refused("t-%p.dnp", whole);
	check_refused("a%%b.html", "a%b.html");
	CHECK_EQ(rmdir(folder), 0);
}

TEST(recording_does_not_lie_where_the_log_goes)
{
	auto_free char *path = NULL;
	struct dnp_output output;
	int fd;

	go_to_folder();
	CHECK_EQ(dnp_output_open(&output, "t.html", NULL), 0);
	CHECK_EQ(dnp_output_log(&output, "t.html.dnp", NULL), 0);
	CHECK_EQ(dnp_output_name(&output, 42, NULL), 0);
	fd = dnp_output_make_recording(&output, &path, NULL);
	CHECK(fd > 2);
	CHECK_EQ(dnp_output_place_recording(&output, false, &path, NULL), 0);
	CHECK_STR(path + strlen(folder), "/t.html.2.dnp");
	dnp_output_done(&output);
	close(fd);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(folder), 0);
}

/* The log has the name that the recording of this second would get. */
TEST(recording_of_a_result_with_the_time_in_its_name_does_not_lie_where_the_log_goes)
{
	auto_free char *path = NULL, *log = NULL;
	struct dnp_output output;
	int fd;

	go_to_folder();
	CHECK_EQ(dnp_output_open(&output, "%t.html", NULL), 0);
	CHECK_EQ(dnp_output_name(&output, 42, NULL), 0);
	CHECK(asprintf(&log, "%s.dnp", output.path) > 0);
	CHECK_EQ(dnp_output_log(&output, log, NULL), 0);
	CHECK_EQ(dnp_output_name(&output, 42, NULL), 0);
	fd = dnp_output_make_recording(&output, &path, NULL);
	CHECK(fd > 2);
	CHECK_EQ(dnp_output_place_recording(&output, false, &path, NULL), 0);
	CHECK(strcmp(path, log));
	dnp_output_done(&output);
	close(fd);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(folder), 0);
}
