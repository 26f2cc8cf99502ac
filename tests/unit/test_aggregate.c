/* SPDX-License-Identifier: MIT */
/* From records to answers: totals, recursion, filters, names, what is lost, several recordings. */
#include <math.h>

#include "aggregate/ids.h"
#include "aggregate/sites.h"
#include "aggregate/spans.h"
#include "aggregate/threads.h"

#include "base/clean.h"
#include "capture/thin.h"

#include "profiled.h"

static void load_small(struct fixture *f, const struct dnp_filter *filter)
{
	f->rec = recording_new(1);
	recording_small(&f->rec);
	load(f, filter, DNP_SUMS);
}

static void check_method(const struct fixture *f, const char *name, uint64_t self, uint64_t total,
	enum dnp_code code)
{
	const struct dnp_method *m = method(f, name);

	CHECK_EQ(m->self, self);
	CHECK_EQ(m->total, total);
	CHECK_EQ(f->profile.frames.p[m->frame].code, code);
}

TEST(methods_self_total_and_recursion)
{
	struct fixture f;

	load_small(&f, NULL);
	check_method(&f, "App.Program.Main()", 0, 12, DNP_CODE_USER);
	check_method(&f, "App.Program.Hot()", 3, 9, DNP_CODE_USER);
	check_method(&f, "System.Math.Sin(double)", 6, 6, DNP_CODE_FRAMEWORK);
	check_method(&f, "App.Program.Rec()", 2, 2, DNP_CODE_USER);
	check_method(&f, "libc.so.6!memcpy", 0, 1, DNP_CODE_NATIVE);
	check_method(&f, "[k] do_syscall", 1, 1, DNP_CODE_KERNEL);
	CHECK_EQ(f.tree.methods.n, 6);
	CHECK_EQ(f.tree.methods.p[0].self, 6);
	dnp_tree_sort_by_total(&f.tree);
	CHECK_EQ(f.tree.methods.p[0].total, 12);
	done(&f);
}

TEST(profile_facts)
{
	struct fixture f;
	const struct dnp_event *event;

	load_small(&f, NULL);
	event = &f.profile.events.p[0];
	CHECK(!f.profile.incomplete);
	CHECK_EQ(f.profile.duration_ns, 100000000);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.processes.p[0].title), "app.dll");
	CHECK_EQ(f.profile.processes.p[0].status, 3);
	CHECK_EQ(event->samples, 12);
	CHECK_EQ(event->lost, 4);
	CHECK_EQ(event->lost_by[DNP_LOSS_RING], 4);
	CHECK_EQ(event->truncated, 1);
	CHECK_EQ(event->failed, 2);
	CHECK_EQ(f.profile.threads.n, 2);
	CHECK_EQ(f.profile.threads.p[0].cpu_ns, 100000000);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.threads.p[1].name), "worker");
	CHECK_EQ(f.tree.thread_total[0], 9);
	CHECK_EQ(f.tree.thread_total[1], 3);
	done(&f);
}

TEST(walk_visits_all_once_parents_first)
{
	struct fixture f;
	struct dnp_tree_walk walk;
	uint64_t self = 0;
	size_t nodes = 0;
	uint32_t opened = 0, closed = 0;

	load_small(&f, NULL);
	walk = dnp_tree_walk(&f.tree, 1);
	while (dnp_tree_walk_next(&walk)) {
		self += f.tree.self[walk.node];
		nodes++;
		opened++;
		closed += walk.left;
		CHECK_EQ(opened - closed, walk.depth + 1);
	}
	CHECK_EQ(self, 12);
	CHECK_EQ(nodes, f.profile.nodes.n);
	done(&f);
}

TEST(filters)
{
	static const char *const worker[] = {"worker"}, *const tid[] = {"42"};
	static const char *const hot[] = {"App.*.Hot"}, *const libc[] = {"libc.so.6!*"};
	const struct {
		struct dnp_filter filter;
		uint64_t samples;
	} cases[] = {
		{{.threads = worker, .thread_count = 1}, 3},
		{{.threads = tid, .thread_count = 1}, 9},
		{{.include = hot, .include_count = 1}, 9},
		{{.exclude = hot, .exclude_count = 1}, 3},
		{{.exclude = libc, .exclude_count = 1}, 11},
		{{.include = hot, .include_count = 1, .threads = worker, .thread_count = 1}, 0},
		{{.from_ns = 15000000}, 7},
		{{.from_ns = 15000000, .to_ns = 30000000}, 4},
		{{.state = DNP_STATE_RUNNING}, 12},
		{{.state = DNP_STATE_WAITING}, 0},
		{{.native = DNP_NATIVE_NONE, .include = libc, .include_count = 1}, 1},
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(cases); i++) {
		struct fixture f;

		load_small(&f, &cases[i].filter);
		CHECK_EQ(f.profile.events.p[0].samples, cases[i].samples);
		CHECK_EQ(f.tree.total[0], cases[i].samples);
		done(&f);
	}
}

static void load_wall(struct fixture *f, const struct dnp_filter *filter)
{
	f->rec = recording_new(1);
	recording_wall(&f->rec);
	load(f, filter, DNP_BY_TIME);
	dnp_tree_done(&f->tree);
	CHECK_EQ(dnp_tree_init(&f->tree, &f->profile, dnp_profile_event(&f->profile, "wall")), 0);
}

/* The stacks that samples stand on, as "root;leaf count" lines in the order of the tree. */
static void check_stacks(const struct fixture *f, const char *expected)
{
	struct dnp_tree_walk walk = dnp_tree_walk(&f->tree, 1);
	char text[1024] = "";
	size_t n = 0;

	while (dnp_tree_walk_next(&walk)) {
		uint32_t path[16], depth = 0;

		if (!f->tree.self[walk.node])
			continue;
		for (uint32_t at = walk.node; at; at = f->profile.nodes.p[at].parent)
			path[depth++] = f->profile.nodes.p[at].frame;
		while (depth--)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
				dnp_profile_string(
					&f->profile, f->profile.frames.p[path[depth]].name),
				depth ? ";" : "");
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, " %u\n", (unsigned)f->tree.self[walk.node]);
	}
	CHECK_STR(text, expected);
}

TEST(native_frames_all_at_the_leaf_or_none)
{
	static const char *const expected[] = {
		[DNP_NATIVE_ALL] = " 1\n"
				   "libc!start;Work() 1\n"
				   "libc!start;Work();libc!poll 12\n"
				   "libc!start;Main();libc!qsort;Compare();libc!memcpy 3\n"
				   "libc!start;Main();libc!poll 1\n"
				   "libc!start;libc!poll 2\n",
		[DNP_NATIVE_LEAF] = " 1\n"
				    "Work() 1\n"
				    "Work();libc!poll 12\n"
				    "Main();Compare();libc!memcpy 3\n"
				    "Main();libc!poll 1\n"
				    "libc!start;libc!poll 2\n",
		[DNP_NATIVE_NONE] = " 1\n"
				    "Work() 13\n"
				    "Main() 1\n"
				    "Main();Compare() 3\n"
				    "[native] 2\n",
	};

	for (unsigned native = DNP_NATIVE_ALL; native <= DNP_NATIVE_NONE; native++) {
		struct dnp_filter filter = {.native = (enum dnp_native)native};
		struct fixture f;

		load_wall(&f, &filter);
		check_stacks(&f, expected[native]);
		done(&f);
	}
}

TEST(what_stands_for_managed_code_is_no_native_frame)
{
	static const char *const names[] = {"[unloaded]", "[not sampled]", "[stub]", "[native]"};
	struct dnp_filter filter = {.native = DNP_NATIVE_NONE};
	struct fixture f = {.rec = recording_new(1)};

	RECORD(&f.rec, process, .pid = 1);
	for (uint64_t i = 0; i < DNP_ARRAY_SIZE(names); i++) {
		RECORD(&f.rec, frame, .index = i, .kind = DNP_FRAME_OTHER,
			.name = dnp_str(names[i]));
		recording_stack(&f.rec, i + 1, 0, &i, 1);
		RECORD(&f.rec, sample, .node = i + 1, .weight = 4 - i);
	}
	RECORD(&f.rec, sample, .node = 77, .weight = 5);
	recording_flush(&f.rec);
	load(&f, &filter, DNP_SUMS);
	check_stacks(&f, "[lost] 5\n[unloaded] 4\n[not sampled] 3\n[native] 3\n");
	done(&f);
}

