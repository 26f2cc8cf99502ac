/* SPDX-License-Identifier: MIT */
/*
 * Where the result goes, and the private folder beside it that holds what is not finished.
 *
 * Nothing is ever written through a link or into a file that stood there before: the result is made
 * in the private folder (0700) as a new file (0600) and renamed to its place, which replaces what
 * had the name.
 */
#ifndef DNP_LAUNCH_OUTPUT_H
#define DNP_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* What a recording is called in the private folder. */
#define DNP_OUTPUT_RECORDING "recording.dnp"

/* What its own name begins with. */
#define DNP_OUTPUT_WORK ".dnprof-"

struct dnp_output {
	char *pattern; /* owned; the file's name, with %p and %t */
	char *folder;  /* owned; absolute, without a slash at its end but a root's */
	char *path;    /* owned; the result's place once the process id is known, NULL before */
	char *work;    /* owned; the private folder, NULL: removed */
	char *log;     /* owned; absolute: another file that is written, NULL: none */
	bool timed;    /* the name has the time in it: nothing that has the same is replaced */
	int pid;       /* … for which it was made */
};

/*
 * Takes apart `pattern` (%p: process id, %t: date and time, %%: a percent sign; %p only in the
 * file's name), and makes the private folder, which proves that the place can be written. 0 or
 * -errno.
 */
int dnp_output_open(struct dnp_output *output, const char *pattern, struct dnp_err *err);

/*
 * A log of calls is written to that file when all is recorded: dnp_output_name refuses it for the
 * result, and no recording lies there meanwhile. 0 or -errno.
 */
int dnp_output_log(struct dnp_output *output, const char *path, struct dnp_err *err);

/*
 * Fills output->path. With the time in it the name is the first of its second that no file has
 * (20261129-213538.2), so nothing made a moment ago is replaced. 0, or -errno when something other
 * than a plain file has that name, or it is the log's.
 */
int dnp_output_name(struct dnp_output *output, pid_t pid, struct dnp_err *err);

/* A path in the private folder; owned by the caller, NULL: no memory. */
char *dnp_output_work(const struct dnp_output *output, const char *name);

/* Gives a file of the private folder its place. 0 or -errno. */
int dnp_output_place(
	const struct dnp_output *output, const char *from, const char *to, struct dnp_err *err);

/*
 * Makes the file of a recording in the private folder, open for reading and writing. *path, owned
 * by the caller: where it is. Returns the descriptor, which is none of 0 to 2, or -errno.
 */
int dnp_output_make_recording(const struct dnp_output *output, char **path, struct dnp_err *err);

/*
 * Gives it a place that outlasts this process: the result's (`raw`), or beside it as RESULT.dnp.
 * Nobody has asked for that name: where something has it, perhaps a recording that was kept when
 * its result could not be written, it is RESULT.2.dnp, and so on. *path is set to the place. 0 or
 * -errno.
 */
int dnp_output_place_recording(
	struct dnp_output *output, bool raw, char **path, struct dnp_err *err);

/* Whether a recording of that path is one that has no place yet. */
bool dnp_output_is_unplaced(const char *path);

/* Removes the private folder with all in it. */
void dnp_output_clean(struct dnp_output *output);

/*
 * Leaves it to the user instead, for what is in it has found no other place. Its path, owned by the
 * caller.
 */
char *dnp_output_leave(struct dnp_output *output);

/* Removes it, if it is there, and frees *output. */
void dnp_output_done(struct dnp_output *output);

#endif
