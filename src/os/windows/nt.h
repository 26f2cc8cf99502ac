/* SPDX-License-Identifier: MIT */
/* What ntdll exports and the headers do not declare. Source: the documentation of phnt, Wine. */
#ifndef DNP_OS_WINDOWS_NT_H
#define DNP_OS_WINDOWS_NT_H

#include <windows.h>

#include <winternl.h> /* does not stand alone */

/* Of kernel32 since Windows 10 1607. */
HRESULT WINAPI GetThreadDescription(HANDLE thread, PWSTR *name);
HRESULT WINAPI SetThreadDescription(HANDLE thread, PCWSTR name);

/* As winternl.h has it, with the names of what it leaves out. */
struct dnp_process_basic {
	NTSTATUS status;
	void *peb;
	ULONG_PTR affinity;
	LONG priority;
	ULONG_PTR pid, parent_pid;
};

NTSTATUS NTAPI RtlGetVersion(OSVERSIONINFOW *version);

NTSYSAPI VOID NTAPI RtlUserThreadStart(LPTHREAD_START_ROUTINE function, PVOID parameter);

/* The next thread of a process, with a handle to it; fails behind the last one. */
NTSTATUS NTAPI NtGetNextThread(HANDLE process, HANDLE thread, ACCESS_MASK access, ULONG attributes,
	ULONG flags, HANDLE *next);

#endif
