/* SPDX-License-Identifier: MIT */
#include "os/windows/peb.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "os/windows/nt.h"

#define BYTES_MAX ((size_t)1 << 20)

/* Offsets of a 64-bit process. Source: the public symbols of ntdll (PEB, ProcessParameters). */
#define PEB_PARAMETERS          0x20
#define PARAMETERS_COMMAND_LINE 0x70
#define PARAMETERS_ENVIRONMENT  0x80

static bool read(HANDLE process, uintptr_t from, void *to, size_t n)
{
	SIZE_T got = 0;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return ReadProcessMemory(process, (const void *)from, to, n, &got) && got == n;
}

static bool find_parameters(HANDLE process, uintptr_t *at)
{
	struct dnp_process_basic basic = {0};

	return NT_SUCCESS(NtQueryInformationProcess(
		       process, ProcessBasicInformation, &basic, sizeof(basic), NULL)) &&
		basic.peb && read(process, (uintptr_t)basic.peb + PEB_PARAMETERS, at, sizeof(*at));
}

/* Two units more than n bytes, which are zero. */
static wchar_t *copy(HANDLE process, uintptr_t from, size_t n)
{
	wchar_t *text = n <= BYTES_MAX ? calloc(1, n + 2 * sizeof(*text)) : NULL;

	if (text && read(process, from, text, n))
		return text;
	free(text);
	return NULL;
}

static wchar_t *read_command_line(HANDLE process, uintptr_t parameters)
{
	UNICODE_STRING line;

	if (!read(process, parameters + PARAMETERS_COMMAND_LINE, &line, sizeof(line)))
		return NULL;
	return copy(process, (uintptr_t)line.Buffer, line.Length);
}

/* It has no length everywhere: it ends, at the latest, where its memory does. */
static wchar_t *read_environment(HANDLE process, uintptr_t parameters)
{
	MEMORY_BASIC_INFORMATION region;
	uintptr_t at;
	size_t n;

	if (!read(process, parameters + PARAMETERS_ENVIRONMENT, &at, sizeof(at)) ||
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		!VirtualQueryEx(process, (const void *)at, &region, sizeof(region)))
		return NULL;
	n = (uintptr_t)region.BaseAddress + region.RegionSize - at;
	return copy(process, at, n < BYTES_MAX ? n : BYTES_MAX);
}

static wchar_t *look(int pid, wchar_t *(*what)(HANDLE process, uintptr_t parameters))
{
	HANDLE process =
		OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE, (DWORD)pid);
	uintptr_t parameters;
	wchar_t *text = NULL;

	if (!process)
		return NULL;
	if (find_parameters(process, &parameters))
		text = what(process, parameters);
	CloseHandle(process);
	return text;
}

wchar_t *dnp_peb_command_line(int pid)
{
	return look(pid, read_command_line);
}

wchar_t *dnp_peb_environment(int pid)
{
	return look(pid, read_environment);
}
