/* SPDX-License-Identifier: MIT */
/* Objects that are still there, added up by where they were made. */
#include <math.h>

#include "aggregate/live.h"
#include "base/clean.h"
#include "profiled.h"

enum { SECOND = 1000000000 };

/* Frames 1 Main and 2 Keep of the program, 3 List.Add of .NET, 4 and 5 types; 6 another way to
 * Keep. */
static void begin_alive(struct fixture *f)
{
	static const uint64_t stacks[][4] = {{1, 2, 3, 4}, {1, 5}, {1, 6, 2, 4}};
	static const char *const names[] = {"Main", "Keep", "Add", "App.A", "App.B", "Other"};

	f->rec = recording_new(1);
	RECORD(&f->rec, process, .pid = 1);
	RECORD(&f->rec, event, .index = 0, .name = dnp_str("live"), .unit = dnp_str("bytes"));
	RECORD(&f->rec, thread, .index = 0, .tid = 1, .name = dnp_str("main"));
	RECORD(&f->rec, module, .index = 0, .kind = DNP_MODULE_MANAGED,
		.name = dnp_str("System.Private.CoreLib"),
		.path = dnp_str("/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.0/"
				"System.Private.CoreLib.dll"));
	RECORD(&f->rec, module, .index = 1, .kind = DNP_MODULE_MANAGED, .name = dnp_str("App"),
		.path = dnp_str("/app/App.dll"));
	for (uint64_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		RECORD(&f->rec, frame, .index = i + 1, .module = i == 2 ? 0 : 1,
			.kind = i == 3 || i == 4 ? DNP_FRAME_LABEL : DNP_FRAME_MANAGED,
			.name = dnp_str(names[i]));
	recording_stack(&f->rec, 1, 0, stacks[0], 4);
	recording_stack(&f->rec, 5, 0, stacks[1], 2);
	recording_stack(&f->rec, 7, 0, stacks[2], 4);
}

static void put_object(
	struct fixture *f, uint64_t node, uint64_t second, uint64_t weight, uint64_t collections)
{
	RECORD(&f->rec, live, .event = 0, .time_ns = second * SECOND, .node = node,
		.weight = weight, .bytes = 50, .collections = collections, .full = collections / 2);
	if (collections)
		RECORD(&f->rec, sample, .event = 0, .node = node, .weight = weight, .value = 50);
}

static void end_alive(struct fixture *f, const struct dnp_filter *filter)
{
	RECORD(&f->rec, live_stats, .event = 0, .seen_ns = (uint64_t)8 * SECOND, .collections = 9,
		.full = 4, .mean_bytes = 100, .asked_bytes = 25, .watched = 1000, .most = 70);
	RECORD(&f->rec, end, .time_ns = (uint64_t)10 * SECOND);
	recording_flush(&f->rec);
	load(f, filter, DNP_SUMS);
}

TEST(alive_objects_by_site)
{
	const struct dnp_live_site *site;
	struct dnp_live live;
	struct fixture f;

	begin_alive(&f);
	for (uint64_t i = 0; i < 8; i++) /* evenly; half by another way, which weighs more */
		put_object(&f, i % 2 ? 10 : 4, i, i % 2 ? 200 : 100, 9 - i);
	for (uint64_t i = 0; i < 8; i++) /* more, but all at once */
		put_object(&f, 6, 1, 1000, 8);
	put_object(&f, 4, 9, 100, 0);
	end_alive(&f, NULL);
	CHECK(!dnp_live_init(&live, &f.profile));
	CHECK_EQ(live.sites.n, 2);
	CHECK(live.collections == 9 && live.full == 4 && live.watched == 1000 && live.most == 70);
	CHECK(live.mean_bytes == 100 && live.asked_bytes == 25);
	CHECK_EQ(live.unseen.samples, 1);
	CHECK_EQ(live.unseen.weight, 100);
	site = &live.sites.p[0];
	CHECK_STR(name_of(&f, site->at.type), "App.A");
	CHECK_STR(name_of(&f, site->at.method), "Keep"); /* its own, above .NET's */
	CHECK_STR(name_of(&f, f.profile.nodes.p[f.profile.nodes.p[site->at.node].parent].frame),
		"Other");
	CHECK_EQ(site->at.sum.weight, 1200);
	CHECK_EQ(site->at.sum.samples, 8);
	CHECK(fabs(site->at.sum.count - 24) < 1e-9);
	CHECK_EQ(site->oldest_ns, (uint64_t)10 * SECOND);
	CHECK_EQ(site->median_ns, (uint64_t)7 * SECOND); /* 100 + 200 + 100 + 200 of 1200 */
	CHECK_EQ(site->most_full, 4);
	CHECK_EQ(site->median_full, 3);
	for (unsigned i = 0; i < DNP_LIVE_PARTS; i++)
		CHECK_EQ(site->parts[i], i % 2 ? 200 : 100);
	CHECK(site->even > 0.999);
	site = &live.sites.p[1];
	CHECK_STR(name_of(&f, site->at.type), "App.B");
	CHECK_STR(name_of(&f, site->at.method), "Main");
	CHECK_EQ(site->parts[1], 8000);
	CHECK(site->even < 0.001);
	dnp_live_done(&live);
	done(&f);
}

/* A stack of its type alone; objects that the filter leaves out, and what is not defined. */
TEST(alive_objects_that_are_odd)
{
	static const char *const exclude[] = {"Keep"};
	struct dnp_filter filter = {.exclude = exclude, .exclude_count = 1};
	static const uint64_t bare[] = {4};
	struct dnp_live live;
	struct fixture f;

	begin_alive(&f);
	recording_stack(&f.rec, 20, 0, bare, 1);
	put_object(&f, 20, 3, 100, 1);
	put_object(&f, 4, 3, 100, 1);
	put_object(&f, 999, 3, 100, 1);
	put_object(&f, 0, 3, 100, 1);
	RECORD(&f.rec, live, .event = 7, .thread = 99, .node = 6, .weight = 10, .collections = 3);
	end_alive(&f, &filter);
	CHECK(!dnp_live_init(&live, &f.profile));
	CHECK(live.sites.n >= 2);
	for (size_t i = 0; i < live.sites.n; i++)
		CHECK(strcmp(name_of(&f, live.sites.p[i].at.method), "Keep") != 0);
	dnp_live_done(&live);
	done(&f);
}

TEST(alive_parts_are_even_or_not)
{
	static const double all[] = {5, 0, 0, 0}, same[] = {2, 2, 2, 2}, half[] = {3, 3, 0, 0};

	CHECK(fabs(dnp_live_even(all)) < 1e-9);
	CHECK(fabs(dnp_live_even(same) - 1) < 1e-9);
	CHECK(fabs(dnp_live_even(half) - 1.0 / 3) < 1e-9);
}

/* What is lost of it is a part of what was allocated, for some of that would not have stayed. */
TEST(alive_objects_that_were_lost_are_some_of_those_that_were_allocated)
{
	static const char *const no_threads[] = {"other"};
	struct dnp_filter filters[] = {
		{0}, {.from_ns = 1}, {.threads = no_threads, .thread_count = 1}};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(filters); i++) {
		const struct dnp_event *events;
		struct fixture f;

		begin_alive(&f);
		RECORD(&f.rec, event, .index = 1, .name = dnp_str("alloc"),
			.unit = dnp_str("bytes"));
		put_object(&f, 4, 1, 100, 5);
		for (uint64_t n = 0; n < 100; n++)
			RECORD(&f.rec, sample, .event = 1, .node = 4, .weight = 1000, .value = 50);
		RECORD(&f.rec, loss, .event = 0, .reason = DNP_LOSS_RING, .count = 500);
		RECORD(&f.rec, loss, .event = 1, .reason = DNP_LOSS_RING, .count = 3000);
		end_alive(&f, &filters[i]);
		events = f.profile.events.p;
		CHECK_EQ(dnp_live_allocated(&f.profile, &events[0]), i ? 0 : 103000);
		CHECK_EQ(dnp_live_allocated(&f.profile, &events[1]), 0);
		done(&f);
	}
}
