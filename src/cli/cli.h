/* SPDX-License-Identifier: MIT */
/*
 * What the commands share: their table, their options, how they speak and how they end.
 *
 * A command is an entry of format/options.def and a function dnp_cmd_NAME in cli/NAME.c. It gets
 * its options parsed and the words that are left; it returns an exit status. Only this layer
 * prints.
 */
#ifndef DNP_CLI_CLI_H
#define DNP_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum dnp_exit {
	DNP_EXIT_DONE = 0,
	DNP_EXIT_FAILED = 1,     /* a line on stderr says what, why and what to do */
	DNP_EXIT_USAGE = 2,      /* wrong options */
	DNP_EXIT_INCOMPLETE = 3, /* done, but something is missing; a line says what */
};

/* DNP_OPT(run, output): the index of an option in struct dnp_values. */
#define DNP_OPT(command, name) DNP_OPT_##command##_##name

#define DNP_COMMAND(name, usage, summary, description)                                             \
	enum dnp_opt_##name                                                                        \
	{
#define DNP_OPTION(command, name, letter, argument, initial, help) DNP_OPT(command, name),
#define DNP_COMMAND_END(name)                                                                      \
	DNP_OPT_##name##_COUNT                                                                     \
	}                                                                                          \
	;
#include "format/options.def"

#define DNP_VALUES_MAX 32

#define DNP_VALUES_EACH 64

/* What the command line gave. */
struct dnp_values {
	const struct dnp_command *command; /* static */
	/*
	 * Borrowed; the default where not given; flags: NULL. Of lists that were given several
	 * times all, joined by commas; of others the last.
	 */
	const char *text[DNP_VALUES_MAX];
	char *joined[DNP_VALUES_MAX];   /* owned; NULL: it was not given several times */
	unsigned given[DNP_VALUES_MAX]; /* how often */
	/* Each value that was given, in their order: for options of which all count. */
	struct dnp_value {
		size_t option;
		const char *text; /* borrowed */
	} each[DNP_VALUES_EACH];
	size_t each_count;
};

#define DNP_OPTION_NAME 32

struct dnp_option {
	const char *name; /* as in options.def, with _ */
	int letter;       /* 0: none */
	const char *argument;
	const char *initial;
	const char *help;
};

struct dnp_example {
	const char *line;
	const char *what;
};

/* One command. Lists end with an entry whose first field is NULL. All static. */
struct dnp_command {
	const char *name;
	int (*run)(const struct dnp_values *values, int argc, char **argv);
	const char *usage, *summary, *description;
	const struct dnp_option *options;
	const struct dnp_example *examples;
};

extern const struct dnp_command dnp_commands[];

const struct dnp_command *dnp_command_find(const char *name);

/* The command whose name is nearest to a mistyped one, NULL: none is near. */
const struct dnp_command *dnp_command_suggest(const char *name);

/*
 * Parses argv[1…argc-1] into *values. Returns the index of the first word that is no option (all
 * behind it are none either), or -1 after it printed what is wrong, or what --help asked for:
 * *status is then the exit status.
 */
int dnp_values_parse(const struct dnp_command *command, struct dnp_values *values, int argc,
	char **argv, int *status);

/* Frees what it holds, also after it failed. */
void dnp_values_done(struct dnp_values *values);

/*
 * An option's text, and how often it was given, by its name in options.def: for what several
 * commands share. Not given, and NULL, where the command has no such option.
 */
const char *dnp_value(const struct dnp_values *values, const char *name);
unsigned dnp_given(const struct dnp_values *values, const char *name);

void dnp_help_print(const struct dnp_command *command);

/* The name as users write it: with - for _, without the leading dashes. */
void dnp_option_long(const struct dnp_option *option, char out[DNP_OPTION_NAME]);

/* "dnprof: …" and a new line, to stderr. */
void dnp_say(const char *format, ...) __attribute__((format(__printf__, 1, 2)));

/* Wrong usage: says it, names the help, returns DNP_EXIT_USAGE. */
int dnp_usage(const char *command, const char *format, ...)
	__attribute__((format(__printf__, 2, 3)));

/* Which of the words, ended by NULL, an option's text is; -1 after saying that it is none. */
int dnp_choose(
	const char *command, const char *option, const char *text, const char *const words[]);

/* Says what err tells; returns DNP_EXIT_FAILED. */
int dnp_failed(const struct dnp_err *err);

/* The one word of a command that is about one process: its id. An exit status. */
int dnp_take_pid(const char *command, int argc, char **argv, pid_t *pid);

/* The option --timeout. An exit status. */
int dnp_take_timeout(const struct dnp_values *values, uint64_t *ns);

/* Values of options; false: not one. */
bool dnp_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *value);
bool dnp_parse_seconds(const char *text, uint64_t *ns);  /* 10, 0.5, 10ms, 500us, 2m */
bool dnp_parse_interval(const char *text, uint64_t *ns); /* the same, but a unit must stand */
bool dnp_parse_bytes(const char *text, uint64_t *bytes); /* 4096, 512k, 1.5m, 2g: times 1,024 */
bool dnp_parse_hz(const char *text, uint64_t *ns);       /* 199, 0.5: the time between two */

#define DNP_COMMAND(name, usage, summary, description)                                             \
	int dnp_cmd_##name(const struct dnp_values *values, int argc, char **argv);
#include "format/options.def"

#endif
