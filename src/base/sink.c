/* SPDX-License-Identifier: MIT */
#include "base/sink.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clean.h"

void dnp_sink_write(struct dnp_sink *sink, const void *bytes, size_t n)
{
	if (!sink->error && n)
		sink->error = sink->write(sink, bytes, n);
}

void dnp_sink_str(struct dnp_sink *sink, struct dnp_str str)
{
	dnp_sink_write(sink, str.p, str.n);
}

void dnp_sink_puts(struct dnp_sink *sink, const char *text)
{
	dnp_sink_write(sink, text, strlen(text));
}

void dnp_sink_printf(struct dnp_sink *sink, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n >= 0) {
		dnp_sink_write(sink, text, (size_t)n);
	} else {
		text = NULL;
		sink->error = sink->error ? sink->error : -ENOMEM;
	}
}

void dnp_sink_repeat(struct dnp_sink *sink, const char *text, size_t count)
{
	struct dnp_str str = dnp_str(text);

	while (count--)
		dnp_sink_str(sink, str);
}

static int memory_write(struct dnp_sink *sink, const void *bytes, size_t n)
{
	struct dnp_sink_memory *memory = (struct dnp_sink_memory *)sink;

	if (dnp_vec_reserve(&memory->bytes, memory->bytes.n + n))
		return -ENOMEM;
	memcpy(memory->bytes.p + memory->bytes.n, bytes, n);
	memory->bytes.n += n;
	return 0;
}

void dnp_sink_memory_init(struct dnp_sink_memory *memory)
{
	*memory = (struct dnp_sink_memory){.sink = {.write = memory_write}};
}
