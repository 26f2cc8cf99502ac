/* SPDX-License-Identifier: MIT */
#include "launch/finding.h"

#include <stdio.h>

#include "base/clean.h"
#include "launch/agent_file.h"
#include "launch/control.h"
#include "launch/environment.h"
#include "launch/program.h"

void dnp_find_keep(dnp_fact_text out, const struct dnp_err *err)
{
	snprintf(out, sizeof(dnp_fact_text), "%.383s", err->text);
}

void dnp_find_kind(struct dnp_facts *facts, const char *path)
{
	struct dnp_program program = {0};

	if (!dnp_program_find(&program, path, NULL)) {
		facts->own_kind = program.kind != DNP_PROGRAM_FOREIGN;
		facts->nativeaot = program.kind == DNP_PROGRAM_NATIVEAOT;
		snprintf(facts->kind, sizeof(facts->kind), "%s", program.what);
	}
	dnp_program_done(&program);
}

void dnp_find_switched_off(struct dnp_facts *facts, const struct dnp_target *target)
{
	auto_free char *variable = dnp_target_switched_off(target);

	if (variable)
		snprintf(facts->switched_off, sizeof(facts->switched_off), "%.95s", variable);
}

void dnp_find_answer(struct dnp_facts *facts, uint64_t patience_ns)
{
	struct dnp_err err = {0};

	if (!facts->runtime.agent)
		return;
	facts->asked = !dnp_control_status(facts->pid, patience_ns, &facts->status, &err);
	if (!facts->asked)
		dnp_find_keep(facts->no_answer, &err);
}

/* What `dnprof run` looks at. */
static void read_environment(struct dnp_facts *facts)
{
	struct dnp_err err = {0};

	if (dnp_environment_check_diagnostics(&err))
		dnp_find_keep(facts->environment, &err);
	if (dnp_environment_other())
		snprintf(facts->other, sizeof(facts->other), "%.255s", dnp_environment_other());
}

int dnp_facts_read(struct dnp_facts *facts, pid_t pid, uint64_t patience_ns, struct dnp_err *err)
{
	struct dnp_err no_agent = {0};
	char library[PATH_MAX] = "";

	*facts = (struct dnp_facts){.pid = pid};
	dnp_find_machine(facts);
	if (dnp_agent_file_find(library, &no_agent))
		dnp_find_keep(facts->agent_file, &no_agent);
	if (pid)
		return dnp_find_process(facts, library, patience_ns, err);
	read_environment(facts);
	dnp_find_own(facts);
	return 0;
}

void dnp_facts_done(struct dnp_facts *facts)
{
	dnp_runtime_done(&facts->runtime);
}
