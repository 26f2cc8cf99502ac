/* SPDX-License-Identifier: MIT */
/* The demangler on any bytes; the first chooses the size of the text and the kind of machine. */
#include <stdlib.h>

#include "base/pretty.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_text text;
	char *raw, *buffer;
	size_t cap;

	if (n < 1)
		return 0;
	cap = 1 + (size_t)data[0] * 8;
	buffer = malloc(cap);
	raw = malloc(n);
	if (!buffer || !raw)
		abort();
	memcpy(raw, data + 1, n - 1);
	dnp_text_init(&text, buffer, cap);
	dnp_pretty_name((struct dnp_str){raw, n - 1}, (enum dnp_machine)(data[0] % 3), &text);
	if (text.n >= text.cap)
		abort();
	free(raw);
	free(buffer);
	return 0;
}
