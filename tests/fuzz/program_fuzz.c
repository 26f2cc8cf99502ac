/* SPDX-License-Identifier: MIT */
/* What kind of program a file is, for files that hold anything. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "launch/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_program program = {0};
	struct dnp_err err = {0};
	void *bytes = malloc(n + 1);

	if (!bytes)
		abort();
	memcpy(bytes, data, n);
	dnp_program_classify(&program, bytes, n);
	if (!*program.what || (dnp_program_check(&program, &err) && !*err.text))
		abort();
	free(bytes);
	return 0;
}
