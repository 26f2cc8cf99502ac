/* SPDX-License-Identifier: MIT */
/* Text as Windows wants it, UTF-16, and as all else here has it, UTF-8. Owned by the caller. */
#ifndef DNP_OS_WINDOWS_WIDE_H
#define DNP_OS_WINDOWS_WIDE_H

#include <stddef.h>
#include <wchar.h>

/* NULL and errno: ENOMEM, or EILSEQ where it is no UTF-8. */
wchar_t *dnp_wide(const char *text);

/*
 * The same of a file's name, which may have more than the 260 letters of the oldest functions: a
 * long one is made absolute, and has \\?\ before it.
 */
wchar_t *dnp_wide_path(const char *name);

/* NULL: no memory. What is no UTF-16 becomes U+FFFD. */
char *dnp_narrow(const wchar_t *text);

/*
 * The file's own name, where links stand for it, in place; as it was where that cannot be known.
 * Returns it.
 */
wchar_t *dnp_wide_final(wchar_t *path, size_t units);

#endif
