/* SPDX-License-Identifier: MIT */
/* What becomes of a recording that has ended: whichever command made it, it ends here. */
#ifndef DNP_CLI_RESULT_H
#define DNP_CLI_RESULT_H

#include "cli/choice.h"
#include "launch/session_file.h"

struct dnp_result {
	const struct dnp_choice *choice; /* borrowed, as all that follows */
	const char *recording;           /* where it lies */
	const char *path;                /* where the result goes: the same, if that is it */
	const char *root;                /* the root of the files that the program sees; "": ours */
	const char *failure; /* what its agent says went wrong; NULL or empty: nothing */
	bool finished;       /* it has been, by dnp_result_finish_of_process */
	uint64_t elapsed_ns; /* of the program, or as far as it was recorded; 0: as recorded */

	struct dnp_profile profile;
	struct dnp_sink_memory goes; /* names of what was recorded, and is not in what is written */
	bool only_switches;          /* were recorded, and what is written shows none */
	bool used_up;                /* what was asked for is written: the recording itself goes */
};

/*
 * Adds to the recording what only this machine knows, writes what the choice asks for, says what
 * came of it and what is missing. An exit status.
 */
int dnp_result_make(struct dnp_result *result);

/*
 * The same for a recording of a process that still runs: names are looked up as that sees its
 * files. A recording that is the result itself stays where it is.
 */
int dnp_result_of_process(struct dnp_result *result, pid_t pid);

/*
 * Says what of the processes that a program has started may be missing: `refused` found no place in
 * the session. That, as an exit status, where `status` is none yet.
 */
int dnp_result_of_children(const struct dnp_session_sum *sum, unsigned refused, int status);

/* Adds to a recording what only this machine knows, and packs it. */
void dnp_result_finish_of_process(pid_t pid, const char *recording);

/* After a second ctrl-C: says that what is there is kept as it is. An exit status. */
int dnp_result_leave(const struct dnp_result *result);

/*
 * What was recorded is not lost when it cannot be put into its place: says why it cannot, and in
 * which folder it is (which is taken over; NULL: none). An exit status.
 */
int dnp_result_unplaced(const struct dnp_err *err, char *folder);

/* Whether anything of a recording lies there. */
bool dnp_result_exists(const char *recording);

#endif
