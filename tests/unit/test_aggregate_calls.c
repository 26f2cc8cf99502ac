/* SPDX-License-Identifier: MIT */
/* Events that count calls: trees of threads put together, times, recursion, filters, losses. */
#include "aggregate/neighbours.h"

#include "profiled.h"

#define MS UINT64_C(1000000)

static void load_calls(struct fixture *f, const struct dnp_filter *filter, enum dnp_detail detail)
{
	f->rec = recording_new(1);
	recording_calls(&f->rec);
	load(f, filter, detail);
	CHECK(f->tree.calls);
}

static void check_method(const struct fixture *f, const char *name, uint64_t calls, uint64_t self,
	uint64_t total, uint64_t sum)
{
	const struct dnp_method *m = method(f, name);

	CHECK_EQ(m->calls, calls);
	CHECK_EQ(m->self, self);
	CHECK_EQ(m->total, total);
	CHECK_EQ(m->sum, sum);
}

static void check_whole(const struct fixture *f)
{
	check_method(f, "App.Calls.Main(string[])", 1, 10 * MS, 58 * MS, 58 * MS);
	check_method(f, "App.Calls.Work(int)", 8, 50 * MS, 73 * MS, 73 * MS);
	check_method(f, "App.Calls.Fib(int)", 20, 23 * MS, 23 * MS, 35 * MS);
	check_method(f, "App.Calls.Work(string)", 2, 0, 0, 0);
	CHECK_EQ(f->tree.methods.n, 4);
	CHECK_EQ(method(f, "App.Calls.Work(int)")->span.min_ns, 5 * MS);
	CHECK_EQ(method(f, "App.Calls.Work(int)")->span.max_ns, 17 * MS);
	CHECK_EQ(method(f, "App.Calls.Work(string)")->span.max_ns, 0);
}

TEST(methods_of_calls)
{
	struct fixture f;
	const struct dnp_event *event;

	for (int timed = 0; timed < 2; timed++) {
		load_calls(&f, NULL, timed ? DNP_BY_TIME : DNP_SUMS);
		event = &f.profile.events.p[0];
		check_whole(&f);
		CHECK(!f.profile.incomplete);
		CHECK_EQ(f.tree.total[0], 83 * MS);
		CHECK_EQ(event->calls->calls, 31);
		CHECK_EQ(event->calls->enters, 31);
		CHECK_EQ(event->calls->unwinds, 2);
		CHECK_EQ(event->calls->depth, DNP_CALL_TIME);
		CHECK_EQ(event->lost, 3);
		CHECK_EQ(event->samples, 0);
		done(&f);
	}
}

TEST(threads_and_methods_defined_late)
{
	struct fixture f;
	const struct dnp_process *process;

	load_calls(&f, NULL, DNP_SUMS);
	process = &f.profile.processes.p[0];
	CHECK_EQ(f.profile.threads.n, 2);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.threads.p[1].name), "worker");
	CHECK_EQ(f.tree.thread_calls[0], 21);
	CHECK_EQ(f.tree.thread_calls[1], 10);
	CHECK_EQ(f.tree.thread_total[1], 25 * MS);
	CHECK_EQ(dnp_map_get(&process->thread_of, 2), 1);
	CHECK_EQ(process->traced.n, 4);
	CHECK_EQ(process->traced.p[0].number, 11);
	CHECK_EQ(process->traced.p[0].function_id, 0x7f000b);
	CHECK_STR(name_of(&f, process->traced.p[3].frame), "App.Calls.Fib(int)");
	done(&f);
}

TEST(filters_of_calls)
{
	const char *const worker[] = {"worker"}, *const fib[] = {"App.*.Fib"};
	struct fixture f;

	load_calls(&f, &(struct dnp_filter){.threads = worker, .thread_count = 1}, DNP_SUMS);
	check_method(&f, "App.Calls.Work(int)", 5, 20 * MS, 25 * MS, 25 * MS);
	CHECK_EQ(f.profile.events.p[0].calls->calls, 10);
	CHECK_EQ(f.tree.methods.n, 2);
	done(&f);
	load_calls(&f, &(struct dnp_filter){.include = fib, .include_count = 1}, DNP_SUMS);
	check_method(&f, "App.Calls.Fib(int)", 20, 23 * MS, 23 * MS, 35 * MS);
	check_method(&f, "App.Calls.Work(int)", 0, 0, 23 * MS, 23 * MS);
	CHECK_EQ(f.profile.events.p[0].calls->calls, 20);
	done(&f);
	load_calls(&f, &(struct dnp_filter){.exclude = fib, .exclude_count = 1}, DNP_SUMS);
	check_method(&f, "App.Calls.Work(int)", 8, 50 * MS, 50 * MS, 50 * MS);
	CHECK_EQ(f.profile.events.p[0].calls->calls, 11);
	done(&f);
	load_calls(&f, &(struct dnp_filter){.native = DNP_NATIVE_NONE}, DNP_SUMS);
	check_whole(&f);
	done(&f);
	load_calls(&f, &(struct dnp_filter){.to_ns = 30 * MS}, DNP_SUMS);
	check_method(&f, "App.Calls.Work(int)", 2, 8 * MS, 10 * MS, 10 * MS);
	CHECK_EQ(f.profile.events.p[0].calls->calls, 4);
	done(&f);
}

