/* SPDX-License-Identifier: MIT */
/*
 * Where output goes: memory, a descriptor or a file (os/file_sink.h). Exporters never know which.
 *
 * Writing never fails in between: the first error is kept in `error`, later writes do nothing, and
 * the closing function reports it. One thread at a time.
 */
#ifndef DNP_BASE_SINK_H
#define DNP_BASE_SINK_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct dnp_sink {
	/* Writes all of it: 0 or -errno. */
	int (*write)(struct dnp_sink *sink, const void *bytes, size_t n);
	int error; /* -errno of the first write that failed */
};

void dnp_sink_write(struct dnp_sink *sink, const void *bytes, size_t n);
void dnp_sink_str(struct dnp_sink *sink, struct dnp_str str);
void dnp_sink_puts(struct dnp_sink *sink, const char *text);
void dnp_sink_printf(struct dnp_sink *sink, const char *format, ...)
	__attribute__((format(__printf__, 2, 3)));
/* `count` times the same text. */
void dnp_sink_repeat(struct dnp_sink *sink, const char *text, size_t count);

/* Grows in memory. Free with dnp_vec_done(&sink.bytes). */
struct dnp_sink_memory {
	struct dnp_sink sink;
	struct dnp_vec_of(char) bytes;
};
void dnp_sink_memory_init(struct dnp_sink_memory *memory);

#endif
