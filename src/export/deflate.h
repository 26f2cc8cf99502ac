/* SPDX-License-Identifier: MIT */
/* A sink that writes raw deflate (RFC 1951) of what it gets to another sink. */
#ifndef DNP_EXPORT_DEFLATE_H
#define DNP_EXPORT_DEFLATE_H

#define ZLIB_CONST /* it only reads what it is given */
#include <zlib.h>

#include "base/sink.h"

struct dnp_sink_deflate {
	struct dnp_sink sink;
	struct dnp_sink *to; /* borrowed */
	z_stream stream;
};

/* 0 or -ENOMEM. After it, _finish must be called. */
int dnp_sink_deflate_init(struct dnp_sink_deflate *deflate, struct dnp_sink *to);
/* Writes the rest and frees what it held: 0 or the first error. */
int dnp_sink_deflate_finish(struct dnp_sink_deflate *deflate);

#endif
