/* SPDX-License-Identifier: MIT */
/*
 * Files from anywhere, read: chunks, each record, calls with their values, slices of threads. An
 * input that begins with 'F' is a file; with 'R', the records of a chunk, which is sealed here: the
 * fuzzer need not guess checksums. What they come to is export_fuzz.c's. Bounds: the first
 * STEPS_MAX calls and slices of what a record of a few bytes can claim to be millions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/chunk.h"
#include "fuzz.h"
#include "read/call_values.h"
#include "read/calls.h"
#include "read/input.h"
#include "read/switches.h"
#include "read/visit.h"

enum { STEPS_MAX = 1024 };

static void check(int good)
{
	if (!good)
		abort();
}

/* A string of a record is within the input. */
static void touch(struct dnp_str str)
{
	volatile char seen;

	if (str.n) {
		seen = str.p[0];
		seen = str.p[str.n - 1];
		(void)seen;
	}
}

#define DNP_RECORD(id, name, doc)                                                                  \
	static int visit_##name(void *arg, const struct dnp_rec_##name *rec, uint64_t time_ns)     \
	{                                                                                          \
		(void)time_ns;                                                                     \
		(void)rec;                                                                         \
		++*(size_t *)arg;
#define U(field, doc)
#define I(field, doc)
#define S(field, doc) touch(rec->field);
#define DNP_RECORD_END(name)                                                                       \
	return 0;                                                                                  \
	}
#include "format/rec.def"

static void visit_all(const struct dnp_recording *recording)
{
	static const struct dnp_visitor visitor = {
#define DNP_RECORD(id, name, doc) .name = visit_##name,
#define U(field, doc)
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)
#include "format/rec.def"
	};
	uint64_t damaged = 0;
	size_t n = 0;

	check(!dnp_recording_visit(recording, &visitor, &n, &damaged));
	check(n + damaged <= recording->bytes);
}

/* Who pushes and pops what a cursor gives comes to the depth that it tells. */
static void follow_calls(const struct dnp_recording *recording, uint64_t index)
{
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	struct dnp_call_log *log;
	struct dnp_call_values *values;
	struct dnp_text text;
	char buffer[256];
	uint64_t damaged = 0, last_ns = 0;
	size_t n;

	check(!dnp_call_log_new(recording, index, &log, &damaged));
	for (const struct dnp_call_thread *thread = dnp_call_log_threads(log, &n); n--; thread++) {
		uint64_t depth = 0;

		check(!dnp_call_cursor_new(log, thread->thread, &cursor));
		last_ns = 0;
		for (unsigned i = 0; i < STEPS_MAX && dnp_call_cursor_next(cursor, &event) > 0;
			i++, last_ns = event.time_ns) {
			if (event.kind != DNP_CALL_ENTER && event.kind != DNP_CALL_LOST)
				depth--;
			check(event.depth == depth && event.time_ns >= last_ns);
			depth += event.kind == DNP_CALL_ENTER;
		}
		dnp_call_cursor_free(cursor);
	}
	check(!dnp_call_cursor_new(log, DNP_CALL_ALL_THREADS, &cursor));
	check(!dnp_call_values_new(recording, index, &values));
	last_ns = 0;
	for (unsigned i = 0; i < STEPS_MAX && dnp_call_cursor_next(cursor, &event) > 0;
		i++, last_ns = event.time_ns) {
		check(event.time_ns >= last_ns);
		dnp_text_init(&text, buffer, sizeof(buffer));
		dnp_call_values_text(values, &event, &text);
		check(text.n < text.cap);
	}
	dnp_call_values_free(values);
	dnp_call_cursor_free(cursor);
	dnp_call_log_free(log);
}

/* Slices come in the order in which they began. */
static void follow_switches(const struct dnp_recording *recording)
{
	struct dnp_switches switches;
	struct dnp_slice_at slice;
	uint64_t last_ns = 0;
	uint32_t thread;

	check(!dnp_switches_init(&switches, recording));
	for (unsigned i = 0; i < STEPS_MAX && dnp_switches_next(&switches, &thread, &slice) > 0;
		i++) {
		check(thread < switches.threads.n && slice.start_ns >= last_ns);
		last_ns = slice.start_ns;
	}
	dnp_switches_done(&switches);
}

static void read_file(const void *bytes, size_t n)
{
	struct dnp_input input;
	struct dnp_err err = {0};

	dnp_input_init(&input);
	if (dnp_input_add_bytes(&input, "fuzz", bytes, n, &err)) {
		check(err.code < 0 && err.text[0]);
	} else {
		check(!dnp_input_finish(&input, NULL));
		for (size_t i = 0; i < input.recordings.n; i++)
			visit_all(&input.recordings.p[i]);
		follow_calls(&input.recordings.p[0], 0);
		follow_switches(&input.recordings.p[0]);
	}
	dnp_input_done(&input);
}

static void read_records(const uint8_t *records, size_t n)
{
	struct dnp_chunk_header header;
	uint8_t *file;

	if (n > DNP_CHUNK_MAX)
		return;
	file = malloc(sizeof(header) + n);
	check(file != NULL);
	dnp_chunk_seal(&header, DNP_CHUNK_RECORDS, 1, 0, records, (uint32_t)n);
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), records, n);
	read_file(file, sizeof(header) + n);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n && data[0] == 'R')
		read_records(data + 1, n - 1);
	else if (n)
		read_file(data + 1, n - 1);
	return 0;
}
