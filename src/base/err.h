/* SPDX-License-Identifier: MIT */
/*
 * Errors that have something to tell.
 *
 * Functions return 0 or -errno. One that can explain itself takes a `struct dnp_err *` last and
 * fills it with a sentence of the form "what happened: why; what to do", without a prefix and
 * without a full stop. Only cli/ and agent/ print it. A NULL error is allowed everywhere.
 *
 * Thread safety: an error belongs to its caller. Not for signal handlers (it formats).
 */
#ifndef DNP_BASE_ERR_H
#define DNP_BASE_ERR_H

struct dnp_err {
	int code; /* -errno, 0: no error */
	char text[512];
};

/* Fills err (when not NULL) and returns code, so that callers can write `return dnp_err(...)`. */
int dnp_err(struct dnp_err *err, int code, const char *format, ...)
	__attribute__((format(__printf__, 3, 4)));

#endif
