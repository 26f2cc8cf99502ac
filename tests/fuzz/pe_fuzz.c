/* SPDX-License-Identifier: MIT */
/* Any bytes as the header of an image. */
#include "fuzz.h"

#include <stdlib.h>

#include "clr/pe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_pe pe;

	if (dnp_pe_parse(data, n, &pe) < 0)
		return 0;
	for (uint32_t i = 0; i < pe.n_sections; i++) {
		if ((uint64_t)pe.sections[i].rva + pe.sections[i].bytes > pe.image_bytes)
			abort(); /* a handler reads it */
	}
	if (pe.exceptions_bytes && !dnp_pe_section_of(&pe, pe.exceptions_rva, pe.exceptions_bytes))
		abort();
	return 0;
}
