/* SPDX-License-Identifier: MIT */
/*
 * The locks of POSIX, as far as the portable layers use them, in the words of Windows. Included in
 * place of a header that the C library there has not.
 */
#ifndef DNP_OS_WINDOWS_PTHREAD_H
#define DNP_OS_WINDOWS_PTHREAD_H

typedef struct {
	void *lock; /* an SRWLOCK; windows.h and clr/com.h do not go together */
} pthread_mutex_t;

typedef struct {
	void *once; /* an INIT_ONCE */
} pthread_once_t;

#define PTHREAD_MUTEX_INITIALIZER                                                                  \
	{                                                                                          \
		0                                                                                  \
	}
#define PTHREAD_ONCE_INIT                                                                          \
	{                                                                                          \
		0                                                                                  \
	}

/* All return 0; attributes are NULL. */
int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_once(pthread_once_t *once, void (*run)(void));

#endif
