/* SPDX-License-Identifier: MIT */
/*
 * Slices as comma-separated values (RFC 4180): a line for each time that a thread had a processor,
 * and one for each time in which switches are missing.
 */
#include <inttypes.h>

#include "aggregate/spans.h"
#include "base/utf8.h"
#include "export/switches.h"

static void put_quoted(struct dnp_sink *sink, struct dnp_str text)
{
	dnp_sink_puts(sink, "\"");
	for (size_t at = 0; at < text.n;) {
		uint32_t code = dnp_utf8_next(text, &at);
		char out[4];

		if (dnp_utf8_unsafe(code))
			code = DNP_UTF8_BAD;
		dnp_sink_write(sink, out, dnp_utf8_put(out, code));
		if (code == '"')
			dnp_sink_puts(sink, "\"");
	}
	dnp_sink_puts(sink, "\"");
}

static void begin(void *arg, const struct dnp_switch_source *source)
{
	(void)arg;
	if (!source->number)
		dnp_sink_puts(source->sink, "pid,thread,tid,name,from_ns,to_ns,cpu,ended\r\n");
}

static void put_slice(void *arg, const struct dnp_switch_source *source, uint32_t number,
	const struct dnp_slice_at *slice)
{
	const struct dnp_switch_thread *thread = &source->switches->threads.p[number];
	struct dnp_sink *sink = source->sink;

	(void)arg;
	dnp_sink_printf(sink, "%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",", source->process->pid, number,
		thread->tid);
	put_quoted(sink, thread->name);
	dnp_sink_printf(sink, ",%" PRIu64 ",%" PRIu64 ",",
		dnp_switches_since(source, slice->start_ns),
		dnp_switches_since(source, slice->end_ns));
	if (dnp_slice_has_cpu(slice))
		dnp_sink_printf(sink, "%" PRIu32, slice->cpu);
	dnp_sink_printf(sink, ",%s\r\n", dnp_switches_how(slice->how));
}

static void put_loss(
	void *arg, const struct dnp_switch_source *source, const struct dnp_rec_switch_loss *loss)
{
	(void)arg;
	dnp_sink_printf(source->sink,
		"%" PRIu64 ",,,\"%" PRIu64 " switches lost\",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",lost\r\n",
		source->process->pid, loss->count, dnp_switches_since(source, loss->from_ns),
		dnp_switches_since(source, loss->until_ns), loss->cpu);
}

/* Ends with the word span, or mark; in place of the thread's name it has its own. The end of one
 * that had not ended is empty. */
static void put_span(void *arg, const struct dnp_switch_source *source, uint32_t number,
	const struct dnp_span *span)
{
	struct dnp_sink *sink = source->sink;

	(void)arg;
	if (number == DNP_NONE)
		return;
	dnp_sink_printf(sink, "%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",", source->process->pid, number,
		source->switches->threads.p[number].tid);
	put_quoted(sink, dnp_str(dnp_span_title(source->profile, span).text));
	dnp_sink_printf(sink, ",%" PRIu64 ",", span->begin_ns);
	if (span->point || span->ended)
		dnp_sink_printf(sink, "%" PRIu64, span->point ? span->begin_ns : span->end_ns);
	dnp_sink_printf(sink, ",,%s\r\n", span->point ? "mark" : "span");
}

static int write_csv(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_sink *sink, struct dnp_err *err)
{
	static const struct dnp_switch_format format = {
		.begin = begin, .slice = put_slice, .loss = put_loss, .span = put_span};

	return dnp_switches_write(profile, options, &format, NULL, sink, err);
}

const struct dnp_exporter dnp_export_csv = {
	.name = "csv",
	.extensions = ".csv",
	.switches = true,
	.write = write_csv,
};
