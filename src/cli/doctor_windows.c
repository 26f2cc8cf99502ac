/* SPDX-License-Identifier: MIT */
#include "cli/doctor.h"

void dnp_doctor_system(const struct dnp_facts *facts, struct dnp_sink *out)
{
	dnp_sink_printf(out, "Windows %s%s%s, %s", facts->kernel, *facts->wine ? ", Wine " : "",
		facts->wine, facts->machine);
}

void dnp_doctor_line(const struct dnp_facts *facts, struct dnp_sink *out)
{
	dnp_sink_printf(out, "user %s", facts->user);
	if (facts->step_ns)
		dnp_sink_printf(out, ", clocks of threads go by steps of %.1f ms",
			(double)facts->step_ns / 1e6);
	dnp_sink_puts(out, "\n");
}

void dnp_doctor_json(struct dnp_json *json, const struct dnp_facts *facts)
{
	dnp_json_text(json, "kernel", facts->kernel);
	if (*facts->wine)
		dnp_json_text(json, "wine", facts->wine);
	dnp_json_text(json, "machine", facts->machine);
	dnp_json_text(json, "user", facts->user);
	dnp_json_u64(json, "clock_step_ns", facts->step_ns);
}
