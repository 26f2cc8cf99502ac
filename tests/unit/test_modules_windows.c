/* SPDX-License-Identifier: MIT */
/* What is loaded in a process, as its loader has it: this one's own, which the system tells as
 * well. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "launch/windows/modules.h"
#include "os/process.h"
#include "os/windows/wide.h"

#include "test.h"

#define PATH_UNITS 32768u

struct seen {
	char *first;
	unsigned n, all; /* of this process's own; at all */
};

static char *path_of(HMODULE module)
{
	static wchar_t wide[PATH_UNITS];

	CHECK(GetModuleFileNameW(module, wide, PATH_UNITS));
	return dnp_narrow(wide);
}

static int see(const char *path, void *context)
{
	struct seen *seen = context;
	auto_free wchar_t *wide = dnp_wide(path);
	HMODULE module = GetModuleHandleW(wide);
	auto_free char *known = NULL;

	CHECK(module);
	known = path_of(module);
	CHECK_STR(path, known);
	if (!seen->all++)
		seen->first = strdup(path);
	seen->n += dnp_modules_is(path, "kernel32.dll") || dnp_modules_is(path, "NTDLL.DLL");
	return 0;
}

static int end(const char *path, void *context)
{
	(void)path;
	return ++*(int *)context == 2 ? -ENOTDIR : 0;
}

TEST(modules_are_those_that_the_loader_has)
{
	struct seen seen = {0};
	auto_free char *program = NULL, *path = path_of(NULL);

	CHECK_EQ(dnp_modules_each(dnp_process_id(), see, &seen), 0);
	CHECK_STR(seen.first, path);
	CHECK_EQ(seen.n, 2);
	CHECK(seen.all > 3);
	CHECK_EQ(dnp_modules_program(dnp_process_id(), &program), 0);
	CHECK_STR(program, path);
	free(seen.first);
}

TEST(modules_are_visited_until_a_visit_ends_it)
{
	int visited = 0;

	CHECK_EQ(dnp_modules_each(dnp_process_id(), end, &visited), -ENOTDIR);
	CHECK_EQ(visited, 2);
}

/* One that has not begun may have no list; one that has ended, none any more. */
TEST(process_that_has_not_begun_or_has_ended)
{
	STARTUPINFOW startup = {.cb = sizeof(startup)};
	wchar_t command[PATH_UNITS], path[PATH_UNITS];
	PROCESS_INFORMATION made;
	int visited = 0, ret;

	CHECK(GetModuleFileNameW(NULL, path, PATH_UNITS));
	wcscpy(command, L"unit");
	CHECK(CreateProcessW(
		path, command, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &startup, &made));
	ret = dnp_modules_each((pid_t)made.dwProcessId, end, &visited);
	CHECK(ret == -ESRCH || ret == -ENOTDIR || (!ret && visited == 1));
	CHECK(TerminateProcess(made.hProcess, 0));
	CHECK_EQ(WaitForSingleObject(made.hProcess, INFINITE), WAIT_OBJECT_0);
	visited = 0;
	CHECK_EQ(dnp_modules_each((pid_t)made.dwProcessId, end, &visited), -ESRCH);
	CHECK_EQ(visited, 0);
	CloseHandle(made.hThread);
	CloseHandle(made.hProcess);
}