TEST(two_recordings_are_one_profile)
{
	struct fixture f;
	struct recording second = recording_new(2);

	f.rec = recording_new(1);
	recording_calls(&f.rec);
	recording_calls(&second);
	recording_append(&f.rec, &second);
	load(&f, NULL, DNP_SUMS);
	check_method(&f, "App.Calls.Fib(int)", 40, 46 * MS, 46 * MS, 70 * MS);
	CHECK_EQ(method(&f, "App.Calls.Work(int)")->span.min_ns, 5 * MS);
	CHECK_EQ(f.profile.events.p[0].calls->enters, 62);
	CHECK_EQ(f.profile.events.p[0].lost, 6);
	CHECK_EQ(f.profile.processes.p[1].traced.n, 4);
	done(&f);
}

/* Calls that are counted, and so much CPU time that is sampled. */
static void tree_of_calls(struct recording *rec, uint64_t self_ns)
{
	recording_call_process(rec);
	recording_call_methods(rec);
	recording_call_nodes(rec, 1, 1, (const uint64_t[]){1, 11}, 2);
	recording_call_counts(rec, 1, 1020 * MS, (const uint64_t[]){1, 8, 0, self_ns, 0, 0}, 6);
	recording_flush(rec);
}

static void append_tree(struct fixture *f, uint64_t number)
{
	struct recording rec = recording_new(number);

	tree_of_calls(&rec, 3 * MS);
	recording_append(&f->rec, &rec);
}

/* CPU time that was sampled and what a clock showed have no sum. */
TEST(sampled_times_and_timed_calls_are_events_of_their_own)
{
	struct fixture f;

	f.rec = recording_new(1);
	recording_calls(&f.rec);
	append_tree(&f, 2);
	append_tree(&f, 3);
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(f.profile.events.n, 2);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[0].name), "trace");
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.events.p[1].name), "trace by samples");
	CHECK_EQ(f.profile.events.p[0].calls->depth, DNP_CALL_TIME);
	CHECK_EQ(f.profile.events.p[1].calls->depth, DNP_CALL_TREE);
	CHECK_EQ(f.profile.events.p[0].calls->calls, 31);
	CHECK_EQ(f.profile.events.p[1].calls->calls, 16);
	check_method(&f, "App.Calls.Fib(int)", 20, 23 * MS, 23 * MS, 35 * MS);
	done(&f);

	f.rec = recording_new(4);
	append_tree(&f, 1);
	append_tree(&f, 2);
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(f.profile.events.n, 1);
	CHECK_EQ(f.profile.events.p[0].calls->calls, 16);
	done(&f);
}

/* Depths of calls; of the last one no call was recorded. */
enum depth { SAMPLED, COUNTED, TIMED, SINGLE, NO_CALLS, DEPTHS };

static void append_depth(struct fixture *f, uint64_t number, enum depth depth)
{
	struct recording rec = recording_new(number);

	switch (depth) {
	case SAMPLED: tree_of_calls(&rec, 3 * MS); break;
	case COUNTED: tree_of_calls(&rec, 0); break;
	case TIMED: recording_calls(&rec); break;
	case SINGLE: recording_call_log(&rec); break;
	default: recording_call_process(&rec); recording_flush(&rec);
	}
	recording_append(&f->rec, &rec);
}

/* The event of a depth is the plain one if it comes first of those that have calls. */
static void check_depth(const struct fixture *f, const char *name, bool first, uint64_t calls)
{
	for (size_t i = 0; i < f->profile.events.n; i++) {
		const struct dnp_event *event = &f->profile.events.p[i];

		if (strcmp(dnp_profile_string(&f->profile, event->name), first ? "trace" : name))
			continue;
		CHECK_EQ(event->calls->calls, calls);
		return;
	}
	FAIL("there is no event %s", first ? "trace" : name);
}

