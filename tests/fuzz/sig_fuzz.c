/* SPDX-License-Identifier: MIT */
/*
 * The signature decoder on any bytes. The first byte chooses the size of the text, the second the
 * function; the rest is copied to a block of its exact size, so that a read past it is seen.
 */
#include <stdlib.h>

#include "clr/sig.h"
#include "fuzz.h"

static void write_type(
	void *context, uint32_t token, struct dnp_type_args *args, struct dnp_text *out)
{
	(void)context;
	dnp_text_puts(out, token & 1 ? "Odd" : "Even");
	/* As types with a part of the arguments do, and those that have none in their name. */
	for (uint32_t n = token & 3; n && args->left; n--)
		dnp_type_args_next(args, out);
}

static void write_variable(void *context, bool of_method, uint32_t index, struct dnp_text *out)
{
	(void)context;
	(void)index;
	dnp_text_puts(out, of_method ? "M" : "T");
}

static void check(const struct dnp_text *text)
{
	if (text->n >= text->cap || strlen(text->p) != text->n)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct dnp_sig_names names = {write_type, write_variable, NULL};
	struct dnp_text text;
	uint8_t *blob;
	char *buffer;
	size_t cap;

	if (n < 2)
		return 0;
	cap = 1 + (size_t)data[0] * 4;
	buffer = malloc(cap);
	blob = malloc(n - 2 + !(n - 2));
	if (!buffer || !blob)
		abort();
	memcpy(blob, data + 2, n - 2);
	dnp_text_init(&text, buffer, cap);
	if (data[1] & 1)
		dnp_sig_type(blob, n - 2, &names, &text);
	else
		dnp_sig_params(blob, n - 2, &names, &text);
	check(&text);
	free(blob);
	free(buffer);
	return 0;
}
