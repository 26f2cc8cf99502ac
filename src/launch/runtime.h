/* SPDX-License-Identifier: MIT */
/*
 * What there is of .NET in a process, seen from outside by its files and the names of its threads:
 * it is not asked, nor does it notice. Names of threads may be read by all users, the rest by who
 * may debug it (ptrace(2), PTRACE_MODE_READ).
 */
#ifndef DNP_LAUNCH_RUNTIME_H
#define DNP_LAUNCH_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct dnp_runtime {
	bool found;    /* CoreCLR is in it */
	bool readable; /* what it has mapped could be read; else the fields below are empty */
	char version[32];
	char libc[48];  /* "glibc 2.36", "musl" */
	char *library;  /* owned: the file with the runtime, a path as the process sees it */
	char *agent;    /* owned: that of our agent, NULL: not loaded */
	char *profiler; /* owned: that of another profiler, NULL: none is loaded */
};

/* 0, or -ENOMEM, -ESRCH. */
int dnp_runtime_look(struct dnp_runtime *runtime, pid_t pid);
void dnp_runtime_done(struct dnp_runtime *runtime);

/*
 * The version as people know it of the number in a runtime's file: 10.0.12 of 10.0.1226.42308 (two
 * digits of patch, two of the year). A number of another form is taken as it is.
 */
void dnp_runtime_version(const char *number, char out[32]);

/* The version that the folder of a shared runtime is named after; false: it is not named so. */
bool dnp_runtime_folder_version(const char *library, char out[32]);

#endif
