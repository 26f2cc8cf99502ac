/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdarg.h>
#include <stdio.h>

#include "os/console.h"

#define NS_PER_S   1e9
#define BETWEEN_NS UINT64_C(500000000)

void dnp_progress_show(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dnp_console_status_show(text);
}

void dnp_progress_samples(
	uint64_t elapsed_ns, uint64_t samples, uint64_t lost, uint64_t cpu_ns, const char *tail)
{
	dnp_progress_show("dnprof: %.0f s, %'llu samples, lost %'llu, CPU %.1f s%s",
		(double)elapsed_ns / NS_PER_S, (unsigned long long)samples,
		(unsigned long long)lost, (double)cpu_ns / NS_PER_S, tail);
}

void dnp_progress_run(const struct dnp_choice *choice, const struct dnp_progress *now)
{
	static uint64_t next_ns;
	const char *so_far = now->stopped ? "were recorded" : "are recorded";
	double elapsed_s = (double)now->elapsed_ns / NS_PER_S;

	if (now->elapsed_ns < next_ns)
		return;
	next_ns = now->elapsed_ns + BETWEEN_NS;
	if (!now->sum->processes)
		dnp_progress_show("dnprof: %.0f s, the runtime has not started yet", elapsed_s);
	else if (!choice->samples)
		dnp_progress_show("dnprof: %.0f s, %s %s, CPU %.1f s", elapsed_s,
			choice->trace ? "calls" : "switches", so_far,
			(double)now->cpu_ns / NS_PER_S);
	else
		dnp_progress_samples(now->elapsed_ns, now->sum->samples, now->sum->lost,
			now->cpu_ns, now->stopped ? ", recording ended" : "");
}
