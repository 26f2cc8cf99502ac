/* SPDX-License-Identifier: MIT */
/* Threads, code and locks of Windows for tests that know the runtime's types, which Windows has,
 * too. */
#ifndef DNP_TEST_WIN_THREADS_H
#define DNP_TEST_WIN_THREADS_H

#include <stddef.h>
#include <stdint.h>

/* Never NULL. */
void *win_thread_new(void (*run)(void *context), void *context);
/* Waits for its end, and forgets it. */
void win_thread_join(void *thread);
/* The same, but it is kept, and can be asked about still. */
void win_thread_wait(void *thread);
/* How often somebody has suspended it. */
unsigned win_thread_suspensions(void *thread);
/* As often as it can be: it stands, and nobody can suspend it any more. */
void win_thread_suspend_fully(void *thread);
_Noreturn void win_sleep_for_ever(void);

/* Memory for code. */
uint8_t *win_code_new(size_t bytes);

/* The lock of the process's heap, and that of the loader, in the calling thread. */
void win_heap_lock(void);
void win_heap_unlock(void);
uintptr_t win_loader_lock(void);
void win_loader_unlock(uintptr_t cookie);

/* Where code of the system is. */
uintptr_t win_ntdll(void);

#endif