/* Objects of 100 bytes that stand for 100,000 each, and one that stands for itself. */
static void make_labelled(struct fixture *f, unsigned n_small)
{
	static const uint64_t stacks[][2] = {{1, 2}, {1, 3}};

	f->rec = recording_new(1);
	RECORD(&f->rec, process, .pid = 1);
	RECORD(&f->rec, event, .index = 0, .name = dnp_str("alloc"), .unit = dnp_str("bytes"));
	RECORD(&f->rec, thread, .index = 0, .tid = 1, .name = dnp_str("main"));
	RECORD(&f->rec, thread, .index = 1, .tid = 2, .name = dnp_str("worker"));
	RECORD(&f->rec, frame, .index = 1, .kind = DNP_FRAME_MANAGED, .name = dnp_str("App.P.M()"));
	RECORD(&f->rec, frame, .index = 2, .kind = DNP_FRAME_LABEL,
		.name = dnp_str("App.Box<System.Int32>"));
	RECORD(&f->rec, frame, .index = 3, .kind = DNP_FRAME_LABEL,
		.name = dnp_str("System.Byte[]"));
	recording_stack(&f->rec, 1, 0, stacks[0], 2);
	recording_stack(&f->rec, 3, 0, stacks[1], 2);
	for (unsigned i = 0; i < n_small; i++)
		RECORD(&f->rec, sample, .thread = i % 2, .node = 2, .weight = 100000, .value = 100);
	RECORD(&f->rec, sample, .node = 4, .weight = 5000000, .value = 5000000);
	recording_flush(&f->rec);
}

/* Frames of what tells of an event are not where it happened; a sample of time may be of them. */
TEST(labels_stand_below_what_tells_of_them)
{
	static const uint64_t allocated[] = {1, 3, 3, 4}, waited[] = {2, 5, 4}, ours[] = {3, 3};
	static const uint64_t thrown[] = {2, 1, 6, 6, 7};
	struct fixture f;

	f.rec = recording_new(1);
	RECORD(&f.rec, process, .pid = 1);
	RECORD(&f.rec, event, .name = dnp_str("alloc"), .unit = dnp_str("bytes"));
	RECORD(&f.rec, thread, .index = 0, .tid = 1, .name = dnp_str("main"));
	RECORD(&f.rec, module, .index = 1, .path = dnp_str("/usr/lib/libruntime.so"));
	RECORD(&f.rec, module, .index = 2, .path = dnp_str("/usr/lib/dnprof/libdnprof.so"));
	RECORD(&f.rec, frame, .index = 1, .kind = DNP_FRAME_NATIVE, .module = 1,
		.name = dnp_str("boot"));
	RECORD(&f.rec, frame, .index = 2, .kind = DNP_FRAME_MANAGED, .name = dnp_str("App.P.M()"));
	RECORD(&f.rec, frame, .index = 3, .kind = DNP_FRAME_NATIVE, .module = 2,
		.name = dnp_str("walk"));
	RECORD(&f.rec, frame, .index = 4, .kind = DNP_FRAME_LABEL, .name = dnp_str("App.A"));
	RECORD(&f.rec, frame, .index = 5, .kind = DNP_FRAME_R2R,
		.name = dnp_str("System.Diagnostics.Tracing.NativeRuntimeEventSource.Tell()"));
	RECORD(&f.rec, frame, .index = 6, .kind = DNP_FRAME_R2R,
		.name = dnp_str("System.Runtime.EH.DispatchEx()"));
	RECORD(&f.rec, frame, .index = 7, .kind = DNP_FRAME_LABEL, .name = dnp_str("App.Error"));
	recording_stack(&f.rec, 1, 0, allocated, 4);
	recording_stack(&f.rec, 5, 0, waited, 3);
	recording_stack(&f.rec, 8, 0, ours, 2);
	recording_stack(&f.rec, 10, 0, thrown, 5);
	RECORD(&f.rec, sample, .node = 4, .weight = 2);
	RECORD(&f.rec, sample, .node = 7, .weight = 3);
	RECORD(&f.rec, sample, .node = 9, .weight = 4);
	RECORD(&f.rec, sample, .node = 14, .weight = 1);
	recording_flush(&f.rec);
	load(&f, NULL, DNP_SUMS);
	check_stacks(&f,
		"App.P.M();App.A 3\nApp.P.M();App.Error 1\nlibdnprof.so!walk;libdnprof.so!walk 4\n"
		"libruntime.so!boot;App.A 2\n");
	done(&f);
}

TEST(labels_of_samples_that_weigh_nothing_are_known)
{
	static const uint64_t stack[] = {1, 2};
	const struct dnp_event *event;
	struct fixture f;

	f.rec = recording_new(1);
	RECORD(&f.rec, process, .pid = 1);
	RECORD(&f.rec, event, .index = 0, .name = dnp_str("gc"), .unit = dnp_str("ns"));
	RECORD(&f.rec, thread, .index = 0, .tid = 1, .name = dnp_str("main"));
	RECORD(&f.rec, frame, .index = 1, .kind = DNP_FRAME_MANAGED, .name = dnp_str("App.P.M()"));
	RECORD(&f.rec, frame, .index = 2, .kind = DNP_FRAME_LABEL, .name = dnp_str("gen 2"));
	recording_stack(&f.rec, 1, 0, stack, 2);
	RECORD(&f.rec, sample, .node = 2, .weight = 0, .value = 1);
	recording_flush(&f.rec);
	load(&f, NULL, DNP_SUMS);
	event = &f.profile.events.p[0];
	CHECK_EQ(event->labels.n, 1);
	CHECK_STR(dnp_profile_string(&f.profile, event->labels.p[0].name), "gen 2");
	CHECK_EQ(event->labels.p[0].sum.weight, 0);
	done(&f);
}

/* It has no place in the tree, and none in the tables of places. */
TEST(labels_of_samples_that_weigh_nothing_have_no_place)
{
	static const uint64_t light[] = {1, 2}, heavy[] = {1, 3};
	struct dnp_filter filters[] = {{0}, {.native = DNP_NATIVE_NONE}};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(filters); i++) {
		const struct dnp_event *event;
		struct fixture f;

		f.rec = recording_new(1);
		RECORD(&f.rec, process, .pid = 1);
		RECORD(&f.rec, event, .name = dnp_str("alloc"), .unit = dnp_str("bytes"));
		RECORD(&f.rec, thread, .tid = 1, .name = dnp_str("main"));
		RECORD(&f.rec, frame, .index = 1, .kind = DNP_FRAME_MANAGED,
			.name = dnp_str("App.P.M()"));
		RECORD(&f.rec, frame, .index = 2, .kind = DNP_FRAME_LABEL,
			.name = dnp_str("App.A"));
		RECORD(&f.rec, frame, .index = 3, .kind = DNP_FRAME_LABEL,
			.name = dnp_str("App.B"));
		recording_stack(&f.rec, 1, 0, light, 2);
		recording_stack(&f.rec, 3, 0, heavy, 2);
		RECORD(&f.rec, sample, .node = 2, .weight = 0, .value = 24);
		RECORD(&f.rec, sample, .node = 4, .weight = 100, .value = 24);
		recording_flush(&f.rec);
		load(&f, &filters[i], DNP_SUMS);
		event = &f.profile.events.p[0];
		CHECK_EQ(event->labels.n, 2);
		CHECK_EQ(event->made.n, 1);
		CHECK(event->made.p[0].node < f.profile.nodes.n);
		CHECK_STR(name_of(&f, f.profile.nodes.p[event->made.p[0].node].frame), "App.B");
		done(&f);
	}
}

TEST(waits_stand_for_themselves_and_the_longest_is_known)
{
	static const uint64_t stack[] = {1, 2};
	const struct dnp_event *event;
	struct fixture f;

	f.rec = recording_new(1);
	RECORD(&f.rec, process, .pid = 1);
	RECORD(&f.rec, event, .index = 0, .name = dnp_str("lock"), .unit = dnp_str("ns"));
	RECORD(&f.rec, thread, .index = 0, .tid = 1, .name = dnp_str("main"));
	RECORD(&f.rec, frame, .index = 1, .kind = DNP_FRAME_MANAGED, .name = dnp_str("App.P.M()"));
	RECORD(&f.rec, frame, .index = 2, .kind = DNP_FRAME_LABEL, .name = dnp_str("App.Gate"));
	recording_stack(&f.rec, 1, 0, stack, 2);
	/* The value is which lock it was. */
	RECORD(&f.rec, sample, .node = 2, .weight = 3000000, .value = 1000);
	RECORD(&f.rec, sample, .node = 2, .weight = 9000000, .value = 1000);
	RECORD(&f.rec, sample, .node = 2, .weight = 4000000, .value = 2000);
	RECORD(&f.rec, wait_stats, .least_ns = 1000000, .waits = 5, .seen = 3,
		.waited_ns = 16500000);
	recording_flush(&f.rec);
	load(&f, NULL, DNP_SUMS);
	event = &f.profile.events.p[0];
	CHECK_EQ(event->labels.n, 1);
	CHECK_EQ((uint64_t)event->labels.p[0].sum.count, 3);
	CHECK_EQ(event->labels.p[0].sum.weight, 16000000);
	CHECK_EQ(event->labels.p[0].sum.greatest, 9000000);
	CHECK_EQ(event->waits, 5);
	CHECK_EQ(event->waits_seen, 3);
	CHECK_EQ(event->waited_ns, 16500000);
	done(&f);
}

