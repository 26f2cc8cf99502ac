/* SPDX-License-Identifier: MIT */
/*
 * print-options man COMMAND | usage COMMAND | examples COMMAND | commands | bash
 *
 * Prints parts of the documents from format/options.def; tools/update-docs puts them in place.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct option {
	const char *name;
	int letter;
	const char *argument, *initial, *help;
};

struct example {
	const char *line, *what;
};

struct command {
	const char *name, *usage, *summary, *description;
	struct option options[32];
};

static const struct command commands[] = {
#define DNP_COMMAND(name, usage, summary, description)                                             \
	{                                                                                          \
#name, usage, summary, description,                                                \
		{
#define DNP_OPTION(command, name, letter, argument, initial, help)                                 \
	{#name, letter, argument, initial, help},
#define DNP_COMMAND_END(name)                                                                      \
	{NULL, 0, NULL, NULL, NULL},                                                               \
	}                                                                                          \
	}                                                                                          \
	,
#include "format/options.def"
	{0},
};

static const struct {
	const char *command;
	struct example example;
} examples[] = {
#define DNP_EXAMPLE(command, line, what) {#command, {line, what}},
#include "format/options.def"
};

static const char *dashed(const char *name)
{
	static char out[64];

	snprintf(out, sizeof(out), "%s", name);
	for (char *p = out; *p; p++)
		*p = *p == '_' ? '-' : *p;
	return out;
}

/* Text for troff: what it would take as its own is escaped. */
static void put_troff(const char *text)
{
	for (; *text; text++) {
		if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '\'')
			fputs("\\(aq", stdout);
		else if (!strncmp(text, "…", 3))
			fputs("...", stdout), text += 2;
		else
			putchar(*text);
	}
}

static void man_option(const struct option *o)
{
	puts(".TP");
	fputs(".B ", stdout);
	if (o->letter)
		printf("\\-%c, ", o->letter);
	fputs("\\-\\-", stdout);
	put_troff(dashed(o->name));
	if (o->argument) {
		fputs(" \\fI", stdout);
		put_troff(o->argument);
		fputs("\\fP", stdout);
	}
	putchar('\n');
	put_troff(o->help);
	if (o->initial) {
		fputs("\n(default: ", stdout);
		put_troff(o->initial);
		putchar(')');
	}
	puts(".");
}

static void man(const struct command *c)
{
	static const struct option help = {"help", 'h', NULL, NULL, "prints the options"};

	for (const struct option *o = c->options; o->name; o++)
		man_option(o);
	man_option(&help);
}

static void man_usage(const struct command *c)
{
	printf(".SH SYNOPSIS\n.B dnprof %s\n", c->name);
	put_troff(c->usage);
	puts("\n.SH DESCRIPTION");
	put_troff(c->description);
	putchar('\n');
}

static void man_examples(const struct command *c)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		if (strcmp(examples[i].command, c->name))
			continue;
		puts(".TP");
		fputs(".B ", stdout);
		put_troff(examples[i].example.line);
		putchar('\n');
		put_troff(examples[i].example.what);
		puts(".");
	}
}

static void man_commands(void)
{
	for (const struct command *c = commands; c->name; c++) {
		printf(".TP\n.B %s\n", c->name);
		put_troff(c->summary);
		puts(".");
	}
}

static void bash(void)
{
	printf("\tlocal commands=\"");
	for (const struct command *c = commands; c->name; c++)
		printf("%s%s", c == commands ? "" : " ", c->name);
	puts("\"\n\tlocal -A options=(");
	for (const struct command *c = commands; c->name; c++) {
		printf("\t\t[%s]=\"-h --help", c->name);
		for (const struct option *o = c->options; o->name; o++) {
			if (o->letter)
				printf(" -%c", o->letter);
			printf(" --%s", dashed(o->name));
		}
		puts("\"");
	}
	puts("\t)\n\tlocal -A arguments=(");
	for (const struct command *c = commands; c->name; c++) {
		printf("\t\t[%s]=\"", c->name);
		for (const struct option *o = c->options; o->name; o++) {
			if (o->argument && o->letter)
				printf(" -%c=%s", o->letter, o->argument);
			if (o->argument)
				printf(" --%s=%s", dashed(o->name), o->argument);
		}
		puts(" \"");
	}
	puts("\t)");
}

static void man_capability(const char *name, const char *title, const char *where, bool needed)
{
	const char *goes = needed ? "nothing goes without" : "";

	printf(".TP\n.B %s\n%s", name, title);
	if (*where || needed)
		printf(" (%s%s%s)", where, *where && needed ? ", " : "", goes);
	puts(".");
}

/* What dnprof doctor looks at. */
static void man_capabilities(void)
{
#define DNP_CAPABILITY(name, title, whose, needed) man_capability(#name, title, "", needed);
#define DNP_LINUX_CAPABILITY(name, title, whose, needed)                                           \
	man_capability(#name, title, "Linux", needed);
#define DNP_WINDOWS_CAPABILITY(name, title, whose, needed)                                         \
	man_capability(#name, title, "Windows", needed);
#include "launch/capabilities.def"
}

static int print(const char *what, const struct command *c)
{
	if (!strcmp(what, "man") && c)
		man(c);
	else if (!strcmp(what, "usage") && c)
		man_usage(c);
	else if (!strcmp(what, "examples") && c)
		man_examples(c);
	else if (!strcmp(what, "commands"))
		man_commands();
	else if (!strcmp(what, "capabilities"))
		man_capabilities();
	else if (!strcmp(what, "bash"))
		bash();
	else
		return 2;
	return 0;
}

int main(int argc, char **argv)
{
	const struct command *c = NULL;

	for (const struct command *p = commands; argc > 2 && p->name; p++) {
		if (!strcmp(p->name, argv[2]))
			c = p;
	}
	return argc > 1 ? print(argv[1], c) : 2;
}
