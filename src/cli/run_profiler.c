/* SPDX-License-Identifier: MIT */
/* dnprof run --profiler-clsid: any profiler, in one process only; dnprof records nothing. */
#include <errno.h>

#include "cli/run.h"
#include "launch/environment.h"
#include "launch/foreign.h"

#define OPT(name) DNP_OPT(run, name)

bool dnp_run_wants_profiler(const struct dnp_values *values)
{
	return values->given[OPT(profiler_clsid)] || values->given[OPT(profiler_path)] ||
		values->given[OPT(profiler_env)];
}

/* What has a meaning when dnprof records nothing. */
static bool goes_along(size_t option)
{
	switch (option) {
	case OPT(profiler_clsid):
	case OPT(profiler_path):
	case OPT(profiler_env):
	case OPT(children):
	case OPT(quiet):
	case OPT(verbose): return true;
	default: return false;
	}
}

static int check_options(const struct dnp_values *values)
{
	const struct dnp_command *command = dnp_command_find("run");
	char name[DNP_OPTION_NAME];

	for (size_t i = 0; command->options[i].name; i++) {
		if (!values->given[i] || goes_along(i))
			continue;
		dnp_option_long(&command->options[i], name);
		return dnp_usage("run",
			"--%s is about recording, and with another profiler dnprof records "
			"nothing; "
			"leave it away",
			name);
	}
	if (!values->given[OPT(profiler_clsid)] || !values->given[OPT(profiler_path)])
		return dnp_usage("run",
			"another profiler needs both --profiler-clsid and "
			"--profiler-path");
	return DNP_EXIT_DONE;
}

static int run_program(struct dnp_foreign *foreign, const struct dnp_values *values)
{
	struct dnp_err err = {0};
	int own = DNP_EXIT_DONE;

	if (values->given[OPT(verbose)])
		dnp_say("starting %s with the profiler %s", foreign->program.path,
			foreign->library);
	if (dnp_foreign_run(foreign, &err))
		return dnp_failed(&err);
	if (dnp_foreign_loaded(foreign, &err))
		own = dnp_failed(&err);
	return dnp_run_status(foreign->child.status, own);
}

int dnp_run_profiler(const struct dnp_values *values, char *const *command)
{
	const char *variables[DNP_VALUES_EACH];
	struct dnp_foreign_options options = {
		.command = command,
		.clsid = values->text[OPT(profiler_clsid)],
		.library = values->text[OPT(profiler_path)],
		.variables = variables,
		.children = values->given[OPT(children)] > 0,
	};
	const char *other = dnp_environment_other();
	struct dnp_foreign foreign;
	struct dnp_err err = {0};
	int status = check_options(values);

	if (status)
		return status;
	for (size_t i = 0; i < values->each_count; i++)
		if (values->each[i].option == OPT(profiler_env))
			variables[options.variable_count++] = values->each[i].text;
	if (dnp_foreign_open(&foreign, &options, &err)) {
		dnp_failed(&err);
		return err.code == -EINVAL ? DNP_EXIT_USAGE : DNP_EXIT_FAILED;
	}
	if (other && !values->given[OPT(quiet)])
		dnp_say("the profiler that the environment names, %s, is not loaded: a program "
			"takes one",
			other);
	status = run_program(&foreign, values);
	dnp_foreign_done(&foreign);
	return status;
}
