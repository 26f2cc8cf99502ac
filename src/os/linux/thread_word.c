/* SPDX-License-Identifier: MIT */
#include "os/thread_word.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

/* Of what describes a thread, behind the thread pointer: 2,304 bytes in glibc 2.27 to 2.40. */
#define SEARCHED 2048

ptrdiff_t dnp_thread_word;
void *dnp_thread_no_word;

static pthread_key_t key;
static bool has_key;

/* Whether the word there is the key's, whatever it is set to. */
static bool is_place(void *const volatile *place)
{
	static char marks[2];

	for (int i = 0; i < 2; i++)
		if (pthread_setspecific(key, &marks[i]) || *place != &marks[i])
			return false;
	return !pthread_setspecific(key, NULL) && !*place;
}

int dnp_thread_word_open(void)
{
	if (dnp_thread_word)
		return 0;
	if (!has_key && pthread_key_create(&key, NULL))
		return -EAGAIN;
	has_key = true;
	for (ptrdiff_t at = sizeof(void *); at < SEARCHED; at += (ptrdiff_t)sizeof(void *)) {
		if (!is_place((void *const *)(void *)(dnp_thread_pointer() + at)))
			continue;
		dnp_thread_word = at;
		return 0;
	}
	pthread_setspecific(key, NULL);
	return -ENOTSUP;
}

int dnp_thread_word_set(void *value)
{
	return -pthread_setspecific(key, value);
}
