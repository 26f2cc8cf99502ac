/* SPDX-License-Identifier: MIT */
#include "os/terminal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"

/* In any case of its letters; `text` has small ones. */
static bool begins_with(const char *value, const char *text)
{
	while (*text && tolower((unsigned char)*value) == *text) {
		value++;
		text++;
	}
	return !*text;
}

static bool names_utf8(const char *value)
{
	for (; *value; value++)
		if (begins_with(value, "utf-8") || begins_with(value, "utf8"))
			return true;
	return false;
}

bool dnp_terminal_says_utf8(bool unsaid)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return names_utf8(value);
	}
	return unsaid;
}
