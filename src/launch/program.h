/* SPDX-License-Identifier: MIT */
/* Which file a command is, and whether it is a .NET program that can be profiled. */
#ifndef DNP_LAUNCH_PROGRAM_H
#define DNP_LAUNCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum dnp_program_kind {
	DNP_PROGRAM_OTHER,     /* a script, a native program: not .NET, though it may start some */
	DNP_PROGRAM_DOTNET,    /* a host of CoreCLR: dotnet, an apphost, a single file */
	DNP_PROGRAM_NATIVEAOT, /* compiled ahead of time, no CoreCLR in it */
	DNP_PROGRAM_FOREIGN,   /* .NET perhaps, but for another processor or C library */
};

struct dnp_program {
	char *path; /* owned; what to execute */
	enum dnp_program_kind kind;
	char what[64]; /* what it is, as in "a script" */
};

/*
 * Finds `command` as the system would (PATH, unless it has a slash) and looks into the file. 0, or
 * -errno with err when there is no such file or it cannot be executed.
 */
int dnp_program_find(struct dnp_program *program, const char *command, struct dnp_err *err);
void dnp_program_done(struct dnp_program *program);

/* Fills kind and what from the bytes of its file (aligned to 8), which may be anything. */
void dnp_program_classify(struct dnp_program *program, const void *bytes, size_t n);

/*
 * Whether the bytes of a file (aligned to 8) are a library for this processor: NULL, or what they
 * are instead, as in "a 32-bit library".
 */
const char *dnp_program_not_library(const void *bytes, size_t n);

/* The same for a file, where libraries are not tried in a process of their own. */
const char *dnp_program_library(const char *path);

/* The same for a file. 0 or -errno with err. */
int dnp_program_check_library(const char *path, struct dnp_err *err);

/*
 * Whether a library has `name` among the names of its dynamic symbols: what it gives to others, or
 * wants of them. false for what cannot be read.
 */
bool dnp_program_names(const char *path, const char *name);

/*
 * Copies the text that follows `mark` in the part of a file that gets loaded, up to a blank, as
 * much of it as fits. Empty: `mark` is not there, or the file cannot be read.
 */
void dnp_program_text(const char *path, const char *mark, char *out, size_t capacity);

/* What can be profiled on this system. */
extern const char dnp_program_profiled[];

/* Whether it can be profiled by itself: 0, or -ENOEXEC and why not in err. */
int dnp_program_check(const struct dnp_program *program, struct dnp_err *err);

#endif