/* Calls of two threads, of which few are samples. */
static void make_counted(struct fixture *f)
{
	static const uint64_t stack[] = {1, 2};

	f->rec = recording_new(1);
	RECORD(&f->rec, process, .pid = 1);
	RECORD(&f->rec, event, .index = 0, .name = dnp_str("transition"), .unit = dnp_str("ns"));
	RECORD(&f->rec, thread, .index = 0, .tid = 1, .name = dnp_str("main"));
	RECORD(&f->rec, thread, .index = 1, .tid = 2, .name = dnp_str("worker"));
	RECORD(&f->rec, frame, .index = 1, .kind = DNP_FRAME_MANAGED, .name = dnp_str("App.P.M()"));
	RECORD(&f->rec, frame, .index = 2, .kind = DNP_FRAME_LABEL, .name = dnp_str("App.P.Out()"));
	RECORD(&f->rec, frame, .index = 3, .kind = DNP_FRAME_LABEL, .name = dnp_str("App.P.Not()"));
	recording_stack(&f->rec, 1, 0, stack, 2);
	RECORD(&f->rec, sample, .node = 2, .weight = 1000000, .value = 500);
	RECORD(&f->rec, sample, .node = 2, .weight = 2000000, .value = 2000000);
	RECORD(&f->rec, transitions, .frame = 2, .calls = 7, .total_ns = 100, .longest_ns = 90);
	RECORD(&f->rec, transitions, .frame = 2, .calls = 4000, .total_ns = 4000000,
		.longest_ns = 2000000);
	RECORD(&f->rec, transitions, .thread = 1, .frame = 2, .calls = 10, .total_ns = 6000,
		.longest_ns = 700, .unfinished = 1);
	RECORD(&f->rec, transitions, .thread = 1, .frame = 3, .number = 1, .unfinished = 2);
	RECORD(&f->rec, transitions, .thread = 1, .frame = 3, .number = 2, .unfinished = 3);
	recording_flush(&f->rec);
}

TEST(calls_that_are_counted_are_not_estimated)
{
	static const char *const worker[] = {"worker"}, *const in[] = {"App.P.M"};
	struct dnp_filter of_thread = {.threads = worker, .thread_count = 1};
	struct dnp_filter of_stacks = {.include = in, .include_count = 1};
	const struct dnp_event *event;
	struct fixture f;

	make_counted(&f);
	load(&f, NULL, DNP_SUMS);
	event = &f.profile.events.p[0];
	CHECK(event->counted);
	CHECK_EQ(event->labels.n, 2);
	CHECK_STR(dnp_profile_string(&f.profile, event->labels.p[0].name), "App.P.Out()");
	CHECK_EQ((uint64_t)event->labels.p[0].sum.count, 4010);
	CHECK_EQ(event->labels.p[0].sum.weight, 4006000);
	CHECK_EQ(event->labels.p[0].sum.greatest, 2000000);
	CHECK_EQ(event->labels.p[0].sum.samples, 2);
	CHECK_EQ(event->labels.p[0].sum.unfinished, 1);
	CHECK_EQ(event->labels.p[1].sum.unfinished, 5);
	check_stacks(&f, "App.P.M();App.P.Out() 3000000\n");
	done(&f);

	make_counted(&f);
	load(&f, &of_thread, DNP_SUMS);
	event = &f.profile.events.p[0];
	CHECK_EQ((uint64_t)event->labels.p[0].sum.count, 10);
	CHECK_EQ(event->labels.p[0].sum.samples, 0);
	done(&f);

	/* On which stacks they were counts do not tell. */
	make_counted(&f);
	load(&f, &of_stacks, DNP_SUMS);
	event = &f.profile.events.p[0];
	CHECK(!event->counted);
	CHECK_EQ((uint64_t)event->labels.p[0].sum.count, 2001);
	CHECK_EQ(event->labels.p[0].sum.weight, 3000000);
	done(&f);
}

TEST(what_samples_are_about_is_added_up_with_its_bounds)
{
	const struct dnp_label *large, *small;
	struct dnp_range range;
	struct fixture f;

	make_labelled(&f, 100);
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(f.profile.events.p[0].labels.n, 2);
	small = &f.profile.events.p[0].labels.p[0];
	large = &f.profile.events.p[0].labels.p[1];
	CHECK_STR(dnp_profile_string(&f.profile, small->name), "App.Box<System.Int32>");
	CHECK_EQ(small->sum.weight, 10000000);
	CHECK_EQ((uint64_t)small->sum.count, 100000);
	CHECK_EQ(small->sum.samples, 100);
	range = dnp_label_range(&small->sum, 0);
	/* Of 100 Poisson counts: from 81.36 to 121.63. */
	CHECK(range.low > 8130000 && range.low < 8140000);
	CHECK(range.high > 12160000 && range.high < 12170000);
	CHECK_STR(dnp_profile_string(&f.profile, large->name), "System.Byte[]");
	CHECK_EQ((uint64_t)large->sum.count, 1);
	range = dnp_label_range(&large->sum, 0);
	CHECK(range.low == 5000000 && range.high == 5000000);
	/* None of the small ones of that type was seen: it may be up to 3.7 lots. */
	CHECK_EQ(f.profile.events.p[0].lot, 100000);
	range = dnp_label_range(&large->sum, f.profile.events.p[0].lot);
	CHECK(range.low == 5000000 && range.high > 5360000 && range.high < 5370000);
	/* Labels are leaves, and stay where native frames go. */
	check_stacks(
		&f, "App.P.M();App.Box<System.Int32> 10000000\nApp.P.M();System.Byte[] 5000000\n");
	done(&f);
}

/* The program's own method, though .NET's is nearer; by which way most comes; and by the filter. */
TEST(what_was_allocated_is_known_by_place)
{
	static const char *const no_box[] = {"App.Box*"};
	struct dnp_filter filters[] = {
		{0}, {.native = DNP_NATIVE_NONE}, {.exclude = no_box, .exclude_count = 1}};
	static const uint64_t by_framework[] = {1, 4, 2}, by_other[] = {5, 1, 2}, alone[] = {3};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(filters); i++) {
		struct dnp_sites sites;
		struct fixture f;
		size_t n = 0;

		make_labelled(&f, 10);
		RECORD(&f.rec, module, .index = 1,
			.path = dnp_str(
				"/shared/Microsoft.NETCore.App/10.0.0/System.Private.CoreLib.dll"));
		RECORD(&f.rec, frame, .index = 4, .kind = DNP_FRAME_R2R, .module = 1,
			.name = dnp_str("System.Array.Resize()"));
		RECORD(&f.rec, frame, .index = 5, .kind = DNP_FRAME_MANAGED,
			.name = dnp_str("App.P.Main()"));
		recording_stack(&f.rec, 10, 0, by_framework, 3);
		recording_stack(&f.rec, 20, 0, by_other, 3);
		recording_stack(&f.rec, 30, 0, alone, 1);
		RECORD(&f.rec, sample, .node = 12, .weight = 100000, .value = 100);
		for (unsigned k = 0; k < 20; k++)
			RECORD(&f.rec, sample, .node = 22, .weight = 100000, .value = 100);
		RECORD(&f.rec, sample, .node = 30, .weight = 70, .value = 70);
		recording_flush(&f.rec);
		load(&f, &filters[i], DNP_SUMS);
		CHECK(!dnp_sites_of_event(&sites, &f.profile, &f.profile.events.p[0]));
		CHECK_EQ(sites.all.n, i == 2 ? 2 : 3);
		if (sites.all.n == 3) {
			const struct dnp_site *box = &sites.all.p[1];
			uint32_t below = f.profile.nodes.p[box->node].parent;

			n = 1;
			CHECK_STR(name_of(&f, box->type), "App.Box<System.Int32>");
			CHECK_STR(name_of(&f, box->method), "App.P.M()");
			CHECK_STR(name_of(&f, f.profile.nodes.p[below].frame), "App.P.Main()");
			CHECK_EQ(box->sum.weight, 3100000);
			CHECK_EQ(box->sum.samples, 31);
			CHECK(box->sum.variance > 0);
		}
		CHECK_STR(name_of(&f, sites.all.p[0].type), "System.Byte[]");
		CHECK_STR(name_of(&f, sites.all.p[0].method), "App.P.M()");
		CHECK_EQ(sites.all.p[0].sum.weight, 5000000);
		CHECK_STR(name_of(&f, sites.all.p[n + 1].method), "System.Byte[]");
		CHECK_EQ(sites.all.p[n + 1].sum.weight, 70);
		dnp_sites_done(&sites);
		done(&f);
	}
}

