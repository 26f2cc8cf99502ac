/* SPDX-License-Identifier: MIT */
/* A sink that writes base64 (RFC 4648, with padding, on one line) to another sink. */
#ifndef DNP_BASE_BASE64_H
#define DNP_BASE_BASE64_H

#include "base/sink.h"

struct dnp_sink_base64 {
	struct dnp_sink sink;
	struct dnp_sink *to; /* borrowed */
	uint8_t held[3];     /* bytes that do not make a group of three yet */
	unsigned n;
};

void dnp_sink_base64_init(struct dnp_sink_base64 *base64, struct dnp_sink *to);
/* Writes the last, padded group. 0 or the first error. */
int dnp_sink_base64_finish(struct dnp_sink_base64 *base64);

#endif
