/* SPDX-License-Identifier: MIT */
/* Consoles here may not know the words by which a line is written over. */
#include "cli/progress.h"

bool dnp_progress_possible(void)
{
	return false;
}

void dnp_progress_show(const char *format, ...)
{
	(void)format;
}

void dnp_progress_samples(
	uint64_t elapsed_ns, uint64_t samples, uint64_t lost, uint64_t cpu_ns, const char *tail)
{
	(void)elapsed_ns;
	(void)samples;
	(void)lost;
	(void)cpu_ns;
	(void)tail;
}

void dnp_progress_clear(void)
{
}
