/* SPDX-License-Identifier: MIT */
/*
 * What recordings come to, and every format that it is shown in. The first byte is that of
 * read_fuzz.c, the second chooses one profile and one format, 0 all of them; then a file or the
 * records of a chunk. Bounds: inputs whose calls come to more than EVENTS_MAX events are left out
 * (a byte can claim a million open calls, which read_fuzz.c follows); three events of a profile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/profile.h"
#include "export/export.h"
#include "export/html.h"
#include "export/log.h"
#include "export/stacks.h"
#include "format/chunk.h"
#include "fuzz.h"
#include "read/calls.h"

enum { EVENTS_MAX = 2048, INDICES = 8 };

/* Formats besides those of dnp_exporters, in what the second byte chooses. */
enum { PROFILES = 5, EXPORTERS = 8, PAGE = EXPORTERS, STACKS, LOG, FORMATS };

static uint8_t choice;

static bool wants_profile(unsigned i)
{
	return !choice || (choice - 1U) % PROFILES == i;
}

static bool wants_format(unsigned format)
{
	return !choice || (choice - 1U) / PROFILES % FORMATS == format;
}

static int discard(struct dnp_sink *sink, const void *bytes, size_t n)
{
	(void)sink;
	(void)bytes;
	(void)n;
	return 0;
}

static void check(int good)
{
	if (!good)
		abort();
}

/* What each row stands for must be there. */
static void check_profile(const struct dnp_profile *profile)
{
	for (size_t i = 1; i < profile->nodes.n; i++)
		check(profile->nodes.p[i].parent < i &&
			profile->nodes.p[i].frame < profile->frames.n);
	for (size_t i = 0; i < profile->threads.n; i++)
		check(profile->threads.p[i].process < profile->processes.n);
	for (size_t e = 0; e < profile->events.n; e++) {
		const struct dnp_rows *rows = &profile->events.p[e].rows;

		for (size_t i = 0; i < rows->n; i++) {
			check(rows->slots[i].node < profile->nodes.n);
			check(profile->detail == DNP_SUMS ||
				rows->slots[i].thread < profile->threads.n);
		}
		for (size_t i = 0; i < rows->threads.n; i++)
			check(!rows->threads.p[i].weight ||
				rows->threads.p[i].thread < profile->threads.n);
		for (size_t i = 0; i < profile->events.p[e].made.n; i++)
			check(profile->events.p[e].made.p[i].node < profile->nodes.n);
	}
}

static void export_all(const struct dnp_profile *profile, const struct dnp_input *input)
{
	struct dnp_export_options options = {
		.methods = true, .threads = true, .tree = true, .columns = 60, .input = input};
	struct dnp_sink sink = {.write = discard};

	for (uint32_t i = 0; i < profile->events.n && i < 3; i++) {
		options.event = i;
		for (unsigned k = 0; dnp_exporters[k]; k++)
			if (wants_format(k) && dnp_exporters[k]->detail <= profile->detail)
				check(!dnp_exporters[k]->write(profile, &options, &sink, NULL));
	}
	if (wants_format(PAGE) && profile->events.n && profile->detail == DNP_BY_TIME)
		check(!dnp_html_write(
			dnp_str("@DNPROF_META@@DNPROF_DATA@"), profile, &options, &sink, NULL));
}

static void show_stacks(const struct dnp_profile *profile, const struct dnp_recording *recording)
{
	struct dnp_sink sink = {.write = discard};
	struct dnp_moment moment;

	check(!dnp_moment_init(&moment, profile, recording));
	for (size_t i = 0; i < moment.threads.n; i++)
		check(moment.threads.p[i].same <= i);
	dnp_stacks_text(&moment, false, 60, &sink);
	dnp_stacks_text(&moment, true, 0, &sink);
	dnp_stacks_json(&moment, &sink);
	dnp_moment_done(&moment);
}

/* There is a log, or a sentence why there is none. */
static void write_log(const struct dnp_input *input)
{
	struct dnp_log_options options = {.times = true, .signatures = true};
	struct dnp_sink sink = {.write = discard};
	struct dnp_log_outcome outcome;

	for (int by_time = 0; by_time < 2; by_time++) {
		struct dnp_err err = {0};

		options.by_time = by_time;
		check(!dnp_log_put(input, &options, &sink, &outcome, &err) ||
			((err.code == -ENODATA || err.code == -EINVAL) && err.text[0]));
	}
}

/* Whether the calls of a recording are few enough to be shown over and over. */
static bool is_short(const struct dnp_recording *recording)
{
	for (uint64_t index = 0; index < INDICES; index++) {
		struct dnp_call_cursor *cursor;
		struct dnp_call_event event;
		struct dnp_call_log *log;
		uint64_t damaged = 0;
		unsigned n = 0;

		check(!dnp_call_log_new(recording, index, &log, &damaged));
		check(!dnp_call_cursor_new(log, DNP_CALL_ALL_THREADS, &cursor));
		while (n <= EVENTS_MAX && dnp_call_cursor_next(cursor, &event) > 0)
			n++;
		dnp_call_cursor_free(cursor);
		dnp_call_log_free(log);
		if (n > EVENTS_MAX)
			return false;
	}
	return true;
}

static void show_file(const void *bytes, size_t n)
{
	static const char *const patterns[] = {"*a*"};
	const struct dnp_filter filters[] = {
		{0},
		{.exclude = patterns, .exclude_count = 1, .from_ns = 1, .to_ns = UINT64_MAX - 1},
		{.requests = patterns, .request_count = 1},
	};
	struct dnp_input input;

	dnp_input_init(&input);
	if (!dnp_input_add_bytes(&input, "fuzz", bytes, n, NULL) &&
		!dnp_input_finish(&input, NULL) && is_short(&input.recordings.p[0])) {
		if (wants_format(LOG))
			write_log(&input);
		for (unsigned i = 0; i < PROFILES; i++) {
			enum dnp_detail detail = i < 2 ? (enum dnp_detail)i : DNP_BY_TIME;
			const struct dnp_filter *filter = &filters[i < 4 ? i % 2 : 2];
			struct dnp_profile profile;

			if (!wants_profile(i))
				continue;
			check(!dnp_profile_init(&profile, detail, filter));
			check(!dnp_profile_add(&profile, &input, NULL));
			dnp_profile_finish(&profile);
			check_profile(&profile);
			export_all(&profile, &input);
			if (wants_format(STACKS) && detail != DNP_SUMS)
				show_stacks(&profile, &input.recordings.p[0]);
			dnp_profile_done(&profile);
		}
	}
	dnp_input_done(&input);
}

static void show_records(const uint8_t *records, size_t n)
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
	show_file(file, sizeof(header) + n);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 2)
		return 0;
	choice = data[1];
	if (data[0] == 'R')
		show_records(data + 2, n - 2);
	else
		show_file(data + 2, n - 2);
	return 0;
}
