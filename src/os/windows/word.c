/* SPDX-License-Identifier: MIT */
#include "os/word.h"

#include <windows.h>

#define NS_PER_MS UINT64_C(1000000)

/* Of ntdll: the process ends, and all threads but the caller are gone already. */
BOOLEAN NTAPI RtlDllShutdownInProgress(void);

bool dnp_word_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	if (RtlDllShutdownInProgress())
		return false;
	return WaitOnAddress(word, &value, sizeof(value), (DWORD)(ns / NS_PER_MS)) ||
		GetLastError() != ERROR_TIMEOUT;
}

void dnp_word_wake(_Atomic uint32_t *word)
{
	WakeByAddressSingle((void *)(uintptr_t)word);
}