TEST(what_samples_are_about_goes_with_them_by_the_filter)
{
	static const char *const worker[] = {"worker"};
	struct dnp_filter filter = {
		.threads = worker, .thread_count = 1, .native = DNP_NATIVE_NONE};
	struct fixture f;

	make_labelled(&f, 10);
	load(&f, &filter, DNP_SUMS);
	CHECK_EQ(f.profile.events.p[0].labels.n, 1);
	CHECK_EQ(f.profile.events.p[0].labels.p[0].sum.weight, 500000);
	CHECK_EQ(f.profile.events.p[0].samples, 5);
	CHECK_EQ(f.profile.events.p[0].taken, 11);
	done(&f);
}

/* As alloc=exact counts: a sample for each place, of all that there were. */
TEST(what_a_sample_is_the_sum_of_goes_with_it_by_the_filter)
{
	static const char *const worker[] = {"worker"}, *const box[] = {"App.Box*"};
	static const uint64_t counts[][2] = {{0, 10}, {1, 1000}}; /* by thread and place */
	struct dnp_filter filters[] = {
		{0},
		{.threads = worker, .thread_count = 1},
		{.include = box, .include_count = 1},
		{.exclude = box, .exclude_count = 1},
	};
	static const uint64_t wanted[] = {1010, 1000, 10, 1000};

	for (size_t i = 0; i < 2 * DNP_ARRAY_SIZE(filters); i++) {
		size_t which = i / 2;
		struct fixture f;

		make_labelled(&f, 0);
		for (size_t k = 0; k < DNP_ARRAY_SIZE(counts); k++)
			RECORD(&f.rec, sample, .thread = counts[k][0], .node = 2 + 2 * k,
				.weight = 24 * counts[k][1], .count = counts[k][1]);
		recording_flush(&f.rec);
		load(&f, &filters[which], i % 2 ? DNP_BY_TIME : DNP_SUMS);
		CHECK_EQ(f.profile.events.p[0].samples,
			wanted[which] + (which == 0 || which == 3)); /* and the large one */
		done(&f);
	}
}

TEST(one_sample_has_wide_bounds_and_none_below_what_was_seen)
{
	struct dnp_label_sum sum = {0};
	struct dnp_range range;

	dnp_label_sum_sample(&sum, 102400, 24);
	range = dnp_label_range(&sum, 0);
	CHECK(range.low >= 24 && range.low < 30000);
	CHECK(range.high > 500000 && range.high < 700000);
	sum = (struct dnp_label_sum){0};
	dnp_label_sum_sample(&sum, 110000, 100000);
	range = dnp_label_range(&sum, 0);
	CHECK(range.low >= 100000);
	CHECK(range.high > 150000);
	sum = (struct dnp_label_sum){0};
	dnp_label_sum_exact(&sum, 7000, 41);
	dnp_label_sum_exact(&sum, 400, 2);
	range = dnp_label_range(&sum, 0);
	CHECK(range.low >= 7400 && range.high <= 7400 && sum.count >= 43 && sum.count <= 43);
	CHECK_EQ(sum.samples, 2);
	sum = (struct dnp_label_sum){0};
	dnp_label_sum_sample(&sum, 3, 0); /* without a value it stands for itself */
	range = dnp_label_range(&sum, 0);
	CHECK(sum.count == 1 && range.low == 3 && range.high == 3);
}

enum { CHOSEN_BYTES = 102400, LOT_BYTES = 512 << 10, TRIALS = 2000 };

/*
 * So many objects of each size, of which .NET 10 chooses, and alloc of these one for `lot`. Their
 * bytes.
 */
static double allocate(const uint64_t (*sizes)[2], size_t n, uint64_t lot, uint64_t *turn,
	struct dnp_label_sum *sum)
{
	double truth = 0;

	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < sizes[i][1]; k++) {
			double size = (double)sizes[i][0], chosen = 1 - exp(-size / CHOSEN_BYTES);
			uint64_t weight;

			truth += size;
			if (dnp_lot(*turn += DNP_LOT_STEP) >= chosen)
				continue;
			weight = dnp_thin(size / chosen, dnp_lot(*turn += DNP_LOT_STEP), lot);
			if (weight)
				dnp_label_sum_sample(sum, weight, sizes[i][0]);
		}
	return truth;
}

/* Whether the truth is within, where the lot is doubled as often while they are allocated. */
static bool is_within(const uint64_t (*sizes)[2], size_t n, unsigned doubled, uint64_t *turn)
{
	struct dnp_label_sum sum = {0};
	struct dnp_range range;
	double truth = 0;

	for (unsigned k = 0; k <= doubled; k++)
		truth += allocate(sizes, n, (uint64_t)LOT_BYTES << k, turn, &sum);
	range = dnp_label_range(&sum, (uint64_t)LOT_BYTES << doubled);
	return truth >= range.low - 1 && truth <= range.high + 1;
}

/* Small ones, large ones that are all seen, both, those in between, and what a list takes that
 * grows. */
TEST(the_truth_is_in_its_range_95_times_in_100)
{
	static const struct {
		uint64_t sizes[16][2]; /* bytes of one, how many */
	} programs[] = {
		{{{400, 25000}}},
		{{{1000, 400}}},
		{{{3000000, 1}, {1000, 400}}},
		{{{3000000, 20}, {240, 10000}}},
		{{{262144, 20}}},
		{{{262144, 4}, {4000, 400}}},
		{{{512, 1}, {1024, 1}, {2048, 1}, {4096, 1}, {8192, 1}, {16384, 1}, {32768, 1},
			{65536, 1}, {131072, 1}, {262144, 1}, {524288, 1}, {1048576, 1},
			{2097152, 1}, {4194304, 1}}},
	};
	uint64_t turn = 1;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(programs); i++)
		for (unsigned doubled = 0; doubled <= 4; doubled += 2) {
			unsigned within = 0;

			for (unsigned k = 0; k < TRIALS; k++)
				within += is_within(programs[i].sizes,
					DNP_ARRAY_SIZE(programs[i].sizes), doubled, &turn);
			CHECK(within >= TRIALS * 0.95);
		}
}

TEST(threads_that_ran_and_that_waited)
{
	struct dnp_filter filters[] = {
		{0}, {.state = DNP_STATE_RUNNING}, {.state = DNP_STATE_WAITING}};
	static const unsigned samples[] = {20, 5, 15}, waiting[] = {15, 0, 15};
	/* 20 * 20 / (3 * 3 + 6 * 2 * 2 + 2 * 2 + 3 * 1), and so on. */
	static const unsigned looks[] = {11, 3, 8}, equal_by_100[] = {1000, 227, 776};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(filters); i++) {
		struct fixture f;

		load_wall(&f, &filters[i]);
		CHECK_EQ(f.tree.event->samples, samples[i]);
		CHECK_EQ(f.tree.event->waiting, waiting[i]);
		CHECK_EQ(f.tree.event->looks, looks[i]);
		CHECK_EQ((unsigned)(100 * dnp_event_equal_looks(f.tree.event) + 0.5),
			equal_by_100[i]);
		CHECK_EQ(f.tree.total[0], samples[i]);
		CHECK_EQ(f.tree.thread_total[0], i == 0 ? 4 : i == 1 ? 3 : 1);
		CHECK_EQ(f.tree.thread_waiting[0], i == 1 ? 0 : 1);
		done(&f);
	}
}

TEST(events_have_their_notes_and_failures)
{
	const struct dnp_event *wall;
	struct fixture f;

	load_wall(&f, NULL);
	wall = f.tree.event;
	CHECK_EQ(f.profile.events.n, 2);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].name), "cpu");
	CHECK_EQ(f.profile.events.p[0].samples, 4);
	CHECK_EQ(f.profile.events.p[0].failures.n, 0);
	CHECK(strstr(dnp_profile_string(&f.profile, wall->note), "safepoint-biased"));
	CHECK_EQ(wall->failed, 5);
	CHECK_EQ(wall->failures.n, 2);
	CHECK_STR(dnp_profile_string(&f.profile, wall->failures.p[0].reason), "moved");
	CHECK_EQ(wall->failures.p[0].count, 3);
	done(&f);
}

TEST(notes_and_sources_of_several_recordings_are_all_told)
{
	static const char *const notes[] = {"slow", "", "biased", "slow"};
	static const char *const sources[] = {"timer", "perf", "timer", "perf"};
	struct fixture f = {.rec = recording_new(1)};

	for (uint64_t i = 0; i < DNP_ARRAY_SIZE(notes); i++) {
		struct recording rec = recording_new(i + 1);

		RECORD(&rec, process, .pid = i);
		RECORD(&rec, event, .name = dnp_str("cpu"), .note = dnp_str(notes[i]),
			.source = dnp_str(sources[i]));
		RECORD(&rec, failure, .reason = dnp_str("moved"), .count = i);
		recording_flush(&rec);
		recording_append(&f.rec, &rec);
	}
	load(&f, NULL, DNP_SUMS);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].note), "slow; biased");
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].source), "timer; perf");
	CHECK_EQ(f.profile.events.p[0].failures.n, 1);
	CHECK_EQ(f.profile.events.p[0].failures.p[0].count, 6);
	done(&f);
}

