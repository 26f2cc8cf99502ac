/* SPDX-License-Identifier: MIT */
#include "cli/doctor.h"

static void put_setting(struct dnp_sink *out, const char *name, long value)
{
	if (value == DNP_FACT_UNKNOWN)
		dnp_sink_printf(out, ", %s: none", name);
	else
		dnp_sink_printf(out, ", %s %ld", name, value);
}

static const char *seccomp_word(long mode)
{
	return !mode ? "none" : mode == 1 ? "strict" : "filter";
}

void dnp_doctor_system(const struct dnp_facts *facts, struct dnp_sink *out)
{
	dnp_sink_printf(out, "Linux %s, %s", facts->kernel, facts->machine);
}

void dnp_doctor_line(const struct dnp_facts *facts, struct dnp_sink *out)
{
	dnp_sink_printf(out, "uid %u, seccomp %s", facts->uid, seccomp_word(facts->seccomp));
	put_setting(out, "perf_event_paranoid", facts->perf_paranoid);
	put_setting(out, "kptr_restrict", facts->kptr_restrict);
	put_setting(out, "ptrace_scope", facts->ptrace_scope);
	put_setting(out, "perf_event_mlock_kb", facts->perf_mlock_kb);
	dnp_sink_puts(out, "\n");
}

static void put_number(struct dnp_json *json, const char *key, long value)
{
	if (value != DNP_FACT_UNKNOWN)
		dnp_json_i64(json, key, value);
}

void dnp_doctor_json(struct dnp_json *json, const struct dnp_facts *facts)
{
	dnp_json_text(json, "kernel", facts->kernel);
	dnp_json_text(json, "machine", facts->machine);
	dnp_json_u64(json, "uid", facts->uid);
	dnp_json_text(json, "seccomp", seccomp_word(facts->seccomp));
	dnp_json_open(json, "settings", '{');
	put_number(json, "perf_event_paranoid", facts->perf_paranoid);
	put_number(json, "kptr_restrict", facts->kptr_restrict);
	put_number(json, "ptrace_scope", facts->ptrace_scope);
	put_number(json, "perf_event_mlock_kb", facts->perf_mlock_kb);
	dnp_json_close(json, '}');
}
