/* SPDX-License-Identifier: MIT */
/* Patterns of `run --include` that matched nothing, and what may have been meant by them. */
#include <stdio.h>

#include "aggregate/code.h"
#include "base/near.h"
#include "base/pattern.h"
#include "cli/choice.h"
#include "cli/cli.h"
#include "cli/loaded.h"
#include "read/visit.h"

/* An agent tells names of at least so many bytes (capture/left_out.c) before it stops. */
#define LEFT_OUT_MIN (128u << 10)

struct name {
	uint32_t text;
	bool kept; /* the filter let it through; else it was seen only */
};

/* Every method of the recordings, as its name is shown. */
struct names {
	bool trace;
	struct dnp_strings strings;
	struct dnp_vec_of(struct name) list;
	struct dnp_map frames;              /* of this recording: index → string */
	struct dnp_vec_of(uint64_t) traced; /* frames of this recording */
	struct dnp_sink_memory text;
	size_t left_out_bytes; /* of this recording */
	bool all;              /* every name that a filter left out was told */
};

static int add(struct names *names, struct dnp_str text, bool kept, uint32_t *number)
{
	int status = dnp_strings_add(&names->strings, text, number);

	if (!status)
		status = dnp_vec_push(&names->list, (struct name){*number, kept});
	return status;
}

static int see_frame(void *arg, const struct dnp_rec_frame *frame, uint64_t time_ns)
{
	static const struct dnp_rec_module nowhere;
	struct names *names = arg;
	uint32_t number;
	int status;

	(void)time_ns;
	if (frame->kind != DNP_FRAME_MANAGED && frame->kind != DNP_FRAME_R2R &&
		frame->kind != DNP_FRAME_DYNAMIC)
		return 0;
	names->text.bytes.n = 0;
	dnp_code_name(&names->text.sink, frame, &nowhere, NULL);
	status = add(names, (struct dnp_str){names->text.bytes.p, names->text.bytes.n},
		!names->trace, &number);
	return status ? status : dnp_map_set(&names->frames, frame->index, number);
}

static int see_traced(void *arg, const struct dnp_rec_traced *traced, uint64_t time_ns)
{
	struct names *names = arg;

	(void)time_ns;
	return dnp_vec_push(&names->traced, traced->frame);
}

static int see_left_out(void *arg, const struct dnp_rec_left_out *left_out, uint64_t time_ns)
{
	struct names *names = arg;
	uint32_t number;

	(void)time_ns;
	names->left_out_bytes += left_out->name.n;
	return add(names, left_out->name, false, &number);
}

/* A traced method may have been told of before its frame. */
static int keep_traced(struct names *names)
{
	for (size_t i = 0; i < names->traced.n; i++) {
		uint32_t number = dnp_map_get(&names->frames, names->traced.p[i]);

		if (number != DNP_NONE && dnp_vec_push(&names->list, (struct name){number, true}))
			return -ENOMEM;
	}
	return 0;
}

static int read_names(struct names *names, const struct dnp_input *input)
{
	static const struct dnp_visitor visitor = {
		.frame = see_frame,
		.traced = see_traced,
		.left_out = see_left_out,
	};
	uint64_t damaged = 0; /* the report tells of that */
	int status = dnp_strings_init(&names->strings);

	dnp_sink_memory_init(&names->text);
	for (size_t i = 0; !status && i < input->recordings.n; i++) {
		status = dnp_recording_visit(&input->recordings.p[i], &visitor, names, &damaged);
		if (!status)
			status = keep_traced(names);
		dnp_map_done(&names->frames);
		names->traced.n = 0;
		names->all = names->all && names->left_out_bytes < LEFT_OUT_MIN;
		names->left_out_bytes = 0;
	}
	return status;
}

static void names_done(struct names *names)
{
	dnp_strings_done(&names->strings);
	dnp_vec_done(&names->list);
	dnp_map_done(&names->frames);
	dnp_vec_done(&names->traced);
	dnp_vec_done(&names->text.bytes);
}

static struct dnp_str text_of(const struct names *names, size_t i)
{
	return dnp_str(dnp_strings_get(&names->strings, names->list.p[i].text));
}

static bool matched(const struct names *names, struct dnp_str pattern, bool kept)
{
	for (size_t i = 0; i < names->list.n; i++)
		if (names->list.p[i].kept == kept && dnp_pattern_match(pattern, text_of(names, i)))
			return true;
	return false;
}

