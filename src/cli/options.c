/* SPDX-License-Identifier: MIT */
/* What turns argv into values. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "cli/cli.h"

/* Options that have no letter are told apart by numbers above any letter. */
#define CODE_BASE 256
#define CODE_HELP (CODE_BASE + DNP_VALUES_MAX)

struct getopt_tables {
	char letters[2 * DNP_VALUES_MAX + 8];
	char names[DNP_VALUES_MAX][DNP_OPTION_NAME];
	struct option options[DNP_VALUES_MAX + 2];
};

static void make_tables(const struct dnp_command *command, struct getopt_tables *tables)
{
	char *letter = tables->letters;
	struct option *option = tables->options;

	memset(tables, 0, sizeof(*tables));
	*letter++ = '+'; /* stop at the first word: what follows COMMAND is not ours */
	*letter++ = ':'; /* we print the errors */
	for (size_t i = 0; command->options[i].name; i++) {
		const struct dnp_option *o = &command->options[i];

		dnp_option_long(o, tables->names[i]);
		*option++ = (struct option){tables->names[i],
			o->argument ? required_argument : no_argument, NULL, CODE_BASE + (int)i};
		if (o->letter) {
			*letter++ = (char)o->letter;
			if (o->argument)
				*letter++ = ':';
		}
	}
	*letter++ = 'h';
	*option = (struct option){"help", no_argument, NULL, CODE_HELP};
}

static size_t option_index(const struct dnp_command *command, int code)
{
	size_t i = 0;

	if (code >= CODE_BASE)
		return (size_t)(code - CODE_BASE);
	while (command->options[i].letter != code)
		i++;
	return i;
}

/* An option's code as getopt gives it: whether a value belongs to it. */
static bool takes_value(const struct dnp_command *command, int code)
{
	return code != CODE_HELP && command->options[option_index(command, code)].argument;
}

/*
 * What getopt did not understand, as the user wrote it. Where a value stands that does not belong
 * there, it says '?' on one system and ':' on the other.
 */
static int refuse(const struct dnp_command *command, int code, char **argv)
{
	char letter[3] = {'-', (char)optopt, '\0'};
	const char *word = optopt > 0 && optopt < CODE_BASE ? letter : argv[optind - 1];

	if (optopt >= CODE_BASE && !takes_value(command, optopt))
		return dnp_usage(command->name, "option '%s' takes no value", word);
	if (code == ':')
		return dnp_usage(command->name, "option '%s' needs a value", word);
	return dnp_usage(command->name, "unknown option '%s'", word);
}

/* Words between options are moved behind them, unless a command's own words follow (`--`, run). */
static bool ends_at_first_word(const struct dnp_command *command)
{
	return strstr(command->usage, "ARG") != NULL;
}

static bool is_list(const struct dnp_option *option)
{
	static const char *const lists[] = {"LIST", "PATTERNS", "THREADS"};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(lists); i++)
		if (!strcmp(option->argument, lists[i]))
			return true;
	return false;
}

/* An exit status. */
static int join(struct dnp_values *values, size_t i, const char *text)
{
	size_t bytes = strlen(values->text[i]) + strlen(text) + 2;
	char *joined = malloc(bytes);

	if (!joined) {
		dnp_say("cannot read the command line: out of memory; free some");
		return DNP_EXIT_FAILED;
	}
	snprintf(joined, bytes, "%s,%s", values->text[i], text);
	free(values->joined[i]);
	values->text[i] = values->joined[i] = joined;
	return DNP_EXIT_DONE;
}

/* One more value of an option. An exit status. */
static int take(struct dnp_values *values, size_t i, const char *text)
{
	const struct dnp_option *option = &values->command->options[i];

	if (values->each_count == DNP_VALUES_EACH)
		return dnp_usage(values->command->name, "too many options");
	values->each[values->each_count++] = (struct dnp_value){i, text};
	if (values->given[i] > 1 && is_list(option))
		return join(values, i, text);
	if (values->given[i] > 1 && !strcmp(option->argument, "EVENT"))
		return dnp_usage(values->command->name,
			"--%s is given twice, and one event is shown at a time; name one",
			option->name);
	values->text[i] = text;
	return DNP_EXIT_DONE;
}

void dnp_values_done(struct dnp_values *values)
{
	for (size_t i = 0; i < DNP_VALUES_MAX; i++)
		free(values->joined[i]);
}

int dnp_values_parse(const struct dnp_command *command, struct dnp_values *values, int argc,
	char **argv, int *status)
{
	struct getopt_tables tables;
	int code;

	make_tables(command, &tables);
	memset(values, 0, sizeof(*values));
	values->command = command;
	for (size_t i = 0; command->options[i].name; i++)
		values->text[i] = command->options[i].initial;
	optind = 0;
	while ((code = getopt_long(argc, argv, tables.letters + !ends_at_first_word(command),
			tables.options, NULL)) != -1) {
		size_t i;

		if (code == 'h' || code == CODE_HELP) {
			dnp_help_print(command);
			*status = DNP_EXIT_DONE;
			return -1;
		}
		if (code == '?' || code == ':') {
			*status = refuse(command, code, argv);
			return -1;
		}
		i = option_index(command, code);
		values->given[i]++;
		if (!command->options[i].argument)
			continue;
		*status = take(values, i, optarg);
		if (*status)
			return -1;
	}
	return optind;
}

/* The index of an option, -1: the command has none of that name. */
static int find_option(const struct dnp_command *command, const char *name)
{
	for (int i = 0; command->options[i].name; i++) {
		if (!strcmp(command->options[i].name, name))
			return i;
	}
	return -1;
}

const char *dnp_value(const struct dnp_values *values, const char *name)
{
	int i = find_option(values->command, name);

	return i < 0 ? NULL : values->text[i];
}

unsigned dnp_given(const struct dnp_values *values, const char *name)
{
	int i = find_option(values->command, name);

	return i < 0 ? 0 : values->given[i];
}
