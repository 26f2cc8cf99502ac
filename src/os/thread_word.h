/* SPDX-License-Identifier: MIT */
/*
 * One word for each thread of the process, NULL at first, that code in assembly reads in two
 * instructions: at `dnp_thread_word` from the thread pointer.
 *
 * On Windows it is a slot of TlsAlloc (os/windows/thread_word.c).
 *
 * On Linux it is the place of a pthread key in the C library's own description of a thread, found
 * by trying. A variable of ours in thread-local storage would do the same. But a library that has
 * any gives each thread of the process a new list of such storage when it comes and when it goes,
 * and that cannot be done safely in programs whose signal handlers have some, too, as those of the
 * runtime do: glibc for x86-64 (__tls_get_addr_slow of 2.36 to 2.39 at least) then gives a thread
 * new, empty storage, and the runtime does not know its own thread any more.
 */
#ifndef DNP_OS_THREAD_WORD_H
#define DNP_OS_THREAD_WORD_H

#include <stddef.h>

#include "os/x86_64/thread_pointer.h"

/* ELF has it that variables of a library may be others' instead; PE has not. */
#ifdef _WIN32
#define DNP_OUR_OWN
#else
#define DNP_OUR_OWN __attribute__((visibility("hidden")))
#endif

/* 0: not found yet. */
extern ptrdiff_t dnp_thread_word DNP_OUR_OWN;

/* What threads have where it was not found; nobody writes to it. */
extern void *dnp_thread_no_word DNP_OUR_OWN;

/* Finds it; once is enough. 0 or -errno (ENOTSUP: there is no such word). */
int dnp_thread_word_open(void);

/* The calling thread's. Any thread, in handlers, too. */
static inline void **dnp_thread_word_place(void)
{
	return dnp_thread_word ? (void **)(void *)(dnp_thread_pointer() + dnp_thread_word)
			       : &dnp_thread_no_word;
}

/* Sets the calling thread's; a new thread has none. Not for handlers. */
int dnp_thread_word_set(void *value);

#endif
