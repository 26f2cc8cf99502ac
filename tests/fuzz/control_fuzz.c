/* SPDX-License-Identifier: MIT */
/* Control messages from any bytes; what is understood is written to the same bytes again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/control.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_control_message message;
	uint8_t written[DNP_CONTROL_MAX];
	int status = dnp_control_get(data, n, &message);

	if (status && status != -EBADMSG && status != -EPROTONOSUPPORT)
		abort();
	if (!status && (dnp_control_put(written, &message) != n || memcmp(written, data, n) != 0))
		abort();
	return 0;
}
