/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <windows.h>

_Static_assert(
	sizeof(pthread_mutex_t) == sizeof(SRWLOCK) && sizeof(pthread_once_t) == sizeof(INIT_ONCE),
	"a lock is what Windows has");

static SRWLOCK *lock_of(pthread_mutex_t *mutex)
{
	return (SRWLOCK *)(void *)mutex;
}

int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
{
	(void)attributes;
	InitializeSRWLock(lock_of(mutex));
	return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	(void)mutex;
	return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	AcquireSRWLockExclusive(lock_of(mutex));
	return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	ReleaseSRWLockExclusive(lock_of(mutex));
	return 0;
}

int sched_yield(void)
{
	SwitchToThread();
	return 0;
}

struct call {
	void (*run)(void);
};

static BOOL CALLBACK run_once(INIT_ONCE *once, void *context, void **result)
{
	const struct call *call = context;

	(void)once;
	(void)result;
	call->run();
	return TRUE;
}

int pthread_once(pthread_once_t *once, void (*run)(void))
{
	struct call call = {run};

	InitOnceExecuteOnce((INIT_ONCE *)(void *)once, run_once, &call, NULL);
	return 0;
}

int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
	(void)destroy;
	*key = TlsAlloc();
	return *key == TLS_OUT_OF_INDEXES ? EAGAIN : 0;
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
	return TlsSetValue(key, (void *)(uintptr_t)value) ? 0 : ENOMEM;
}

/* Finding something is a success, of which Windows tells; but the last error is the program's. */
void *pthread_getspecific(pthread_key_t key)
{
	DWORD last = GetLastError();
	void *value = TlsGetValue(key);

	SetLastError(last);
	return value;
}
