/* SPDX-License-Identifier: MIT */
/* `--help` of a command, and what may have been meant by a mistyped one. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define COLUMNS     80
#define HELP_COLUMN 27

/*
 * Prints text from column `at` on, broken at blanks so that it stays between indent and COLUMNS;
 * returns where it ends.
 */
static size_t print_wrapped(const char *text, size_t indent, size_t at)
{
	while (*text) {
		size_t word = strcspn(text, " ");

		if (at > indent && at + 1 + word > COLUMNS) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			printf(" ");
			at++;
		}
		printf("%.*s", (int)word, text);
		at += word;
		text += word;
		text += strspn(text, " ");
	}
	return at;
}

static void print_option(const struct dnp_option *option)
{
	char name[DNP_OPTION_NAME], letter[] = "    ", initial[64] = "";
	const char *argument = option->argument ? option->argument : "";
	int width;

	dnp_option_long(option, name);
	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	width = printf("  %s--%s%s%s", letter, name, *argument ? " " : "", argument);
	if (width >= HELP_COLUMN - 1) {
		printf("\n");
		width = 0;
	}
	printf("%*s", HELP_COLUMN - width, "");
	if (option->initial)
		snprintf(initial, sizeof(initial), "(default: %s)", option->initial);
	print_wrapped(initial, HELP_COLUMN, print_wrapped(option->help, HELP_COLUMN, HELP_COLUMN));
	printf("\n");
}

void dnp_help_print(const struct dnp_command *command)
{
	static const struct dnp_option help = {"help", 'h', NULL, NULL, "this text"};

	printf("Usage: dnprof %s %s\n\n", command->name, command->usage);
	print_wrapped(command->description, 0, 0);
	printf("\n\nOptions:\n");
	for (const struct dnp_option *o = command->options; o->name; o++)
		print_option(o);
	print_option(&help);
	printf("\nExamples:\n");
	for (const struct dnp_example *e = command->examples; e->line; e++)
		printf("  %s\n      %s\n", e->line, e->what);
}

/* Levenshtein distance, at most 32 bytes a word; longer words are far. */
static size_t distance(const char *a, const char *b)
{
	size_t row[33], na = strlen(a), nb = strlen(b);

	if (na > 32 || nb > 32)
		return 32;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);
			size_t less = row[j - 1] < row[j] ? row[j - 1] + 1 : row[j] + 1;

			diagonal = row[j];
			row[j] = change < less ? change : less;
		}
	}
	return row[nb];
}

const struct dnp_command *dnp_command_suggest(const char *name)
{
	const struct dnp_command *best = NULL;
	size_t least = strlen(name) / 2 < 3 ? strlen(name) / 2 + 1 : 4;

	for (const struct dnp_command *c = dnp_commands; c->name; c++) {
		size_t d = distance(name, c->name);

		if (d < least) {
			least = d;
			best = c;
		}
	}
	return best;
}
