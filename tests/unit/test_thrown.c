/* SPDX-License-Identifier: MIT */
/* What became of exceptions, added up by their types. */
#include "base/clean.h"

#include "profiled.h"

/* Frames 1 M, 2 Catch, 3 and 4 types, 5 and 6 messages. Samples 1 to 6, the odd ones a worker's. */
static void load_thrown(struct fixture *f, const struct dnp_filter *filter)
{
	static const uint64_t stacks[][2] = {{1, 3}, {1, 4}};
	static const char *const names[] = {"M", "Catch", "App.A", "App.B", "one `1", "two"};

	f->rec = recording_new(1);
	RECORD(&f->rec, process, .pid = 1);
	RECORD(&f->rec, event, .index = 2, .name = dnp_str("exception"),
		.unit = dnp_str("exceptions"));
	RECORD(&f->rec, thread, .index = 0, .tid = 1, .name = dnp_str("main"));
	RECORD(&f->rec, thread, .index = 1, .tid = 2, .name = dnp_str("worker"));
	for (uint64_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		RECORD(&f->rec, frame, .index = i + 1,
			.kind = i < 2 ? DNP_FRAME_MANAGED : DNP_FRAME_LABEL,
			.name = dnp_str(names[i]));
	recording_stack(&f->rec, 1, 0, stacks[0], 2);
	recording_stack(&f->rec, 3, 0, stacks[1], 2);
	/* What became of one may stand before its sample. */
	RECORD(&f->rec, exception, .event = 2, .number = 1, .message = 5,
		.end = DNP_EXCEPTION_CAUGHT, .catcher = 2, .search_ns = 10, .unwind_ns = 1);
	for (uint64_t i = 1; i <= 6; i++)
		RECORD(&f->rec, sample, .event = 2, .thread = i % 2, .node = i <= 4 ? 2 : 4,
			.weight = 1, .value = i);
	RECORD(&f->rec, exception, .event = 2, .number = 2, .message = 6,
		.end = DNP_EXCEPTION_CAUGHT, .catcher = 2, .search_ns = 30, .unwind_ns = 2);
	RECORD(&f->rec, exception, .event = 2, .number = 3, .message = 5,
		.end = DNP_EXCEPTION_IN_FILTER, .search_ns = 5);
	/* An end that is not known yet, frames and a number that are not defined. */
	RECORD(&f->rec, exception, .event = 2, .number = 5, .end = 99, .catcher = 77,
		.message = 78);
	RECORD(&f->rec, exception, .event = 2, .number = 1000, .end = DNP_EXCEPTION_CAUGHT);
	recording_flush(&f->rec);
	load(f, filter, DNP_SUMS);
}

static void check_tally(const struct fixture *f, const struct dnp_tallies *tallies, size_t i,
	const char *name, uint64_t count)
{
	CHECK(i < tallies->n);
	CHECK_STR(dnp_profile_string(&f->profile, tallies->p[i].name), name);
	CHECK_EQ(tallies->p[i].count, count);
}

TEST(what_became_of_exceptions_by_type)
{
	const struct dnp_label *labels;
	const struct dnp_thrown *thrown;
	struct fixture f;

	load_thrown(&f, NULL);
	labels = f.profile.events.p[0].labels.p;
	CHECK_EQ(f.profile.events.p[0].labels.n, 2);
	CHECK_EQ(labels[0].sum.weight, 4);
	thrown = labels[0].thrown;
	CHECK_EQ(thrown->known, 3);
	CHECK_EQ(thrown->ended[DNP_EXCEPTION_CAUGHT], 2);
	CHECK_EQ(thrown->ended[DNP_EXCEPTION_IN_FILTER], 1);
	CHECK_EQ(thrown->ended[DNP_EXCEPTION_NOT_CAUGHT], 0);
	CHECK_EQ(thrown->search_ns, 45);
	CHECK_EQ(thrown->longest_search_ns, 30);
	CHECK_EQ(thrown->unwind_ns, 3);
	CHECK_EQ(thrown->longest_unwind_ns, 2);
	CHECK_EQ(thrown->messages.n, 2);
	check_tally(&f, &thrown->messages, 0, "one `1", 2); /* no name that could be made nicer */
	check_tally(&f, &thrown->messages, 1, "two", 1);
	CHECK_EQ(thrown->catchers.n, 1);
	check_tally(&f, &thrown->catchers, 0, "Catch", 2);
	thrown = labels[1].thrown;
	CHECK_EQ(thrown->known, 1);
	CHECK_EQ(thrown->ended[DNP_EXCEPTION_NOT_CAUGHT], 1);
	CHECK_EQ(thrown->messages.n + thrown->catchers.n, 0);
	done(&f);
}

TEST(what_became_of_exceptions_goes_with_them_by_the_filter)
{
	static const char *const main_thread[] = {"main"};
	struct dnp_filter filter = {.threads = main_thread, .thread_count = 1};
	struct fixture f;

	load_thrown(&f, &filter);
	CHECK_EQ(f.profile.events.p[0].labels.p[0].sum.weight, 2);
	CHECK_EQ(f.profile.events.p[0].labels.p[0].thrown->known, 1);
	check_tally(&f, &f.profile.events.p[0].labels.p[0].thrown->messages, 0, "two", 1);
	done(&f);
}

TEST(what_became_of_exceptions_of_several_recordings)
{
	struct fixture f;
	struct dnp_err err = {0};

	load_thrown(&f, NULL);
	CHECK_EQ(dnp_profile_add(&f.profile, &f.input, &err), 0);
	CHECK_EQ(f.profile.events.p[0].labels.p[0].thrown->known, 6);
	CHECK_EQ(f.profile.events.p[0].labels.p[0].thrown->messages.n, 2);
	done(&f);
}
