/* SPDX-License-Identifier: MIT */
#include "launch/target.h"

#include <stdlib.h>

#include "base/clean.h"
#include "os/clock.h"

#define ENDING_NS UINT64_C(2000000000)

char *dnp_target_switched_off(const struct dnp_target *target)
{
	static const char *const names[] = {
		"DOTNET_EnableDiagnostics",
		"DOTNET_EnableDiagnostics_IPC",
		"COMPlus_EnableDiagnostics",
		"COMPlus_EnableDiagnostics_IPC",
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++) {
		auto_free char *value = dnp_target_variable(target, names[i]);
		char *text, *end;

		/* The runtime reads its numbers as hexadecimal. */
		if (value && *value && !strtoul(value, &end, 16) && end != value &&
			asprintf(&text, "%s=%s", names[i], value) > 0)
			return text;
	}
	return NULL;
}

bool dnp_target_has_ended(const struct dnp_target *target, struct dnp_process *now)
{
	return dnp_process_read(now, target->pid) || now->state == 'Z' ||
		now->start_ticks != target->process.start_ticks;
}

bool dnp_target_has_ended_soon(const struct dnp_target *target, struct dnp_process *now)
{
	uint64_t deadline_ns = dnp_now_ns() + ENDING_NS;

	while (!dnp_target_has_ended(target, now)) {
		if (dnp_now_ns() >= deadline_ns)
			return false;
		dnp_sleep_until_ns(dnp_now_ns() + ENDING_NS / 50);
	}
	return true;
}

int dnp_target_ended(const struct dnp_target *target, struct dnp_err *err)
{
	return dnp_err(err, -ESRCH, "cannot ask process %d: it ended meanwhile; run it again",
		(int)target->pid);
}

int dnp_target_timed_out(const struct dnp_target *target, const struct dnp_process *now,
	uint64_t patience_ns, struct dnp_err *err)
{
	int pid = (int)target->pid;

	if (now->state == 'T' || now->state == 't')
		return dnp_err(err, -ETIMEDOUT,
			"cannot ask process %d: it is stopped, by a signal or a debugger; let it "
			"go on ('kill -CONT %d')",
			pid, pid);
	return dnp_err(err, -ETIMEDOUT,
		"cannot ask process %d: no answer within %.1f s; give it more time with --timeout",
		pid, (double)patience_ns / 1e9);
}
