/* SPDX-License-Identifier: MIT */
/* The shared library that this code is in, and others. Any thread; not for handlers. */
#ifndef DNP_OS_LIBRARY_H
#define DNP_OS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* From now on it is not unloaded by who closes it. 0, or -ENOENT: it is no library. */
int dnp_library_keep(void);

/* How names of libraries begin here, as in libcoreclr.so, and what comes behind them. */
extern const char dnp_library_prefix[], dnp_library_suffix[];

/* Loads a library; NULL: it cannot be. Pair: dnp_library_close. */
void *dnp_library_open(const char *path);
void dnp_library_close(void *library);

/* What it exports by that name; NULL: nothing. */
void *dnp_library_function(void *library, const char *symbol);

/* Why the last of these did not go well on the calling thread; good until its next call. */
const char *dnp_library_error(void);

/* What a library that is loaded, "coreclr", exports by that name; NULL: nothing. */
void *dnp_library_symbol(const char *library, const char *symbol);

/*
 * Calls `tell` with what each other library that is loaded from a file of this one's name, in
 * another folder, exports as `symbol`; it is not unloaded meanwhile.
 */
void dnp_library_twins(
	const char *symbol, void (*tell)(void *exported, void *context), void *context);

/* Whether the runtime's exceptions go through what native libraries have on the stack. */
extern const bool dnp_library_lets_through;

/* What this system writes between the parts of a path. */
extern const char dnp_path_slash;

/* Where the last part of a path begins. */
size_t dnp_path_base_at(const char *path, size_t n);

static inline const char *dnp_path_base(const char *path)
{
	return path + dnp_path_base_at(path, strlen(path));
}

/* Whether two whole paths, of files that need not be there, are one: in any case on Windows. */
bool dnp_path_same(const char *left, const char *right);

#endif
