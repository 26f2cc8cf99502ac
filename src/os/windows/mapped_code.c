/* SPDX-License-Identifier: MIT */
#include "os/windows/mapped_code.h"

#include <windows.h>

#define MAY_EXECUTE                                                                                \
	(PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY)

static bool is_below(HANDLE process, uintptr_t end)
{
	MEMORY_BASIC_INFORMATION region;

	for (uintptr_t at = 0; at < end; at += region.RegionSize) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		if (!VirtualQueryEx(process, (const void *)at, &region, sizeof(region)))
			return false;
		if (region.State == MEM_COMMIT && region.Type == MEM_MAPPED &&
			region.Protect & MAY_EXECUTE)
			return true;
	}
	return false;
}

bool dnp_mapped_code_is_below(int pid, uintptr_t end)
{
	HANDLE process;
	bool found;

	if (!pid)
		return is_below(GetCurrentProcess(), end);
	process = OpenProcess(PROCESS_QUERY_INFORMATION, FALSE, (DWORD)pid);
	found = process && is_below(process, end);
	if (process)
		CloseHandle(process);
	return found;
}
