/* SPDX-License-Identifier: MIT */
/* The agent's options from any text; what is understood is written and read back to the same. */
#include <stdlib.h>
#include <string.h>

#include "format/agent_options.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct dnp_agent_options first, second;
	static char written[DNP_OPTIONS_MAX + 1];
	char *text = strndup((const char *)data, n);
	struct dnp_err err = {0};

	if (!text)
		abort();
	if (dnp_agent_options_parse(&first, text, &err)) {
		if (!*err.text)
			abort();
	} else if (dnp_agent_options_write(&first, written, sizeof(written)) >= 0) {
		if (dnp_agent_options_parse(&second, written, &err) ||
			strcmp(first.dir, second.dir) || strcmp(first.session, second.session) ||
			first.fd != second.fd || first.interval_ns != second.interval_ns ||
			first.source != second.source || first.ino != second.ino)
			abort();
	}
	free(text);
	return 0;
}