/* However many there are in a file. */
TEST(notes_and_sources_of_many_recordings_have_an_end)
{
	struct fixture f = {.rec = recording_new(1)};
	char text[64];

	for (unsigned i = 0; i < 1000; i++) {
		struct recording rec = recording_new(i + 1);

		snprintf(text, sizeof(text), "note %u", i);
		RECORD(&rec, process, .pid = i);
		RECORD(&rec, event, .name = dnp_str("cpu"), .note = dnp_str(text),
			.source = dnp_str(text));
		recording_flush(&rec);
		recording_append(&f.rec, &rec);
	}
	load(&f, NULL, DNP_SUMS);
	CHECK(strstr(dnp_profile_string(&f.profile, f.profile.events.p[0].note), "note 50; "));
	CHECK(strlen(dnp_profile_string(&f.profile, f.profile.events.p[0].note)) < 1100);
	CHECK(strlen(dnp_profile_string(&f.profile, f.profile.events.p[0].source)) < 1100);
	CHECK(f.profile.strings.bytes.n < 200000);
	done(&f);
}

TEST(share_is_as_sure_as_the_looks_that_it_rests_on)
{
	struct dnp_event none = {.samples = 5};
	struct fixture f;
	double half, tenth;

	load_wall(&f, NULL);
	half = dnp_event_error(f.tree.event, 0.5);
	tenth = dnp_event_error(f.tree.event, 0.1);
	CHECK(half > 0.3098 && half < 0.31); /* 1.96 * sqrt(0.5 * 0.5 / 10) */
	CHECK(tenth > 0.1858 && tenth < 0.186);
	CHECK(dnp_event_error(f.tree.event, 0) <= 0 && dnp_event_error(f.tree.event, 1) <= 0);
	CHECK(dnp_event_error(&none, 0.5) <= 0);
	done(&f);
}

/* Looks at one stack that weigh more and less, kept apart by no time. */
TEST(looks_that_are_added_up_are_as_sure_as_they_were)
{
	static const enum dnp_detail details[] = {DNP_SUMS, DNP_BY_THREAD, DNP_BY_TIME};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(details); i++) {
		struct fixture f = {.rec = recording_new(1)};

		RECORD(&f.rec, process, .pid = 1);
		RECORD(&f.rec, event, .name = dnp_str("wall"), .unit = dnp_str("samples"));
		for (uint64_t k = 0; k < 100; k++)
			RECORD(&f.rec, sample, .delta_ns = 1000000, .weight = k % 10 ? 1 : 91);
		recording_flush(&f.rec);
		load(&f, NULL, details[i]);
		CHECK_EQ(f.tree.event->looks, 100);
		/* (10 * 91 + 90)^2 / (10 * 91^2 + 90) */
		CHECK_EQ((unsigned)(100 * dnp_event_equal_looks(f.tree.event)), 1206);
		done(&f);
	}
}

TEST(threads_that_are_many_alike_are_one_row)
{
	struct dnp_thread_list list;
	struct fixture f;

	load_wall(&f, NULL);
	CHECK_EQ(dnp_thread_list_init(&list, &f.tree, 6), 0);
	CHECK_EQ(list.rows.n, 3);
	CHECK_EQ(list.rows.p[0].count, 1); /* main ran most */
	CHECK_EQ(list.rows.p[1].count, 6);
	CHECK_EQ(list.rows.p[1].total, 13);
	CHECK_EQ(list.rows.p[1].waiting, 12);
	CHECK_STR(dnp_strings_get(&list.patterns, list.rows.p[1].pattern), ".NET TP Worker");
	dnp_thread_list_done(&list);
	for (uint32_t alike = 0; alike <= 7; alike += 7) {
		CHECK_EQ(dnp_thread_list_init(&list, &f.tree, alike), 0);
		CHECK_EQ(list.rows.n, 8);
		dnp_thread_list_done(&list);
	}
	done(&f);
}

TEST(threads_are_alike_when_their_names_differ_in_numbers)
{
	static const char *const names[] = {"a 1 of 20", "a 22 of 20", "a x", "7", ""};
	struct fixture f = {.rec = recording_new(1)};
	struct dnp_thread_list list;

	RECORD(&f.rec, process, .pid = 1);
	RECORD(&f.rec, event, .name = dnp_str("cpu"));
	for (uint64_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		RECORD(&f.rec, thread, .index = i, .tid = i, .name = dnp_str(names[i]));
	recording_flush(&f.rec);
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(dnp_thread_list_init(&list, &f.tree, 2), 0);
	CHECK_EQ(list.rows.n, 4);
	CHECK_EQ(list.rows.p[0].count, 2);
	CHECK_STR(dnp_strings_get(&list.patterns, list.rows.p[0].pattern), "a * of *");
	CHECK_STR(dnp_strings_get(&list.patterns, list.rows.p[2].pattern), "*");
	dnp_thread_list_done(&list);
	done(&f);
}

TEST(indices_with_holes)
{
	static const uint64_t indices[] = {5, 6, 7, 9, 8, 2000, 1u << 30, UINT64_MAX, 3, 0};
	struct dnp_ids ids = {0};

	for (uint32_t i = 0; i < DNP_ARRAY_SIZE(indices); i++)
		CHECK_EQ(dnp_ids_set(&ids, indices[i], i), 0);
	for (uint32_t i = 0; i < DNP_ARRAY_SIZE(indices); i++)
		CHECK_EQ(dnp_ids_get(&ids, indices[i]), i);
	CHECK_EQ(dnp_ids_get(&ids, 4), DNP_NONE);
	CHECK_EQ(dnp_ids_get(&ids, 10), DNP_NONE);
	CHECK_EQ(dnp_ids_get(&ids, 1u << 31), DNP_NONE);
	CHECK(ids.dense.cap < 4096);
	dnp_ids_done(&ids);
}

TEST(what_is_not_defined_is_lost_and_counted)
{
	struct fixture f = {.rec = recording_new(1)};

	RECORD(&f.rec, process, .pid = 1);
	RECORD(&f.rec, base, .time_ns = UINT64_MAX - 5);
	RECORD(&f.rec, sample, .event = 9, .thread = 77, .node = 12345, .weight = 3);
	recording_stack(&f.rec, 5, 4, (uint64_t[]){1, 2}, 2);
	RECORD(&f.rec, sample, .event = 9, .thread = UINT64_MAX, .node = 6, .weight = 2);
	RECORD(&f.rec, sample, .event = 9, .thread = 1, .node = 0, .weight = 1);
	RECORD(&f.rec, loss, .event = 9, .reason = 1000, .count = 4);
	recording_flush(&f.rec);
	load(&f, NULL, DNP_BY_TIME);
	CHECK(f.profile.incomplete);
	CHECK(strstr(dnp_profile_string(&f.profile, f.profile.missing), "ends early"));
	CHECK_EQ(f.tree.total[0], 6);
	check_method(&f, "[lost]", 5, 5, DNP_CODE_OTHER);
	CHECK_EQ(f.tree.self[0], 1);
	CHECK_EQ(f.profile.events.p[0].lost_by[0], 4);
	done(&f);
}

/* Each that is kept apart takes memory: a file could make up a million of them. */
TEST(events_are_bounded_and_samples_of_more_are_lost_ones)
{
	struct fixture f = {.rec = recording_new(1)};

	RECORD(&f.rec, process, .pid = 1);
	for (uint64_t i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%llu", (unsigned long long)i);
		RECORD(&f.rec, event, .index = i, .name = dnp_str(name),
			.unit = dnp_str("samples"));
		RECORD(&f.rec, sample, .event = i, .weight = 1);
		RECORD(&f.rec, loss, .event = i + 5000, .count = 1);
	}
	recording_flush(&f.rec);
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(f.profile.events.n, 33); /* 32 of them, and [lost] */
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].name), "0");
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[1].name), "[lost]");
	CHECK_EQ(f.profile.events.p[0].samples, 1);
	CHECK_EQ(f.profile.events.p[1].samples, 1000 - 32);
	CHECK_EQ(f.profile.events.p[1].lost, 1000);
	done(&f);
}

static void check_named(const struct dnp_rec_frame *frame, const struct dnp_rec_module *module,
	const char *name, enum dnp_code code)
{
	struct fixture f = {.rec = recording_new(1)};

	RECORD(&f.rec, process, .pid = 1);
	RECORD(&f.rec, module, .kind = module->kind, .path = module->path, .name = module->name);
	RECORD(&f.rec, frame, .kind = frame->kind, .function = frame->function, .name = frame->name,
		.flags = frame->flags);
	recording_stack(&f.rec, 1, 0, (uint64_t[]){0}, 1);
	RECORD(&f.rec, sample, .node = 1, .weight = 1);
	recording_flush(&f.rec);
	load(&f, NULL, DNP_SUMS);
	check_method(&f, name, 1, 1, code);
	done(&f);
}

