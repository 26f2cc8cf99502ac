/* SPDX-License-Identifier: MIT */
#ifndef DNP_OS_X86_64_THREAD_POINTER_H
#define DNP_OS_X86_64_THREAD_POINTER_H

/* What the system's library knows the calling thread by; the same for all of its life. */
static inline char *dnp_thread_pointer(void)
{
	char *pointer;

#ifdef _WIN32
	__asm__("mov %%gs:0x30, %0" : "=r"(pointer)); /* NT_TIB.Self */
#else
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
#endif
	return pointer;
}

#endif
