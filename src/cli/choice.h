/* SPDX-License-Identifier: MIT */
/*
 * What is recorded, and what is made of it: what the commands that make recordings, or get them,
 * understand by their options. A command has those of them that have a meaning for it.
 */
#ifndef DNP_CLI_CHOICE_H
#define DNP_CLI_CHOICE_H

#include "cli/cli.h"
#include "cli/words.h"
#include "export/export.h"
#include "format/agent_options.h"

struct dnp_choice {
	const struct dnp_values *values; /* borrowed */
	const char *command;             /* its name, borrowed */

	struct dnp_agent_options agent; /* how it is recorded, not where to */
	bool samples, trace, switches;  /* what is recorded: time at a rate, calls, switches */
	bool stacks;                    /* something that has some is */
	bool framework;                 /* of .NET's own methods, too */
	uint64_t duration_ns;           /* 0: to the end */

	const char *output;                  /* pattern of the result's name; NULL: not asked for */
	const struct dnp_exporter *exporter; /* of the result; NULL: it is the recording itself */
	enum dnp_native native;
	struct dnp_words include, exclude;
	bool log;            /* the traced calls are written to dnp_choice_log_path, too */
	bool quiet, verbose; /* only failures are told; also what is done */
	bool tells;          /* what was written, also where no terminal shows it */
};

/* Fills *choice from the command line; an exit status, after saying what is wrong. */
int dnp_choice_parse(struct dnp_choice *choice, const struct dnp_values *values);
void dnp_choice_done(struct dnp_choice *choice);

/* Whether --engine snapshot stops the whole program for each sample. By system. */
extern const bool dnp_choice_snapshot_stops;

/* Whether -e switch tells why threads wait, with stacks (--wait). By system. */
extern const bool dnp_choice_tells_waits;

/*
 * What the system has of it: whether the options of a command that records are there at all; and,
 * once they are read, whether that can be recorded, and how where nobody said. Exit statuses, after
 * saying why not.
 */
int dnp_choice_before(const struct dnp_choice *choice);
int dnp_choice_suit(struct dnp_choice *choice);

/* Where --log goes. */
const char *dnp_choice_log_path(void);

/*
 * Says which patterns of --include matched nothing, and what is called much like them, or that no
 * call was recorded at all. Whether it is so.
 */
bool dnp_choice_missed(const struct dnp_choice *choice, const struct dnp_input *input,
	const struct dnp_profile *profile);

#endif
