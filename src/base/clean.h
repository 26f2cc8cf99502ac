/* SPDX-License-Identifier: MIT */
/*
 * Cleanup at the end of a scope, and a few macros every file wants.
 *
 * Never use auto_* in code that a siglongjmp may cross (the cleanup does not run) and never in
 * signal handlers.
 */
#ifndef DNP_BASE_CLEAN_H
#define DNP_BASE_CLEAN_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void dnp_clean_free(void *p)
{
	free(*(void **)p);
}

/* Keeps errno, so that `return -errno` after a failed call stays right. */
static inline void dnp_clean_close(const int *fd)
{
	if (*fd >= 0) {
		int saved = errno;

		close(*fd);
		errno = saved;
	}
}

static inline void dnp_clean_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define auto_free   __attribute__((cleanup(dnp_clean_free)))
#define auto_close  __attribute__((cleanup(dnp_clean_close)))
#define auto_fclose __attribute__((cleanup(dnp_clean_fclose)))

/* Hands an auto_* variable's value on; the variable no longer owns it. */
#define DNP_STEAL(p)                                                                               \
	({                                                                                         \
		__typeof__(p) stolen_ = (p);                                                       \
		(p) = NULL;                                                                        \
		stolen_;                                                                           \
	})

#define DNP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Marks a function that may run in a signal handler; tools/check-sigsafe follows its calls. */
#define SIGSAFE

/*
 * Marks a function that runs while another thread of the program stands still for us (os/stop.h).
 * That thread may hold any lock, the allocator's or one of the runtime's: what is not for handlers
 * is not for here either, and tools/check-sigsafe sees to it.
 */
#define STOPPED

#endif
