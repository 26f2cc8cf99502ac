/* SPDX-License-Identifier: MIT */
#include "launch/program.h"

#include <stdlib.h>

void dnp_program_done(struct dnp_program *program)
{
	free(program->path);
	program->path = NULL;
}
