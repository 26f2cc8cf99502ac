/* SPDX-License-Identifier: MIT */
/* Which files of modules are opened: names of them may be anybody's. */
#include <errno.h>
#include <windows.h>

#include "base/clean.h"
#include "os/image.h"
#include "os/windows/wide.h"

#include "test.h"

static int load(const char *path)
{
	struct dnp_file_bytes bytes;
	int status = dnp_image_load((struct dnp_str){path, strlen(path)}, &bytes);

	if (!status)
		dnp_file_unmap(bytes.p, bytes.n);
	return status;
}

TEST(image_of_this_program)
{
	wchar_t wide[MAX_PATH];
	auto_free char *path = NULL;

	CHECK(GetModuleFileNameW(NULL, wide, MAX_PATH));
	path = dnp_narrow(wide);
	CHECK(path);
	CHECK_EQ(load(path), 0);
}

TEST(image_of_nothing_that_acts)
{
	static const char *const refused[] = {"", "C:", "C:\\", "NUL", "\\\\.\\pipe\\dnprof",
		"\\\\nowhere\\share\\a.dll", "//nowhere/share/a.dll", "\\\\?\\C:\\windows\\a.dll",
		"a.dll", "\\a.dll", "C:a.dll", "/etc/passwd", "1:\\a.dll"};
	static const char *const missing[] = {"C:\\NUL", "C:\\windows\\CON", "C:\\no\\such.dll"};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(refused); i++)
		if (load(refused[i]) != -EINVAL)
			FAIL("'%s' is opened: %d", refused[i], load(refused[i]));
	for (size_t i = 0; i < DNP_ARRAY_SIZE(missing); i++)
		if (load(missing[i]) != -ENOENT)
			FAIL("'%s' is opened: %d", missing[i], load(missing[i]));
	CHECK(load("C:\\windows") < 0);
}
