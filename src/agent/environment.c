/* SPDX-License-Identifier: MIT */
#include "agent/environment.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/clean.h"
#include "base/text.h"
#include "base/utf8.h"
#include "format/agent_options.h"

#define NAME_UNITS 48u
#define TEXT_UNITS (8u * PATH_MAX)

/* Not on a stack of the program's. */
static WCHAR wide_text[TEXT_UNITS];

/* False: it does not fit. */
static bool widen(WCHAR *out, size_t capacity, const char *text)
{
	struct dnp_str str = dnp_str(text);
	size_t n = 0;

	for (size_t at = 0; at < str.n;) {
		uint32_t code = dnp_utf8_next(str, &at);

		if (n + 3 > capacity)
			return false;
		if (code >= 0x10000) {
			out[n++] = (WCHAR)(0xd800 + ((code - 0x10000) >> 10));
			code = 0xdc00 + ((code - 0x10000) & 0x3ff);
		}
		out[n++] = (WCHAR)code;
	}
	out[n] = 0;
	return true;
}

/* In both environments; NULL: away with it. */
static void change(const char *name, const char *value)
{
	WCHAR wide_name[NAME_UNITS];

	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
	if (dnp_info_has(&dnp_agent.info, SetEnvironmentVariable) &&
		widen(wide_name, DNP_ARRAY_SIZE(wide_name), name) &&
		(!value || widen(wide_text, DNP_ARRAY_SIZE(wide_text), value)))
		dnp_com(dnp_agent.info.com, SetEnvironmentVariable, wide_name,
			value ? wide_text : NULL);
}

/* Our entry, the last of such a list. Whether the list held it. */
static bool leave_list(const char *name)
{
	const char *list = getenv(name), *found = NULL;
	auto_free char *rest = list ? strdup(list) : NULL;
	char *entry;

	for (const char *at = list; at && (at = strstr(at, "=" DNP_AGENT_NOTIFY_CLSID)); at++)
		found = at;
	if (!rest || !found)
		return false;
	rest[found - list] = '\0';
	entry = strrchr(rest, ';');
	if (entry)
		entry[1] = '\0';
	change(name, entry ? rest : NULL);
	if (!entry)
		change("CORECLR_ENABLE_NOTIFICATION_PROFILERS", NULL);
	return true;
}

/* What is ours of the variables for .NET Framework, see dnp_environment_set_framework. */
static void leave_framework(void)
{
	static const char *const names[] = {
		"COR_ENABLE_PROFILING",
		"COR_PROFILER",
		"COR_PROFILER_PATH",
	};
	const char *profiler = getenv("COR_PROFILER");

	if (!profiler || strcmp(profiler, DNP_AGENT_CLSID) != 0)
		return;
	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		change(names[i], NULL);
}

static void leave_in_place(void)
{
	const char *value = getenv(DNP_IN_PLACE_ENV);

	if (value && !strcmp(value, DNP_IN_PLACE_VALUE))
		change(DNP_IN_PLACE_ENV, NULL);
}

void dnp_environment_clean_told(void)
{
	change(DNP_OPTIONS_ENV, NULL);
}

void dnp_environment_clean(void)
{
	static const char *const names[] = {
		"CORECLR_ENABLE_PROFILING",
		"CORECLR_PROFILER",
		"CORECLR_PROFILER_PATH",
		"CORECLR_PROFILER_PATH_64",
	};

	dnp_environment_clean_told();
	leave_in_place();
	if (dnp_agent.notification) {
		if (!leave_list("CORECLR_NOTIFICATION_PROFILERS_64"))
			leave_list("CORECLR_NOTIFICATION_PROFILERS");
		return;
	}
	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		change(names[i], NULL);
	leave_framework();
}

bool dnp_environment_told(char *out, size_t capacity)
{
	WCHAR wide_name[NAME_UNITS];
	struct dnp_text text;
	uint32_t units = 0;

	if (!dnp_info_has(&dnp_agent.info, GetEnvironmentVariable) ||
		!widen(wide_name, DNP_ARRAY_SIZE(wide_name), DNP_OPTIONS_ENV) ||
		FAILED(dnp_com(dnp_agent.info.com, GetEnvironmentVariable, wide_name,
			DNP_ARRAY_SIZE(wide_text), &units, wide_text)) ||
		!units || units >= DNP_ARRAY_SIZE(wide_text))
		return false;
	wide_text[units] = 0;
	for (units = 0; wide_text[units];)
		units++;
	dnp_text_init(&text, out, capacity);
	dnp_text_put16(&text, wide_text, units);
	return units && !text.cut;
}
