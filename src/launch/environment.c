/* SPDX-License-Identifier: MIT */
#include "launch/environment.h"

#include <stdbool.h>
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

static int check_diagnostics(struct dnp_err *err)
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

int dnp_environment_check(struct dnp_err *err)
{
	unsigned long enabled;

	if (number("CORECLR_ENABLE_PROFILING", &enabled) && enabled)
		return dnp_err(err, -EBUSY,
			"another profiler is configured: CORECLR_ENABLE_PROFILING is %s, for %s; "
			"run without it (unset CORECLR_ENABLE_PROFILING), since a program takes "
			"one",
			getenv("CORECLR_ENABLE_PROFILING"), other_profiler());
	return check_diagnostics(err);
}

int dnp_environment_set(const char *agent, const char *options)
{
	const struct {
		const char *name, *value; /* NULL: not set */
	} variables[] = {
		{"CORECLR_ENABLE_PROFILING", "1"},
		{"CORECLR_PROFILER", DNP_AGENT_CLSID},
		{"CORECLR_PROFILER_PATH", agent},
		{"CORECLR_PROFILER_PATH_64", NULL},
		{"CORECLR_PROFILER_PATH_32", NULL},
		{"CORECLR_PROFILER_PATH_ARM64", NULL},
		{DNP_OPTIONS_ENV, options},
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(variables); i++) {
		const char *value = variables[i].value;

		if (value ? setenv(variables[i].name, value, 1) : unsetenv(variables[i].name))
			return -ENOMEM;
	}
	return 0;
}