TEST(names_and_kinds)
{
#define NAMED(...) &(struct dnp_rec_frame){__VA_ARGS__}
#define IN(...)                                                                                    \
	&(struct dnp_rec_module)                                                                   \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
	check_named(NAMED(.kind = DNP_FRAME_NATIVE, .function = 0x1a2b3c),
		IN(.path = dnp_str("/x/libcoreclr.so")), "libcoreclr.so!+0x1a2b3c",
		DNP_CODE_NATIVE);
	check_named(NAMED(.kind = DNP_FRAME_NATIVE, .function = 16),
		IN(.path = dnp_str("/x/libclrjit.so")), "libclrjit.so!+0x10", DNP_CODE_JIT);
	check_named(NAMED(.kind = DNP_FRAME_NATIVE, .function = 16),
		IN(.path = dnp_str("/x/libclrgc.so")), "libclrgc.so!+0x10", DNP_CODE_GC);
	check_named(NAMED(.kind = DNP_FRAME_NATIVE, .function = 16),
		IN(.path = dnp_str("C:\\x\\clrjit.dll")), "clrjit.dll!+0x10", DNP_CODE_JIT);
	check_named(NAMED(.kind = DNP_FRAME_NATIVE, .function = 16),
		IN(.path = dnp_str("C:\\x\\clrgc.dll")), "clrgc.dll!+0x10", DNP_CODE_GC);
	check_named(NAMED(.kind = DNP_FRAME_NATIVE, .function = 16),
		IN(.path = dnp_str("C:\\x\\clrgcexp.dll")), "clrgcexp.dll!+0x10", DNP_CODE_GC);
	check_named(NAMED(.kind = DNP_FRAME_NATIVE, .function = 1, .flags = DNP_FRAME_GC),
		IN(.name = dnp_str("libcoreclr.so")), "libcoreclr.so!+0x1", DNP_CODE_GC);
	check_named(NAMED(.kind = DNP_FRAME_KERNEL, .function = 0xffffffff81000000), IN(0),
		"[k] 0xffffffff81000000", DNP_CODE_KERNEL);
	check_named(NAMED(.kind = DNP_FRAME_OTHER, .name = dnp_str("[stub]")), IN(0), "[stub]",
		DNP_CODE_OTHER);
	check_named(NAMED(.kind = DNP_FRAME_MANAGED, .name = dnp_str("A.P.<Main>$(string[])")),
		IN(.name = dnp_str("A")), "A.P.Main(string[])", DNP_CODE_USER);
	check_named(NAMED(.kind = DNP_FRAME_MANAGED, .name = dnp_str("Newtonsoft.Json.X()")),
		IN(.name = dnp_str("Newtonsoft.Json")), "Newtonsoft.Json.X()", DNP_CODE_USER);
	check_named(NAMED(.kind = DNP_FRAME_R2R, .name = dnp_str("Q.X()")),
		IN(.name = dnp_str("Q"), .path = dnp_str("/shared/Microsoft.NETCore.App/Q.dll")),
		"Q.X()", DNP_CODE_FRAMEWORK);
	check_named(NAMED(.kind = DNP_FRAME_OTHER, .name = dnp_str("[native]")), IN(0), "[native]",
		DNP_CODE_NATIVE);
	check_named(NAMED(.kind = DNP_FRAME_MANAGED), IN(0), "[unknown]", DNP_CODE_USER);
}

TEST(recordings_merge)
{
	struct recording other = recording_new(2);
	struct fixture f = {.rec = recording_new(1)};

	recording_small(&f.rec);
	recording_small(&other);
	recording_append(&f.rec, &other);
	load(&f, NULL, DNP_BY_TIME);
	CHECK_EQ(f.profile.processes.n, 2);
	CHECK_EQ(f.profile.threads.n, 4);
	CHECK_EQ(f.profile.threads.p[3].process, 1);
	CHECK_EQ(f.profile.nodes.n, 8);
	CHECK_EQ(f.profile.events.n, 1);
	CHECK_EQ(f.profile.events.p[0].samples, 24);
	check_method(&f, "App.Program.Rec()", 4, 4, DNP_CODE_USER);
	done(&f);
}

/* A recording of samples alone: it was cut before the calls were counted. */
static void append_cut(struct fixture *f)
{
	struct recording cut = recording_new(2);

	RECORD(&cut, process, .pid = 2);
	RECORD(&cut, event, .index = 0, .name = dnp_str("transition"), .unit = dnp_str("ns"),
		.source = dnp_str("samples"));
	RECORD(&cut, frame, .index = 2, .kind = DNP_FRAME_LABEL, .name = dnp_str("App.P.Out()"));
	recording_stack(&cut, 1, 0, (const uint64_t[]){2}, 1);
	RECORD(&cut, sample, .node = 1, .weight = 1000000, .value = 1000);
	recording_flush(&cut);
	recording_append(&f->rec, &cut);
}

/* Counts and estimates have a sum, which is an estimate, and is told to be one. */
TEST(calls_that_are_counted_and_those_that_are_not)
{
	struct dnp_range range;
	const struct dnp_event *event;
	const struct dnp_label_sum *sum;
	struct fixture f;

	make_counted(&f);
	append_cut(&f);
	load(&f, NULL, DNP_SUMS);
	event = &f.profile.events.p[0];
	CHECK_EQ(f.profile.events.n, 1);
	CHECK(event->counted);
	CHECK_EQ(event->counted_in, 1);
	CHECK_EQ(event->uncounted_in, 1);
	sum = &event->labels.p[0].sum;
	CHECK_EQ((uint64_t)sum->count, 5010);
	CHECK_EQ(sum->weight, 5006000);
	range = dnp_label_range(sum, 0);
	CHECK(range.low >= 4006000 && range.low < 5006000 && range.high > 5006000);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.problems.p[f.profile.problems.n - 1]),
		"transition: 1 of 2 recordings ended before calls were counted: what samples stand "
		"for is added to what was counted in the others, so that sums are estimates");
	done(&f);

	make_counted(&f);
	load(&f, NULL, DNP_SUMS);
	for (size_t i = 0; i < f.profile.problems.n; i++)
		CHECK(!strstr(dnp_profile_string(&f.profile, f.profile.problems.p[i]), "counted"));
	done(&f);
}

/* What a sample stands for is not the same in both. */
TEST(samples_of_another_rate_are_not_added_up)
{
	static const uint64_t interval_ns[] = {5025125, 1003009, 5025125, 1003009};
	struct fixture f = {.rec = recording_new(1)};

	for (uint64_t i = 0; i < DNP_ARRAY_SIZE(interval_ns); i++) {
		f.rec.number = i + 1;
		f.rec.sequence = 0;
		RECORD(&f.rec, process, .pid = i);
		RECORD(&f.rec, event, .name = dnp_str("cpu"), .unit = dnp_str("samples"),
			.interval_ns = interval_ns[i]);
		RECORD(&f.rec, sample, .weight = i + 1);
		recording_flush(&f.rec);
	}
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(f.profile.events.n, 2);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].name), "cpu");
	CHECK_EQ(f.profile.events.p[0].interval_ns, interval_ns[0]);
	CHECK_EQ(f.profile.events.p[0].samples, 4);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[1].name), "cpu at 997 Hz");
	CHECK_EQ(f.profile.events.p[1].interval_ns, interval_ns[1]);
	CHECK_EQ(f.profile.events.p[1].samples, 6);
	done(&f);
}

static void begin_allocations(struct fixture *f, uint64_t number, bool every)
{
	f->rec.number = number;
	f->rec.sequence = 0;
	RECORD(&f->rec, process, .pid = number);
	RECORD(&f->rec, event, .name = dnp_str("alloc"), .unit = dnp_str("bytes"),
		.lot = every ? 0 : 50000);
}

static void end_allocations(struct fixture *f)
{
	RECORD(&f->rec, end, .time_ns = 1);
	recording_flush(&f->rec);
}

/* One of its objects stands for others, or each was counted: a recording each. */
static void put_allocations(struct fixture *f, uint64_t number, bool every)
{
	static const uint64_t stack[] = {1};

	begin_allocations(f, number, every);
	RECORD(&f->rec, frame, .index = 1, .kind = DNP_FRAME_LABEL, .name = dnp_str("App.A"));
	recording_stack(&f->rec, 1, 0, stack, 1);
	if (every)
		RECORD(&f->rec, sample, .node = 1, .weight = 240, .count = 10);
	else
		RECORD(&f->rec, sample, .node = 1, .weight = 100000, .value = 24);
	end_allocations(f);
}