static void check_order(const enum depth *order)
{
	enum depth first = order[order[0] == NO_CALLS];
	struct fixture f = {.rec = recording_new(100)};

	for (size_t i = 0; i < DEPTHS; i++)
		append_depth(&f, i + 1, order[i]);
	load(&f, NULL, DNP_SUMS);
	CHECK_EQ(f.profile.events.n, 3);
	check_depth(&f, "trace by samples", first == SAMPLED || first == COUNTED, 16);
	check_depth(&f, "trace by a clock", first == TIMED, 31);
	check_depth(&f, "trace call by call", first == SINGLE, 8);
	done(&f);
}

/* Whose calls were too short for a sample has no time, but is no sum with those of a clock. */
TEST(each_depth_is_one_event_in_any_order)
{
	size_t tried = 0;

	for (unsigned n = 0; n < DEPTHS * DEPTHS * DEPTHS * DEPTHS * DEPTHS; n++) {
		enum depth order[DEPTHS];
		unsigned left = n, seen = 0;

		for (size_t i = 0; i < DEPTHS; i++, left /= DEPTHS) {
			order[i] = left % DEPTHS;
			seen |= 1u << order[i];
		}
		if (seen != (1u << DEPTHS) - 1)
			continue;
		check_order(order);
		tried++;
	}
	CHECK_EQ(tried, 120);
}

/* The edge between two methods, as many as the first one has. */
static const struct dnp_edge *edge(const struct fixture *f, const struct dnp_edges *edges,
	const char *of, size_t n, const char *name)
{
	const struct dnp_edge *own;

	CHECK_EQ(dnp_edges_of(edges, method(f, of)->frame, &own), n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name_of(f, own[i].frame), name))
			return &own[i];
	FAIL("there is no edge to %s", name);
}

#define FIB  "App.Calls.Fib(int)"
#define WORK "App.Calls.Work(int)"

TEST(callers_and_callees)
{
	struct fixture f;
	struct dnp_neighbours all;
	const struct dnp_edge *e, *first;

	load_calls(&f, NULL, DNP_SUMS);
	CHECK_EQ(dnp_neighbours_init(&all, &f.tree), 0);
	e = edge(&f, &all.callers, FIB, 2, WORK);
	CHECK_EQ(dnp_edges_of(&all.callers, method(&f, FIB)->frame, &first), 2);
	CHECK(e == first);
	CHECK_EQ(e->calls, 8);
	CHECK_EQ(e->total, 23 * MS);
	CHECK_EQ(e->self, 11 * MS);
	e = edge(&f, &all.callers, FIB, 2, FIB);
	CHECK_EQ(e->calls, 12);
	CHECK_EQ(e->total, 12 * MS);
	CHECK_EQ(edge(&f, &all.callees, FIB, 1, FIB)->calls, 12);
	CHECK_EQ(edge(&f, &all.callers, WORK, 2, "all")->calls, 5);
	CHECK_EQ(edge(&f, &all.callers, WORK, 2, "App.Calls.Main(string[])")->calls, 3);
	CHECK_EQ(edge(&f, &all.callees, WORK, 1, FIB)->calls, 8);
	CHECK_EQ(dnp_edges_of(&all.callees, UINT32_MAX - 1, &first), 0);
	dnp_neighbours_done(&all);
	done(&f);
}

TEST(events_are_followed)
{
	struct fixture f;

	for (int timed = 0; timed < 2; timed++) {
		f.rec = recording_new(1);
		recording_call_log(&f.rec);
		load(&f, NULL, timed ? DNP_BY_TIME : DNP_SUMS);
		check_method(&f, "App.Calls.Main(string[])", 1, 21 * MS, 40 * MS, 40 * MS);
		check_method(&f, "App.Calls.Work(int)", 2, 13 * MS, 20 * MS, 20 * MS);
		check_method(&f, "App.Calls.Fib(int)", 4, 10 * MS, 10 * MS, 14 * MS);
		check_method(&f, "App.Calls.Work(string)", 1, 6 * MS, 7 * MS, 7 * MS);
		CHECK_EQ(method(&f, "App.Calls.Fib(int)")->span.min_ns, MS);
		CHECK_EQ(method(&f, "App.Calls.Fib(int)")->span.max_ns, 7 * MS);
		CHECK_EQ(method(&f, "App.Calls.Main(string[])")->span.max_ns, 0); /* still open */
		CHECK_EQ(f.profile.events.p[0].calls->depth, DNP_CALL_EVENTS);
		CHECK_EQ(f.profile.events.p[0].lost, 5);
		CHECK_EQ(f.tree.thread_calls[0] + f.tree.thread_calls[1], 8);
		done(&f);
	}
	f.rec = recording_new(1);
	recording_call_log(&f.rec);
	load(&f, &(struct dnp_filter){.from_ns = 26 * MS, .to_ns = 40 * MS}, DNP_BY_TIME);
	check_method(&f, "App.Calls.Fib(int)", 2, 8 * MS, 8 * MS, 12 * MS);
	check_method(&f, "App.Calls.Main(string[])", 0, 3 * MS, 14 * MS, 14 * MS);
	done(&f);
}

