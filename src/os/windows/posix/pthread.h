/* SPDX-License-Identifier: MIT */
/*
 * The locks and what threads keep for themselves of POSIX, as far as the portable layers use them,
 * in the words of Windows. Included in place of a header that the C library there has not.
 */
#ifndef DNP_OS_WINDOWS_PTHREAD_H
#define DNP_OS_WINDOWS_PTHREAD_H

typedef struct {
	void *lock; /* an SRWLOCK; windows.h and clr/com.h do not go together */
} pthread_mutex_t;

typedef struct {
	void *once; /* an INIT_ONCE */
} pthread_once_t;

typedef unsigned long pthread_key_t; /* of a thread's own storage */

#define PTHREAD_MUTEX_INITIALIZER                                                                  \
	{                                                                                          \
		0                                                                                  \
	}
#define PTHREAD_ONCE_INIT                                                                          \
	{                                                                                          \
		0                                                                                  \
	}

/* Attributes are NULL; locks return 0. */
int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_once(pthread_once_t *once, void (*run)(void));

/* Nothing is called when a thread ends: `destroy` is NULL. 0 or an errno. */
int pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
int pthread_setspecific(pthread_key_t key, const void *value);
void *pthread_getspecific(pthread_key_t key);

#endif