TEST(every_object_is_not_added_to_estimates)
{
	static const char *const names[] = {"alloc of every object", "alloc by samples"};

	for (unsigned first = 0; first < 2; first++) {
		struct fixture f = {.rec = recording_new(1)};
		const struct dnp_event *events;

		for (uint64_t i = 0; i < 4; i++)
			put_allocations(&f, i + 1, i % 2 != first % 2);
		load(&f, NULL, DNP_SUMS);
		events = f.profile.events.p;
		CHECK_EQ(f.profile.events.n, 2);
		CHECK_STR(dnp_profile_string(&f.profile, events[0].name), "alloc");
		CHECK_STR(dnp_profile_string(&f.profile, events[1].name), names[first]);
		CHECK_EQ(events[first].labels.p[0].sum.weight, 200000);
		CHECK(events[first].labels.p[0].sum.variance > 0);
		CHECK(events[first].lot == 50000 && !events[!first].lot);
		CHECK_EQ(events[!first].labels.p[0].sum.weight, 480);
		CHECK(events[!first].labels.p[0].sum.variance <= 0);
		CHECK_EQ((uint64_t)events[!first].labels.p[0].sum.count, 20);
		done(&f);
	}
}

/* Nor to what an empty recording would have been the first of. */
TEST(every_object_is_not_added_to_estimates_of_none)
{
	for (unsigned first = 0; first < 2; first++) {
		struct fixture f = {.rec = recording_new(1)};
		const struct dnp_event *events;
		struct dnp_range range;

		for (uint64_t i = 0; i < 2; i++) {
			if (i == first) {
				begin_allocations(&f, i + 1, false);
				end_allocations(&f);
			} else {
				put_allocations(&f, i + 1, true);
			}
		}
		load(&f, NULL, DNP_SUMS);
		events = f.profile.events.p;
		CHECK_EQ(f.profile.events.n, 2);
		CHECK_STR(dnp_profile_string(&f.profile, events[1].name),
			first ? "alloc by samples" : "alloc of every object");
		CHECK_EQ(events[first].lot, 50000);
		CHECK_EQ(events[first].labels.n, 0);
		range = dnp_label_range(&events[!first].labels.p[0].sum, events[!first].lot);
		CHECK(range.low >= 240 && range.high <= 240);
		done(&f);
	}
}

TEST(rows_stay_bounded_and_keep_their_weight)
{
	const size_t limit = 1000;
	struct dnp_rows rows;
	uint64_t weight = 0;

	dnp_rows_init(&rows, DNP_BY_TIME, limit);
	for (uint32_t i = 0; i < 100000; i++) {
		CHECK_EQ(dnp_rows_add(&rows, i * 100,
				 (struct dnp_row){.weight = 2, .thread = i % 3, .node = i % 50}),
			0);
		CHECK(rows.n <= limit * 2 + 1);
	}
	CHECK_EQ(dnp_rows_add(
			 &rows, UINT64_MAX, (struct dnp_row){.weight = 0, .thread = 1, .node = 1}),
		0);
	CHECK_EQ(dnp_rows_add(&rows, UINT64_MAX / 2,
			 (struct dnp_row){.weight = UINT64_MAX, .thread = 1, .node = 1}),
		0);
	CHECK_EQ(dnp_rows_add(&rows, UINT64_MAX / 2,
			 (struct dnp_row){.weight = 5, .thread = 1, .node = 1}),
		0);
	dnp_rows_finish(&rows);
	for (size_t i = 0; i < rows.n; i++) {
		CHECK(!i || rows.slots[i].bin >= rows.slots[i - 1].bin);
		if (rows.slots[i].weight < UINT64_MAX)
			weight += rows.slots[i].weight;
	}
	CHECK_EQ(rows.slots[rows.n - 1].weight, UINT64_MAX);
	CHECK_EQ(weight, 200000);
	dnp_rows_done(&rows);
}

static void load_as(struct fixture *f, void (*make)(struct recording *), enum dnp_detail detail)
{
	f->rec = recording_new(1);
	make(&f->rec);
	profile_recording(&f->profile, &f->input, &f->rec, NULL, detail);
}

static void check_equal(const uint64_t *a, const uint64_t *b, size_t n)
{
	CHECK_EQ(!a, !b);
	for (size_t i = 0; a && i < n; i++)
		CHECK_EQ(a[i], b[i]);
}

static void check_same_sums(void (*make)(struct recording *), enum dnp_detail detail)
{
	struct fixture sums, rows;

	load_as(&sums, make, DNP_SUMS);
	load_as(&rows, make, detail);
	CHECK_EQ(sums.profile.events.n, rows.profile.events.n);
	CHECK_EQ(sums.profile.nodes.n, rows.profile.nodes.n);
	CHECK_EQ(sums.profile.threads.n, rows.profile.threads.n);
	for (uint32_t event = 0; event < sums.profile.events.n; event++) {
		size_t nodes = sums.profile.nodes.n, threads = sums.profile.threads.n;

		CHECK_EQ(
			sums.profile.events.p[event].waiting, rows.profile.events.p[event].waiting);
		CHECK_EQ(dnp_tree_init(&sums.tree, &sums.profile, event), 0);
		CHECK_EQ(dnp_tree_init(&rows.tree, &rows.profile, event), 0);
		check_equal(sums.tree.self, rows.tree.self, nodes);
		check_equal(sums.tree.total, rows.tree.total, nodes);
		check_equal(sums.tree.calls, rows.tree.calls, nodes);
		check_equal(sums.tree.thread_total, rows.tree.thread_total, threads);
		check_equal(sums.tree.thread_waiting, rows.tree.thread_waiting, threads);
		check_equal(sums.tree.thread_calls, rows.tree.thread_calls, threads);
		dnp_tree_done(&sums.tree);
		dnp_tree_done(&rows.tree);
	}
	sums.tree = rows.tree = (struct dnp_tree){0};
	done(&sums);
	done(&rows);
}

TEST(less_detail_has_the_same_sums)
{
	static void (*const makes[])(struct recording *) = {
		recording_small, recording_wall, recording_calls, recording_call_log};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(makes); i++) {
		check_same_sums(makes[i], DNP_BY_THREAD);
		check_same_sums(makes[i], DNP_BY_TIME);
	}
}

static void make_spans(struct fixture *f)
{
	struct recording *rec = &f->rec;

	f->rec = recording_new(1);
	RECORD(rec, process, .pid = 42, .start_ns = 1000);
	RECORD(rec, event, .index = 0, .name = dnp_str("cpu"));
	RECORD(rec, event, .index = 1, .name = dnp_str("mark"), .unit = dnp_str("marks"));
	RECORD(rec, thread, .index = 0, .tid = 42, .start_ns = 1000, .name = dnp_str("a"));
	RECORD(rec, thread, .index = 1, .tid = 43, .start_ns = 1000, .name = dnp_str("b"));
	for (uint64_t i = 0; i < 4; i++) {
		RECORD(rec, span, .event = 1, .id = i + 1, .time_ns = 2000 + i, .thread = i & 1,
			.name = dnp_str("order"));
		RECORD(rec, mark, .time_ns = 2000 + i, .thread = 0, .text = dnp_str("now"));
	}
	/* One that ends elsewhere, one twice, one that is not known; and the last one never. */
	RECORD(rec, span_end, .event = 1, .id = 1, .time_ns = 2500, .thread = 0);
	RECORD(rec, span_end, .event = 1, .id = 2, .time_ns = 2101, .thread = 0);
	RECORD(rec, span_end, .event = 1, .id = 3, .time_ns = 2302, .thread = 0);
	RECORD(rec, span_end, .event = 1, .id = 3, .time_ns = 2999, .thread = 0);
	RECORD(rec, span_end, .event = 1, .id = 99, .time_ns = 2999, .thread = 0);
	RECORD(rec, span, .event = 7, .id = 5, .time_ns = 2000, .thread = 0,
		.name = dnp_str("of no event"));
	RECORD(rec, end, .time_ns = 9000);
	recording_flush(rec);
}

TEST(spans_are_added_up_by_name)
{
	struct fixture f;
	struct dnp_span_sums sums;

	make_spans(&f);
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(f.profile.spans.n, 9);
	CHECK(f.profile.events.p[1].says && !f.profile.events.p[0].says);
	CHECK_EQ(f.profile.events.p[1].samples, 8);
	CHECK_EQ(dnp_span_sums_init(&sums, &f.profile, 1), 0);
	CHECK_EQ(sums.spans.n, 1);
	CHECK_EQ(sums.points.n, 1);
	CHECK_EQ(sums.points.p[0].count, 4);
	CHECK_EQ(sums.spans.p[0].count, 4);
	CHECK_EQ(sums.spans.p[0].ended, 3);
	CHECK_EQ(sums.spans.p[0].elsewhere, 1);
	CHECK_EQ(sums.spans.p[0].total_ns, 900);
	CHECK_EQ(sums.spans.p[0].median_ns, 300);
	CHECK_EQ(sums.spans.p[0].longest_ns, 500);
	CHECK_EQ(sums.longest.n, 3);
	CHECK_EQ(sums.open.n, 1);
	CHECK(!sums.open.p[0]->ended && dnp_span_ns(sums.open.p[0]));
	dnp_span_sums_done(&sums);
	CHECK_EQ(dnp_span_sums_init(&sums, &f.profile, 0), 0);
	CHECK_EQ(sums.spans.n + sums.points.n, 0);
	dnp_span_sums_done(&sums);
	done(&f);
}

