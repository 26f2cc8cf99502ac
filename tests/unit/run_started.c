/* SPDX-License-Identifier: MIT */
/* Where a process cannot fork, the program is started again for each test. */
#include <io.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
#include <psapi.h> /* behind windows.h */

#include "run.h"

#define DESCRIPTORS_MAX 2048 /* of the C library */

uint64_t test_peak_memory(void)
{
	PROCESS_MEMORY_COUNTERS memory = {.cb = sizeof(memory)};

	GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof(memory));
	return memory.PeakPagefileUsage;
}

int test_count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
		n += _get_osfhandle(fd) != -1;
	return n;
}

int test_run_alone(const struct test *test)
{
	char path[MAX_PATH], quoted[MAX_PATH + 2];
	intptr_t status;

	if (!GetModuleFileNameA(NULL, path, sizeof(path)))
		return 1;
	snprintf(quoted, sizeof(quoted), "\"%s\"", path);
	status = _spawnl(_P_WAIT, path, quoted, "--here", test->name, NULL);
	if (status && status != 1 && status != TEST_SKIPPED)
		printf("# ended with status 0x%llx\n", (unsigned long long)status);
	return status == TEST_SKIPPED ? TEST_SKIPPED : status != 0;
}
