/* SPDX-License-Identifier: MIT */
/* From records to answers: totals, recursion, filters, names, what is lost, several recordings. */
#include "aggregate/ids.h"
#include "aggregate/pattern.h"
#include "aggregate/profile.h"
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
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(cases); i++) {
		struct fixture f;

		load_small(&f, &cases[i].filter);
		CHECK_EQ(f.profile.events.p[0].samples, cases[i].samples);
		CHECK_EQ(f.tree.total[0], cases[i].samples);
		done(&f);
	}
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
		CHECK_EQ(dnp_rows_add(&rows, i * 100, i % 3, i % 50, 2), 0);
		CHECK(rows.n <= limit * 2 + 1);
	}
	CHECK_EQ(dnp_rows_add(&rows, UINT64_MAX, 1, 1, 0), 0);
	CHECK_EQ(dnp_rows_add(&rows, UINT64_MAX / 2, 1, 1, UINT64_MAX), 0);
	CHECK_EQ(dnp_rows_add(&rows, UINT64_MAX / 2, 1, 1, 5), 0);
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
