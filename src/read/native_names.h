/* SPDX-License-Identifier: MIT */
/*
 * Names of functions that a recording has by their places in files: each system has its own kind of
 * files, and its own way to read them where they may have been made to do harm.
 */
#ifndef DNP_READ_NATIVE_NAMES_H
#define DNP_READ_NATIVE_NAMES_H

#include <stdbool.h>

#include "read/recording.h"

#define DNP_NAME_BYTES (64u << 10) /* a longer one nobody could read */

/* A function without a name yet. */
struct dnp_wanted {
	uint64_t module; /* the recording's index */
	uint64_t function;
	bool kernel;
};

/* Functions of one module. All pointers are borrowed. */
struct dnp_wanted_names {
	const struct dnp_recording *recording;
	const char *root;                    /* before the paths of files */
	const struct dnp_rec_module *module; /* NULL: the recording does not say which one it is */
	const struct dnp_wanted *wanted;     /* by function */
	size_t n;
	int (*found)(void *arg, const struct dnp_wanted *wanted, struct dnp_str name);
	void *arg;
};

/*
 * Calls `found`, in their order, for those that have a name of DNP_NAME_BYTES at most. What `found`
 * returns if that is not 0, -ENOMEM, or another -errno: they cannot be looked up here.
 */
int dnp_native_names(const struct dnp_wanted_names *names);

#endif
