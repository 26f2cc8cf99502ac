/* SPDX-License-Identifier: MIT */
/*
 * What glibc has and the C library of Windows has not: functions of strings and memory that the
 * portable layers call, as glibc documents them. Included by every source on the command line.
 */
#ifndef DNP_OS_WINDOWS_LIBC_H
#define DNP_OS_WINDOWS_LIBC_H

#ifndef __ASSEMBLER__
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* printf and its kin are those of C99 here, not Microsoft's: the compiler checks formats as such.
 */
#undef __printf__
#define __printf__ __gnu_printf__

/* Those of the header narrow what they are asked about, of which the compiler warns. */
#undef isnan
#undef isinf
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)

/* Errors that the C library has no numbers for, behind those that it has. */
#define EBADE     201
#define ELIBBAD   202
#define ESHUTDOWN 203

void *memmem(const void *in, size_t n, const void *what, size_t n_what);
void *memrchr(const void *in, int byte, size_t n);
void *reallocarray(void *old, size_t count, size_t bytes);
char *strndup(const char *text, size_t n);

/* Of one thread at a time. */
struct tm;
struct tm *localtime_r(const long long *seconds, struct tm *out);

/* Names may be longer than the oldest functions take. */
#undef PATH_MAX
#define PATH_MAX 4096

/* In UTF-8, as all text here; kept for ever, of each call. These are in wide.c. */
char *dnp_getenv(const char *name);
#define getenv(name) dnp_getenv(name)

/* In the process's environment, too. */
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);

#endif
#endif
