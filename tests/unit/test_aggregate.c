/* SPDX-License-Identifier: MIT */
/* From records to answers: totals, recursion, filters, names, what is lost, several recordings. */
#include "aggregate/ids.h"
#include "aggregate/pattern.h"
#include "aggregate/profile.h"
#include "aggregate/threads.h"
#include "aggregate/tree.h"

#include "base/clean.h"

#include "recording.h"
#include "test.h"

struct fixture {
	struct recording rec;
	struct dnp_input input;
	struct dnp_profile profile;
	struct dnp_tree tree;
};

static void load(struct fixture *f, const struct dnp_filter *filter, bool timed)
{
	dnp_input_init(&f->input);
	CHECK_EQ(dnp_input_add_bytes(&f->input, "t", f->rec.bytes.p, f->rec.bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(&f->input, NULL), 0);
	CHECK_EQ(dnp_profile_init(&f->profile, timed, filter), 0);
	CHECK_EQ(dnp_profile_add(&f->profile, &f->input, NULL), 0);
	dnp_profile_finish(&f->profile);
	CHECK(f->profile.events.n > 0);
	CHECK_EQ(dnp_tree_init(&f->tree, &f->profile, 0), 0);
}

static void load_small(struct fixture *f, const struct dnp_filter *filter)
{
	f->rec = recording_new(1);
	recording_small(&f->rec);
	load(f, filter, false);
}

static void done(struct fixture *f)
{
	dnp_tree_done(&f->tree);
	dnp_profile_done(&f->profile);
	dnp_input_done(&f->input);
	recording_done(&f->rec);
}

static const struct dnp_method *method(const struct fixture *f, const char *name)
{
	for (size_t i = 0; i < f->tree.methods.n; i++) {
		uint32_t frame = f->tree.methods.p[i].frame;

		if (!strcmp(dnp_profile_string(&f->profile, f->profile.frames.p[frame].name), name))
			return &f->tree.methods.p[i];
	}
	FAIL("there is no method %s", name);
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
	load(f, filter, true);
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
	static const char *const names[] = {
		"[unloaded]", "[thread start, not sampled]", "[stub]", "[native]"};
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
	load(&f, &filter, false);
	check_stacks(&f, "[lost] 5\n[unloaded] 4\n[thread start, not sampled] 3\n[native] 3\n");
	done(&f);
}

TEST(threads_that_ran_and_that_waited)
{
	struct dnp_filter filters[] = {
		{0}, {.state = DNP_STATE_RUNNING}, {.state = DNP_STATE_WAITING}};
	static const unsigned samples[] = {20, 5, 15}, waiting[] = {15, 0, 15};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(filters); i++) {
		struct fixture f;

		load_wall(&f, &filters[i]);
		CHECK_EQ(f.tree.event->samples, samples[i]);
		CHECK_EQ(f.tree.event->waiting, waiting[i]);
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

TEST(notes_of_several_recordings_are_all_told)
{
	static const char *const notes[] = {"slow", "", "biased", "slow"};
	struct fixture f = {0};
	struct recording all = recording_new(1);

	for (uint64_t i = 0; i < DNP_ARRAY_SIZE(notes); i++) {
		struct recording rec = recording_new(i + 1);

		RECORD(&rec, process, .pid = i);
		RECORD(&rec, event, .name = dnp_str("cpu"), .note = dnp_str(notes[i]));
		RECORD(&rec, failure, .reason = dnp_str("moved"), .count = i);
		recording_flush(&rec);
		CHECK_EQ(dnp_vec_reserve(&all.bytes, all.bytes.n + rec.bytes.n), 0);
		memcpy(all.bytes.p + all.bytes.n, rec.bytes.p, rec.bytes.n);
		all.bytes.n += rec.bytes.n;
		recording_done(&rec);
	}
	f.rec = all;
	load(&f, NULL, false);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].note), "slow; biased");
	CHECK_EQ(f.profile.events.p[0].failures.n, 1);
	CHECK_EQ(f.profile.events.p[0].failures.p[0].count, 6);
	done(&f);
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
	load(&f, NULL, false);
	CHECK_EQ(dnp_thread_list_init(&list, &f.tree, 2), 0);
	CHECK_EQ(list.rows.n, 4);
	CHECK_EQ(list.rows.p[0].count, 2);
	CHECK_STR(dnp_strings_get(&list.patterns, list.rows.p[0].pattern), "a * of *");
	CHECK_STR(dnp_strings_get(&list.patterns, list.rows.p[2].pattern), "*");
	dnp_thread_list_done(&list);
	done(&f);
}

TEST(patterns)
{
	CHECK(dnp_pattern_match("A.B.C", dnp_str("A.B.C(int, string)")));
	CHECK(dnp_pattern_match("A.*", dnp_str("A.B.C()")));
	CHECK(dnp_pattern_match("*B*C", dnp_str("A.B.C()")));
	CHECK(dnp_pattern_match("*(string)", dnp_str("A.B.C(string)")));
	CHECK(dnp_pattern_match("*", dnp_str("")));
	CHECK(dnp_pattern_match("(unknown)", dnp_str("(unknown)")));
	CHECK(!dnp_pattern_match("A.B", dnp_str("A.B.C()")));
	CHECK(!dnp_pattern_match("B.C", dnp_str("A.B.C()")));
	CHECK(!dnp_pattern_match("", dnp_str("A")));
	CHECK(!dnp_pattern_match(
		"*aaaaaaaaaaaaaaab", dnp_str("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
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
	load(&f, NULL, true);
	CHECK(f.profile.incomplete);
	CHECK(strstr(dnp_profile_string(&f.profile, f.profile.missing), "ends early"));
	CHECK_EQ(f.tree.total[0], 6);
	check_method(&f, "[lost]", 5, 5, DNP_CODE_OTHER);
	CHECK_EQ(f.tree.self[0], 1);
	CHECK_EQ(f.profile.events.p[0].lost_by[0], 4);
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
	load(&f, NULL, false);
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
	CHECK_EQ(dnp_vec_reserve(&f.rec.bytes, f.rec.bytes.n + other.bytes.n), 0);
	memcpy(f.rec.bytes.p + f.rec.bytes.n, other.bytes.p, other.bytes.n);
	f.rec.bytes.n += other.bytes.n;
	load(&f, NULL, true);
	CHECK_EQ(f.profile.processes.n, 2);
	CHECK_EQ(f.profile.threads.n, 4);
	CHECK_EQ(f.profile.threads.p[3].process, 1);
	CHECK_EQ(f.profile.nodes.n, 8);
	CHECK_EQ(f.profile.events.n, 1);
	CHECK_EQ(f.profile.events.p[0].samples, 24);
	check_method(&f, "App.Program.Rec()", 4, 4, DNP_CODE_USER);
	recording_done(&other);
	done(&f);
}

TEST(rows_stay_bounded_and_keep_their_weight)
{
	const size_t limit = 1000;
	struct dnp_rows rows;
	uint64_t weight = 0;

	dnp_rows_init(&rows, true, limit);
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