static void make_requests(struct fixture *f)
{
	static const char *const paths[] = {"GET /a/1", "GET /a/2", "POST /b", "GET /a/3"};
	static const char *const groups[] = {"GET /a/{n}", "GET /a/{n}", "", "GET /a/{n}"};
	static const char *const results[] = {"200", "404", "200", "200"};
	struct recording *rec = &f->rec;

	f->rec = recording_new(1);
	RECORD(rec, process, .pid = 42, .start_ns = 1000);
	RECORD(rec, event, .index = 0, .name = dnp_str("request"), .unit = dnp_str("requests"));
	RECORD(rec, thread, .index = 0, .tid = 42, .start_ns = 1000, .name = dnp_str("a"));
	for (uint64_t i = 0; i < 4; i++) {
		RECORD(rec, span, .id = i, .time_ns = 2000 + i, .name = dnp_str(paths[i]),
			.trace = dnp_str("t"));
		RECORD(rec, span_end, .id = i, .time_ns = 2000 + i + (i + 1) * 100,
			.result = dnp_str(results[i]), .group = dnp_str(groups[i]));
	}
	RECORD(rec, event, .index = 0, .source = dnp_str("another"), .note = dnp_str("told later"));
	RECORD(rec, end, .time_ns = 9000);
	recording_flush(rec);
}

TEST(requests_are_added_up_by_their_routes)
{
	struct fixture f;
	struct dnp_span_sums sums;

	make_requests(&f);
	load(&f, NULL, DNP_SUMS);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].note), "told later");
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].source), "another");
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].unit), "requests");
	CHECK_EQ(dnp_span_sums_init(&sums, &f.profile, 0), 0);
	CHECK_EQ(sums.spans.n, 2);
	CHECK_STR(dnp_profile_string(&f.profile, sums.spans.p[0].name), "GET /a/{n}");
	CHECK_EQ(sums.spans.p[0].count, 3);
	CHECK_EQ(sums.spans.p[0].total_ns, 700);
	CHECK_EQ(sums.spans.p[0].median_ns, 200);
	CHECK_EQ(sums.spans.p[0].p99_ns, 400);
	CHECK_STR(dnp_profile_string(&f.profile, sums.spans.p[1].name), "POST /b");
	CHECK_EQ(sums.longest.n, 4);
	CHECK_EQ(dnp_span_ns(sums.longest.p[0]), 400);
	CHECK_STR(dnp_span_title(&f.profile, sums.longest.p[2]).text, "GET /a/2 → 404");
	CHECK_EQ(dnp_span_ns(sums.longest.p[3]), 100);
	CHECK_EQ(sums.results.n, 2);
	CHECK_STR(dnp_profile_string(&f.profile, sums.results.p[0].name), "200");
	CHECK_EQ(sums.results.p[0].count, 3);
	CHECK_EQ(sums.results.p[1].count, 1);
	dnp_span_sums_done(&sums);
	done(&f);
}

static void make_collections(struct fixture *f, uint64_t number)
{
	static const char sizes[] = {9, 4, 1, 8, 3, 1, 7, 2, 1, 6, 1, 1, 5, 0, 1};
	struct recording *rec = &f->rec;

	f->rec = recording_new(number);
	RECORD(rec, process, .pid = 42, .start_ns = 1000);
	RECORD(rec, event, .index = 0, .name = dnp_str("gc"), .unit = dnp_str("ns"));
	for (uint64_t i = 1; i <= 100; i++)
		RECORD(rec, collection, .number = i, .generation = i % 2 ? 0 : 2,
			.kind = i == 4 ? DNP_COLLECTION_BACKGROUND : DNP_COLLECTION_BLOCKING,
			.begin_ns = 1000 + i * 10, .end_ns = i < 100 ? 1005 + i * 10 : 0,
			.pauses = i == 4 ? 2 : 1, .suspend_ns = 1, .pause_ns = i, .longest_ns = i,
			.sizes = {sizes,
				i == 99           ? sizeof(sizes)
					: i == 98 ? 7
						  : 0});
	RECORD(rec, end, .time_ns = 9000);
	recording_flush(rec);
}

TEST(collections_are_added_up_by_generation)
{
	struct fixture f;
	struct dnp_collection_sums sums;

	make_collections(&f, 1);
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(f.profile.collections.n, 100);
	CHECK_EQ(dnp_collection_sums_init(&sums, &f.profile.collections), 0);
	CHECK_EQ(sums.all.count, 100);
	CHECK_EQ(sums.all.pauses, 101);
	CHECK_EQ(sums.all.pause_ns, 5050);
	CHECK_EQ(sums.all.suspend_ns, 100);
	CHECK_EQ(sums.all.longest_ns, 100);
	CHECK_EQ(sums.all.p99_ns, 99);
	CHECK_EQ(sums.all.median_ns, 50);
	CHECK_EQ(sums.generations[0].count, 50);
	CHECK_EQ(sums.generations[0].longest_ns, 99);
	CHECK_EQ(sums.generations[0].median_ns, 49);
	CHECK_EQ(sums.generations[1].count, 0);
	CHECK_EQ(sums.generations[2].background, 1);
	CHECK_EQ(sums.longest.p[0]->number, 100);
	CHECK_EQ(dnp_collection_before(sums.longest.p[1]), 35);
	CHECK_EQ(dnp_collection_after(sums.longest.p[1]), 10);
	CHECK_EQ(sums.heaps, 1);
	CHECK_EQ(sums.heaps_after[0], 4);
	CHECK_EQ(sums.all.survived, 5 + 2); /* what is cut off counts as far as it goes */
	CHECK(!sums.longest.p[0]->ended && sums.longest.p[0]->end_ns == 8000);
	dnp_collection_sums_done(&sums);
	done(&f);
	make_collections(&f, 1);
	load(&f, &(struct dnp_filter){.from_ns = 900, .to_ns = 920}, DNP_SUMS);
	CHECK_EQ(f.profile.collections.n, 2);
	done(&f);
}

TEST(heaps_of_all_processes_are_added_up)
{
	struct fixture f, other;
	struct dnp_collection_sums sums;

	make_collections(&f, 1);
	make_collections(&other, 2);
	CHECK_EQ(dnp_vec_reserve(&f.rec.bytes, f.rec.bytes.n + other.rec.bytes.n), 0);
	memcpy(f.rec.bytes.p + f.rec.bytes.n, other.rec.bytes.p, other.rec.bytes.n);
	f.rec.bytes.n += other.rec.bytes.n;
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(dnp_collection_sums_init(&sums, &f.profile.collections), 0);
	CHECK_EQ(sums.heaps, 2);
	CHECK_EQ(sums.heaps_after[0], 8);
	CHECK_EQ(sums.heaps_after[2], 4);
	dnp_collection_sums_done(&sums);
	recording_done(&other.rec);
	done(&f);
}

/* Whoever began before the time that is shown is not there. */
TEST(spans_go_by_the_filter)
{
	static const char *const only[] = {"43"};
	const struct dnp_filter filter = {.from_ns = 1001, .threads = only, .thread_count = 1};
	struct fixture f;

	make_spans(&f);
	load(&f, &filter, DNP_SUMS);
	CHECK_EQ(f.profile.spans.n, 2);
	CHECK_EQ(f.profile.spans.p[0].begin_ns, 1001);
	CHECK(f.profile.spans.p[0].ended);
	CHECK_EQ(f.profile.spans.p[0].end_thread, DNP_NONE);
	CHECK_EQ(dnp_span_ns(&f.profile.spans.p[0]), 100);
	done(&f);
}

TEST(problem_of_more_takes_the_place_of_that_of_fewer)
{
	static const char *const told[] = {
		"2 threads were blue", "no paint", "7 threads were blue", "7 threads were red"};
	struct fixture f = {.rec = recording_new(1)};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(told); i++)
		RECORD(&f.rec, problem, .text = dnp_str(told[i]));
	recording_small(&f.rec);
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(f.profile.problems.n, 3);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.problems.p[0]), "7 threads were blue");
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.problems.p[1]), "no paint");
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.problems.p[2]), "7 threads were red");
	done(&f);
}
