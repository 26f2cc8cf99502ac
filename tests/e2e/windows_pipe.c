/* SPDX-License-Identifier: MIT */
/*
 * windows_pipe PID: has the name of the pipe that an agent in that process would make, as long as
 * nobody writes a line to it; says "ready" before. Its only place is taken by the first who comes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

static unsigned long long start_ticks(DWORD pid)
{
	HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
	FILETIME start, end, kernel, user;

	if (!process || !GetProcessTimes(process, &start, &end, &kernel, &user))
		exit(1);
	CloseHandle(process);
	return (unsigned long long)start.dwHighDateTime << 32 | start.dwLowDateTime;
}

int main(int argc, char **argv)
{
	DWORD pid = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	char name[128];
	HANDLE pipe;

	snprintf(name, sizeof(name), "\\\\.\\pipe\\dnprof-%lu-%llu-socket", pid, start_ticks(pid));
	pipe = CreateNamedPipeA(name, PIPE_ACCESS_DUPLEX, PIPE_TYPE_MESSAGE, 1, 64, 64, 0, NULL);
	if (pipe == INVALID_HANDLE_VALUE)
		return 1;
	puts("ready");
	fflush(stdout);
	getchar();
	CloseHandle(pipe);
	return 0;
}