static void check_summed(struct recording *rec, uint64_t calls, uint64_t lost)
{
	struct dnp_profile profile;
	struct dnp_input input;

	read_recording(&input, rec);
	CHECK_EQ(dnp_profile_init(&profile, DNP_SUMS, NULL), 0);
	profile.calls_summed = true;
	CHECK_EQ(dnp_profile_add(&profile, &input, NULL), 0);
	dnp_profile_finish(&profile);
	CHECK_EQ(profile.events.n, 1);
	CHECK_EQ(profile.events.p[0].calls->calls, calls);
	CHECK_EQ(profile.events.p[0].lost, lost);
	CHECK_EQ(profile.events.p[0].calls->counts.n, 0);
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	recording_done(rec);
}

/* As many as there are, without a look at each. */
TEST(calls_are_summed)
{
	struct recording tree = recording_new(1), events = recording_new(1);

	recording_calls(&tree);
	check_summed(&tree, 31, 3);
	recording_call_log(&events);
	check_summed(&events, 8, 5);
}

/* Who is called by what was told in a record that is missing has a caller. */
TEST(callers_that_are_missing_are_lost)
{
	struct fixture f = {.rec = recording_new(1)};
	struct dnp_neighbours all;

	recording_call_process(&f.rec);
	recording_call_nodes(&f.rec, 1, 1, (const uint64_t[]){1, 11}, 2);
	/* Node 2 is not told of: 3 is called by it, 4 by 3, and 5 by nobody. */
	recording_call_nodes(&f.rec, 1, 3, (const uint64_t[]){1, 12, 1, 14, 5, 13}, 6);
	recording_call_counts(&f.rec, 1, 1020 * MS,
		(const uint64_t[]){1, 1, 9 * MS, 9 * MS, 0, 0, 2, 4, 9 * MS, 2 * MS, 0, 0, 1, 6,
			3 * MS, 3 * MS, 0, 0, 1, 1, MS, MS, 0, 0},
		24);
	recording_call_methods(&f.rec);
	RECORD(&f.rec, end, .time_ns = 1030 * MS);
	recording_flush(&f.rec);
	load(&f, NULL, DNP_SUMS);
	check_method(&f, "[lost]", 0, 0, 5 * MS, 5 * MS);
	CHECK_EQ(dnp_neighbours_init(&all, &f.tree), 0);
	CHECK_EQ(edge(&f, &all.callers, WORK, 1, "[lost]")->calls, 4);
	CHECK_EQ(edge(&f, &all.callers, FIB, 1, WORK)->calls, 6);
	CHECK_EQ(edge(&f, &all.callers, "App.Calls.Work(string)", 1, "all")->calls, 1);
	CHECK_EQ(edge(&f, &all.callers, "[lost]", 1, "all")->calls, 0);
	dnp_neighbours_done(&all);
	done(&f);
}

/* What no record defines is lost, but its calls count; nothing is taken on trust. */
TEST(calls_of_what_is_not_defined)
{
	static const uint64_t nodes[] = {1, 99, 7, 98, 2, 97};
	static const uint64_t counts[] = {1, 1, 0, 5, 0, 0, 1, 2, 0, 0, 0, 0, 50, 4, 0, 7, 0, 0, 9};
	struct fixture f = {.rec = recording_new(1)};

	recording_call_process(&f.rec);
	recording_call_nodes(&f.rec, 8, 1, nodes, 6);
	recording_call_counts(&f.rec, 8, 2000 * MS, counts, 19);
	recording_call_nodes(&f.rec, 1, UINT64_MAX - 1, nodes, 6);
	RECORD(&f.rec, end, .time_ns = 2001 * MS);
	recording_flush(&f.rec);
	load(&f, NULL, DNP_SUMS);
	check_method(&f, "[lost]", 7, 12, 12, 12);
	CHECK_EQ(f.profile.threads.n, 2);
	CHECK_STR(dnp_profile_string(&f.profile, f.profile.threads.p[1].name), "[lost]");
	done(&f);
}
