/* SPDX-License-Identifier: MIT */
/* ../crossings.c in the words of Windows. */
#include "../crossings.h"

#include <string.h>
#include <windows.h>

int truth_next(int x)
{
	return x + 1;
}

int truth_length(const char *text)
{
	return (int)strlen(text);
}

int truth_fail(int error)
{
	SetLastError((DWORD)error);
	return -1;
}

static int64_t now_ns(void)
{
	LARGE_INTEGER now, frequency;

	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&now);
	return (int64_t)((double)now.QuadPart * 1e9 / (double)frequency.QuadPart);
}

void truth_nap(int64_t ns)
{
	int64_t begin_ns = now_ns();

	if (!ns)
		return;
	do
		Sleep((DWORD)((ns + 999999) / 1000000));
	while (now_ns() - begin_ns < ns);
}

int truth_each(int (*callback)(int i), int n, int64_t nap_ns)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		truth_nap(nap_ns);
		sum += callback(i);
	}
	return sum;
}

static _Atomic int there;

int truth_there(void)
{
	return there;
}

void truth_vanish(void)
{
	there++;
	ExitThread(0);
}

void truth_stay(void)
{
	there++;
	Sleep(INFINITE);
}