static void suggest(const struct names *names, const char *option, const char *pattern)
{
	struct dnp_nearest nearest = {0};
	char buffer[640];
	struct dnp_text list;

	for (size_t i = 0; i < names->list.n; i++) {
		struct dnp_str name = text_of(names, i);

		dnp_nearest_offer(&nearest, dnp_near(dnp_str(pattern), name), name.p);
	}
	dnp_text_init(&list, buffer, sizeof(buffer));
	dnp_nearest_put(&nearest, &list);
	if (list.n)
		dnp_say("%s '%s' matched no method that ran; much like it are: %s", option, pattern,
			buffer);
	else
		dnp_say("%s '%s' matched no method that ran; record without it, and "
			"'dnprof report' shows what they are called",
			option, pattern);
}

/* Whether all that a pattern of --include would let through is taken out by one of --exclude. */
static bool is_taken_out(
	const struct names *names, const struct dnp_choice *choice, const char *pattern)
{
	for (size_t i = 0; i < names->list.n; i++) {
		struct dnp_str name = text_of(names, i);

		if (dnp_pattern_match(dnp_str(pattern), name) &&
			dnp_pattern_any(choice->exclude.list.p, choice->exclude.list.n, name))
			return true;
	}
	return false;
}

/* Methods of .NET itself have to be asked for twice. */
static bool is_framework(const char *pattern)
{
	return !strncmp(pattern, "System.", 7) || !strncmp(pattern, "Microsoft.", 10);
}

static bool judge_includes(const struct names *names, const struct dnp_choice *choice)
{
	bool missed = false;

	for (size_t i = 0; i < choice->include.list.n; i++) {
		const char *pattern = choice->include.list.p[i];

		if (matched(names, dnp_str(pattern), true))
			continue;
		missed = true;
		if (choice->trace && !choice->framework && is_framework(pattern))
			dnp_say("--include '%s' matched no method: those of .NET itself are left "
				"out; add --framework",
				pattern);
		else if (is_taken_out(names, choice, pattern))
			dnp_say("--include '%s' left no method: --exclude takes out again what it "
				"matched; give a narrower --exclude",
				pattern);
		else
			suggest(names, "--include", pattern);
	}
	return missed;
}

/* Nothing is missing then, but what should not be there is. Only if all names were told. */
static void judge_excludes(const struct names *names, const struct dnp_choice *choice)
{
	for (size_t i = 0; i < choice->exclude.list.n && names->all; i++) {
		const char *pattern = choice->exclude.list.p[i];

		if (!matched(names, dnp_str(pattern), false) &&
			(choice->framework || !is_framework(pattern)))
			suggest(names, "--exclude", pattern);
	}
}

/* Nothing was asked for by name, and nothing is there. */
static bool judge_nothing(const struct names *names, const struct dnp_choice *choice)
{
	if (matched(names, dnp_str("*"), true))
		return false;
	if (choice->exclude.list.n)
		dnp_say("--exclude '%s' left out every method that ran; give a narrower pattern",
			choice->exclude.list.p[0]);
	else
		dnp_say("no call was recorded: no method of the program's own ran; to record "
			"those of .NET, too, add --framework");
	return true;
}

/* Samples are filtered as they are read; where some are left the patterns were not in vain. */
static bool has_samples(const struct dnp_profile *profile)
{
	for (size_t i = 0; i < profile->events.n; i++)
		if (profile->events.p[i].samples && profile->events.p[i].rows.n)
			return true;
	return false;
}

bool dnp_choice_missed(const struct dnp_choice *choice, const struct dnp_input *input,
	const struct dnp_profile *profile)
{
	struct names names = {.trace = choice->trace, .all = true};
	bool missed = false;

	if (!choice->trace && !choice->include.list.n)
		return dnp_said_nothing_left(profile, DNP_NONE) != DNP_EXIT_DONE;
	if (!choice->trace && has_samples(profile))
		return false;
	/* What it would have matched may be in what is missing; that is told. */
	if (profile->incomplete)
		return false;
	if (!read_names(&names, input)) {
		missed = choice->include.list.n ? judge_includes(&names, choice)
						: judge_nothing(&names, choice);
		if (choice->trace && !missed && !choice->quiet)
			judge_excludes(&names, choice);
	}
	names_done(&names);
	return missed;
}
