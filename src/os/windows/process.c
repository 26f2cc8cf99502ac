/* SPDX-License-Identifier: MIT */
#include "os/process.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/windows/nt.h"

#include <ntsecapi.h> /* does not stand alone */

#include "os/windows/peb.h"
#include "os/windows/wide.h"

#define PATH_UNITS 32768

static uint64_t begin_of(HANDLE process)
{
	FILETIME begin, end, kernel, user;

	/* A process that has ended stays as long as somebody has a handle to it. */
	if (WaitForSingleObject(process, 0) != WAIT_TIMEOUT ||
		!GetProcessTimes(process, &begin, &end, &kernel, &user))
		return 0;
	return (uint64_t)begin.dwHighDateTime << 32 | begin.dwLowDateTime;
}

uint64_t dnp_process_start_ticks(int pid)
{
	HANDLE process =
		OpenProcess(SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
	uint64_t ticks = process ? begin_of(process) : 0;

	if (process)
		CloseHandle(process);
	return ticks;
}

uint64_t dnp_process_start_ns(int pid)
{
	return dnp_ticks_begin_ns(dnp_process_start_ticks(pid));
}

int dnp_process_id(void)
{
	return (int)GetCurrentProcessId();
}

int dnp_process_parent_id(void)
{
	struct dnp_process_basic basic = {0};

	if (!NT_SUCCESS(NtQueryInformationProcess(
		    GetCurrentProcess(), ProcessBasicInformation, &basic, sizeof(basic), NULL)))
		return 0;
	return (int)basic.parent_pid;
}

static size_t copy(char *out, size_t capacity, const wchar_t *wide)
{
	auto_free char *text = dnp_narrow(wide);
	size_t n = text ? strlen(text) : 0;

	if (n > capacity)
		n = capacity;
	if (n)
		memcpy(out, text, n);
	return n;
}

/*
 * Takes the next word of a command line apart, in place: *at is behind it then. Backslashes stand
 * for themselves but in front of a quote, of which the second of a pair does (CommandLineToArgvW).
 */
static wchar_t *next_word(wchar_t **at)
{
	wchar_t *from = *at + wcsspn(*at, L" \t"), *word = from, *to = from;
	bool quoted = false;

	while (*from && (quoted || (*from != L' ' && *from != L'\t'))) {
		size_t slashes = wcsspn(from, L"\\");
		bool quote = from[slashes] == L'"';

		from += slashes;
		for (size_t i = quote ? slashes / 2 : slashes; i; i--)
			*to++ = L'\\';
		if (quote && slashes % 2)
			*to++ = *from++;
		else if (quote)
			quoted = from++ && !quoted;
		else if (!slashes)
			*to++ = *from++;
	}
	*at = *from ? from + 1 : from;
	*to = L'\0';
	return word;
}

/* The system has one string for all words. */
size_t dnp_process_command(int pid, char *out, size_t capacity)
{
	auto_free wchar_t *line =
		pid == dnp_process_id() ? _wcsdup(GetCommandLineW()) : dnp_peb_command_line(pid);
	size_t n = 0;

	for (wchar_t *at = line; at && *at && n < capacity;) {
		n += copy(out + n, capacity - n - 1, next_word(&at));
		out[n++] = '\0';
	}
	return n;
}

size_t dnp_process_executable(char *out, size_t capacity)
{
	static wchar_t path[PATH_UNITS];

	return GetModuleFileNameW(NULL, path, DNP_ARRAY_SIZE(path))
		? copy(out, capacity, dnp_wide_final(path, DNP_ARRAY_SIZE(path)))
		: 0;
}

size_t dnp_process_executable_of(int pid, char *out, size_t capacity)
{
	HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
	auto_free wchar_t *path = calloc(PATH_UNITS, sizeof(*path));
	DWORD units = PATH_UNITS;
	bool known = process && path && QueryFullProcessImageNameW(process, 0, path, &units);

	if (process)
		CloseHandle(process);
	return known ? copy(out, capacity, path) : 0;
}

void dnp_system_name(char *out, size_t capacity)
{
	OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof(version)};

	out[0] = '\0';
	if (NT_SUCCESS(RtlGetVersion(&version)))
		snprintf(out, capacity, "Windows %lu.%lu.%lu", version.dwMajorVersion,
			version.dwMinorVersion, version.dwBuildNumber);
}

unsigned dnp_processors(void)
{
	return GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

uint64_t dnp_random_number(void)
{
	uint64_t number;

	if (!RtlGenRandom(&number, sizeof(number)))
		number = dnp_now_ns() ^ (uint64_t)GetCurrentProcessId() << 40;
	return number;
}
