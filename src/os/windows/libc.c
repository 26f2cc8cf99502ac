/* SPDX-License-Identifier: MIT */
#include "os/windows/libc.h"

#include <errno.h>
#include <time.h>

void *memmem(const void *in, size_t n, const void *what, size_t n_what)
{
	const char *at = in, *last = at + n - n_what;
	const char *first = what;

	if (!n_what)
		return (void *)(size_t)at;
	while (n >= n_what && at <= last) {
		at = memchr(at, *first, (size_t)(last - at) + 1);
		if (!at)
			break;
		if (!memcmp(at, what, n_what))
			return (void *)(size_t)at;
		at++;
	}
	return NULL;
}

void *memrchr(const void *in, int byte, size_t n)
{
	const unsigned char *from = in;

	while (n--)
		if (from[n] == (unsigned char)byte)
			return (void *)(size_t)(from + n);
	return NULL;
}

void *reallocarray(void *old, size_t count, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, all);
}

char *strndup(const char *text, size_t n)
{
	size_t length = strnlen(text, n);
	char *copy = malloc(length + 1);

	if (copy) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

struct tm *localtime_r(const long long *seconds, struct tm *out)
{
	return _localtime64_s(out, seconds) ? NULL : out;
}
