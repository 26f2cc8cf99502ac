/* SPDX-License-Identifier: MIT */
/* Messages: one line each, "dnprof: what: why; what to do". */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

__attribute__((format(__printf__, 2, 0))) static void say(
	const char *prefix, const char *format, va_list args, const char *suffix)
{
	char text[1024], line[1280];

	/* One write for the whole line: others write to the same terminal. */
	vsnprintf(text, sizeof(text), format, args);
	snprintf(line, sizeof(line), "dnprof: %s%s%s\n", prefix, text, suffix);
	fputs(line, stderr);
	fflush(stderr);
}

void dnp_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("", format, args, "");
	va_end(args);
}

int dnp_usage(const char *command, const char *format, ...)
{
	char prefix[64], suffix[64];
	va_list args;

	snprintf(prefix, sizeof(prefix), "%s: ", command);
	snprintf(suffix, sizeof(suffix), "; see 'dnprof %s --help'", command);
	va_start(args, format);
	say(prefix, format, args, suffix);
	va_end(args);
	return DNP_EXIT_USAGE;
}

int dnp_choose(const char *command, const char *option, const char *text, const char *const words[])
{
	char list[128] = "";

	for (int i = 0; words[i]; i++) {
		if (!strcmp(text, words[i]))
			return i;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			words[i]);
	}
	dnp_usage(command, "--%s %s: not one of %s", option, text, list);
	return -1;
}

int dnp_failed(const struct dnp_err *err)
{
	/* Where there is no memory there may be no words, either. */
	if (*err->text)
		dnp_say("%s", err->text);
	else
		dnp_say("cannot go on: out of memory; free some");
	return DNP_EXIT_FAILED;
}
