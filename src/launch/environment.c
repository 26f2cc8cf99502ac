/* SPDX-License-Identifier: MIT */
#include "launch/environment.h"

#include <string.h>

#include "base/clean.h"
#include "format/agent_options.h"

/* CoreCLR reads its numbers as hexadecimal. */
static bool number(const char *name, unsigned long *value)
{
	const char *text = getenv(name);
	char *end;

	if (!text || !*text)
		return false;
	*value = strtoul(text, &end, 16);
	return end != text;
}

/* The path that CoreCLR would take, by its order. */
static const char *other_profiler(void)
{
	static const char *const names[] = {
#if defined(__x86_64__)
		"CORECLR_PROFILER_PATH_64",
#elif defined(__aarch64__)
		"CORECLR_PROFILER_PATH_ARM64",
#endif
		"CORECLR_PROFILER_PATH",
		"CORECLR_PROFILER",
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return value;
	}
	return "none named";
}

int dnp_environment_check_diagnostics(struct dnp_err *err)
{
	static const char *const names[] = {
		"DOTNET_EnableDiagnostics",
		"DOTNET_EnableDiagnostics_Profiler",
		"COMPlus_EnableDiagnostics",
		"COMPlus_EnableDiagnostics_Profiler",
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++) {
		unsigned long value;

		if (number(names[i], &value) && !value)
			return dnp_err(err, -EPERM,
				"the environment forbids profilers: %s is 0; run without it (unset "
				"%s)",
				names[i], names[i]);
	}
	return 0;
}

const char *dnp_environment_other(void)
{
	unsigned long enabled;

	return number("CORECLR_ENABLE_PROFILING", &enabled) && enabled ? other_profiler() : NULL;
}

int dnp_environment_check(bool all_rights, struct dnp_err *err)
{
	const char *other = dnp_environment_other();

	if (other && all_rights)
		return dnp_err(err, -EBUSY,
			"another profiler is configured: CORECLR_ENABLE_PROFILING is %s, for %s; "
			"run without it (unset CORECLR_ENABLE_PROFILING), since one that stands "
			"beside it cannot trace calls or transitions",
			getenv("CORECLR_ENABLE_PROFILING"), other);
	return dnp_environment_check_diagnostics(err);
}

int dnp_environment_set_profiler(const char *clsid, const char *library)
{
	const struct {
		const char *name, *value; /* NULL: not set */
	} variables[] = {
		{"CORECLR_ENABLE_PROFILING", "1"},
		{"CORECLR_PROFILER", clsid},
		{"CORECLR_PROFILER_PATH", library},
		{"CORECLR_PROFILER_PATH_64", NULL},
		{"CORECLR_PROFILER_PATH_32", NULL},
		{"CORECLR_PROFILER_PATH_ARM64", NULL},
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(variables); i++) {
		const char *value = variables[i].value;

		if (value ? setenv(variables[i].name, value, 1) : unsetenv(variables[i].name))
			return -ENOMEM;
	}
	return 0;
}

int dnp_environment_set_framework(const char *library)
{
	return setenv("COR_ENABLE_PROFILING", "1", 1) ||
			setenv("COR_PROFILER", DNP_AGENT_CLSID, 1) ||
			setenv("COR_PROFILER_PATH", library, 1)
		? -ENOMEM
		: 0;
}

int dnp_environment_set_in_place(void)
{
	unsigned long value;

	if (number(DNP_IN_PLACE_ENV, &value) && !value)
		return 0;
	return setenv(DNP_IN_PLACE_ENV, DNP_IN_PLACE_VALUE, 1) ? -ENOMEM : 0;
}

/* A list of profilers beside the main one, where such lists are read at all. */
static const char *list_of(const char *name)
{
	const char *list = getenv(name);
	unsigned long enabled;

	return list && *list && number("CORECLR_ENABLE_NOTIFICATION_PROFILERS", &enabled) && enabled
		? list
		: NULL;
}

/*
 * The agent is the last of those that are only notified. Runtimes up to 10 forget one that no
 * semicolon follows; the list for processes of 64 bits goes before the other.
 */
static int set_beside(const char *agent)
{
	const char *name = list_of("CORECLR_NOTIFICATION_PROFILERS_64")
		? "CORECLR_NOTIFICATION_PROFILERS_64"
		: "CORECLR_NOTIFICATION_PROFILERS";
	const char *list = list_of(name);
	auto_free char *all = NULL;
	size_t n = list ? strlen(list) : 0;

	if (asprintf(&all, "%s%s%s=" DNP_AGENT_NOTIFY_CLSID ";", list ? list : "",
		    n && list[n - 1] != ';' ? ";" : "", agent) < 0) {
		all = NULL;
		return -ENOMEM;
	}
	if (!list)
		unsetenv("CORECLR_NOTIFICATION_PROFILERS_64");
	return setenv(name, all, 1) || setenv("CORECLR_ENABLE_NOTIFICATION_PROFILERS", "1", 1)
		? -ENOMEM
		: 0;
}

int dnp_environment_set(const char *agent, const char *options)
{
	if (setenv(DNP_OPTIONS_ENV, options, 1))
		return -ENOMEM;
	if (dnp_environment_other())
		return set_beside(agent);
	return dnp_environment_set_profiler(DNP_AGENT_CLSID, agent);
}
