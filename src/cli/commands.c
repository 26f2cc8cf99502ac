/* SPDX-License-Identifier: MIT */
/* The tables of format/options.def. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define DNP_COMMAND(name, usage, summary, description)                                             \
	static const struct dnp_option options_##name[] = {
#define DNP_OPTION(command, name, letter, argument, initial, help)                                 \
	{#name, letter, argument, initial, help},
#define DNP_COMMAND_END(name)                                                                      \
	{NULL, 0, NULL, NULL, NULL},                                                               \
	}                                                                                          \
	;
#include "format/options.def"

#define DNP_COMMAND(name, usage, summary, description)                                             \
	static const struct dnp_example examples_##name[] = {
#define DNP_EXAMPLE(command, line, what) {line, what},
#define DNP_COMMAND_END(name)                                                                      \
	{NULL, NULL},                                                                              \
	}                                                                                          \
	;
#include "format/options.def"

const struct dnp_command dnp_commands[] = {
#define DNP_COMMAND(name, usage, summary, description)                                             \
	{#name, dnp_cmd_##name, usage, summary, description, options_##name, examples_##name},
#include "format/options.def"
	{NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

#define DNP_COMMAND(name, usage, summary, description)                                             \
	_Static_assert((int)DNP_OPT_##name##_COUNT < DNP_VALUES_MAX, "too many options");
#include "format/options.def"

const struct dnp_command *dnp_command_find(const char *name)
{
	for (const struct dnp_command *c = dnp_commands; c->name; c++) {
		if (!strcmp(c->name, name))
			return c;
	}
	return NULL;
}

void dnp_option_long(const struct dnp_option *option, char out[DNP_OPTION_NAME])
{
	snprintf(out, DNP_OPTION_NAME, "%s", option->name);
	for (char *p = out; *p; p++)
		*p = *p == '_' ? '-' : *p;
}
