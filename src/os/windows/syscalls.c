/* SPDX-License-Identifier: MIT */
#include "os/syscalls.h"

#include <string.h>

#include "os/mem.h"

/* They have numbers that each release gives anew: where a thread is says as much. */
const char *dnp_syscall_name(int number)
{
	(void)number;
	return NULL;
}

/* Of ntdll's functions: Windows' own, and Wine's, which calls what leads out of the process. */
bool dnp_syscall_is_before(uintptr_t pc)
{
	static const uint8_t syscall[] = {0x0f, 0x05};
	static const uint8_t call[] = {0xff, 0x14, 0x25, 0x00, 0x10, 0xfe, 0x7f}; /* *0x7ffe1000 */
	uint8_t code[sizeof(call)];

	return !dnp_mem_read(pc - sizeof(code), code, sizeof(code)) &&
		(!memcmp(code, call, sizeof(call)) ||
			!memcmp(code + sizeof(code) - sizeof(syscall), syscall, sizeof(syscall)));
}
