/* SPDX-License-Identifier: MIT */
/* Where results go that are named with a drive, and names that no file can have. */
#include <errno.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "launch/output.h"

#include "test.h"

static void check_folder(const char *pattern, const char *folder, const char *path)
{
	struct dnp_output output;

	CHECK_EQ(dnp_output_open(&output, pattern, NULL), 0);
	CHECK_STR(output.folder, folder);
	CHECK_EQ(dnp_output_name(&output, 42, NULL), 0);
	CHECK_STR(output.path, path);
	dnp_output_done(&output);
}

/* Each drive has a current folder of its own. */
TEST(output_is_on_its_drive)
{
	CHECK(CreateDirectoryW(L"C:\\dnprof-test", NULL) || GetLastError() == ERROR_ALREADY_EXISTS);
	CHECK(SetEnvironmentVariableW(L"=C:", L"C:\\dnprof-test"));
	check_folder("C:out-%p.html", "C:\\dnprof-test", "C:\\dnprof-test\\out-42.html");
	check_folder("C:\\out.html", "C:\\", "C:\\out.html");
	check_folder("C:/dnprof-test/out.html", "C:\\dnprof-test", "C:\\dnprof-test\\out.html");
	CHECK(RemoveDirectoryW(L"C:\\dnprof-test"));
}

TEST(name_that_no_file_can_have_is_refused)
{
	static const char *const names[] = {"a?.html", "a*", "a<b", "a|b", ".\\a:b.html"};
	struct dnp_output output;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++) {
		struct dnp_err err = {0};

		CHECK_EQ(dnp_output_open(&output, names[i], &err), 0);
		CHECK(dnp_output_name(&output, 42, &err));
		CHECK(strstr(err.text, "cannot write to "));
		CHECK(strstr(err.text, "with -o"));
		dnp_output_done(&output);
	}
}

/* One file, however its name is written: the log would replace the result. */
TEST(log_of_the_result_s_name_in_another_case_is_refused)
{
	struct dnp_err err = {0};
	struct dnp_output output;

	CHECK_EQ(dnp_output_open(&output, "C:\\out-%p.html", &err), 0);
	CHECK_EQ(dnp_output_log(&output, "c:/Out-42.HTML", &err), 0);
	CHECK_EQ(dnp_output_name(&output, 42, &err), -EEXIST);
	CHECK(strstr(err.text, "cannot write the log to "));
	CHECK_EQ(dnp_output_log(&output, "c:/Out-43.HTML", &err), 0);
	CHECK_EQ(dnp_output_name(&output, 42, &err), 0);
	dnp_output_done(&output);
}
