/* SPDX-License-Identifier: MIT */
#include "launch/program.h"

#include <errno.h>
#include <stdlib.h>

void dnp_program_done(struct dnp_program *program)
{
	free(program->path);
	program->path = NULL;
}

int dnp_program_check(const struct dnp_program *program, struct dnp_err *err)
{
	switch (program->kind) {
	case DNP_PROGRAM_DOTNET: return 0;
	case DNP_PROGRAM_NATIVEAOT:
		return dnp_err(err, -ENOEXEC,
			"cannot profile %s: it was compiled with NativeAOT and has no runtime that "
			"loads "
			"profilers; publish it without PublishAot, or use 'dnprof timeline'",
			program->path);
	case DNP_PROGRAM_FOREIGN:
		return dnp_err(err, -ENOEXEC, "cannot profile %s: it is %s; dnprof profiles %s",
			program->path, program->what, dnp_program_profiled);
	case DNP_PROGRAM_OTHER: break;
	}
	return dnp_err(err, -ENOEXEC,
		"cannot profile %s: it is %s, not .NET; use 'dnprof timeline' to see its threads, "
		"or "
		"--children to profile the .NET programs it starts",
		program->path, program->what);
}
