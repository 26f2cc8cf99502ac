/* SPDX-License-Identifier: MIT */
/* Samples of requests: which thread worked for which one, and when. */
#include "profiled.h"

#include "aggregate/requests.h"
#include "base/clean.h"

enum { CPU, REQUEST, MARK };

/* Two threads, one stack of one frame. */
static void begin_requests(struct recording *rec)
{
	*rec = recording_new(1);
	RECORD(rec, process, .pid = 1);
	RECORD(rec, event, .index = CPU, .name = dnp_str("cpu"), .unit = dnp_str("samples"));
	RECORD(rec, event, .index = REQUEST, .name = dnp_str("request"),
		.unit = dnp_str("requests"));
	RECORD(rec, event, .index = MARK, .name = dnp_str("mark"), .unit = dnp_str("marks"));
	for (uint64_t i = 1; i <= 3; i++)
		RECORD(rec, thread, .index = i, .tid = i, .name = dnp_str("pool"));
	RECORD(rec, frame, .index = 1, .kind = DNP_FRAME_MANAGED, .name = dnp_str("Main"));
	recording_stack(rec, 1, 0, (uint64_t[]){1}, 1);
	RECORD(rec, base, .time_ns = 0);
}

static void turn(struct recording *rec, uint64_t time, uint64_t thread, uint64_t activity)
{
	RECORD(rec, turn, .event = REQUEST, .time_ns = time, .thread = thread,
		.activity = activity);
}

static void span(struct recording *rec, uint64_t id, uint64_t time, uint64_t thread,
	const char *name, const char *trace)
{
	RECORD(rec, span, .event = REQUEST, .id = id, .time_ns = time, .thread = thread,
		.name = dnp_str(name), .trace = dnp_str(trace));
}

static void span_end(struct recording *rec, uint64_t id, uint64_t time, const char *group)
{
	RECORD(rec, span_end, .event = REQUEST, .id = id, .time_ns = time, .thread = 2,
		.group = dnp_str(group));
}

/* Each sample weighs another power of two, so that the sum tells which ones are there. */
static void sample(
	struct recording *rec, int64_t *last, int64_t time, uint64_t thread, uint64_t weight)
{
	RECORD(rec, sample, .delta_ns = time - *last, .event = CPU, .thread = thread, .node = 1,
		.weight = weight);
	*last = time;
}

/* Samples come before what was said in their time, as they may. */
static void put_samples(struct recording *rec)
{
	static const struct {
		int64_t time;
		uint64_t thread;
	} samples[] = {{5, 1}, {15, 1}, {25, 1}, {35, 1}, {45, 1}, {25, 2}, {35, 2}, {45, 2},
		{55, 2}, {15, 3}, {10, 1}, {20, 1}};
	int64_t last = 0;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(samples); i++)
		sample(rec, &last, samples[i].time, samples[i].thread, UINT64_C(1) << i);
}

/*
 *	thread 1    10-20 GET /a/1    30-40 GET /b
 *	thread 2                      30-40 GET /a/1, on it goes    50-60 what nobody knows
 */
static void put_turns(struct recording *rec)
{
	turn(rec, 10, 1, 0xa);
	span(rec, 7, 11, 1, "GET /a/1", "aaaa");
	RECORD(rec, span, .event = MARK, .id = 7, .time_ns = 12, .thread = 1,
		.name = dnp_str("inside"));
	turn(rec, 20, 1, 0);
	RECORD(rec, span, .event = MARK, .id = 8, .time_ns = 22, .thread = 1,
		.name = dnp_str("outside"));
	turn(rec, 30, 1, 0xb);
	span(rec, 8, 31, 1, "GET /b", "bbbb");
	turn(rec, 40, 1, 0);
	turn(rec, 30, 2, 0xa);
	turn(rec, 40, 2, 0);
	span_end(rec, 7, 41, "GET /a/{id}");
	turn(rec, 50, 2, 0xc);
}

static uint64_t weight_of(const struct dnp_profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->events.p[0].rows.n; i++)
		sum += profile->events.p[0].rows.slots[i].weight;
	return sum;
}

static uint64_t weight(const struct recording *rec, const char *pattern, uint64_t wanted)
{
	struct dnp_filter filter = {.requests = &pattern, .request_count = 1};
	struct dnp_profile profile;
	struct dnp_input input;
	uint64_t sum;

	profile_recording(&profile, &input, rec, &filter, DNP_BY_THREAD);
	CHECK_EQ(profile.requests.wanted, wanted);
	CHECK(profile.requests.followed);
	sum = weight_of(&profile);
	CHECK_EQ(profile.events.p[0].samples, sum);
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	return sum;
}

TEST(requests_have_what_their_threads_did)
{
	struct recording rec;

	begin_requests(&rec);
	put_samples(&rec);
	put_turns(&rec);
	RECORD(&rec, end, .time_ns = 100);
	recording_flush(&rec);
	CHECK_EQ(weight(&rec, "GET /a/*", 1), 2 | 64 | 1024);
	CHECK_EQ(weight(&rec, "GET /a/{id}", 1), 2 | 64 | 1024);
	CHECK_EQ(weight(&rec, "/a/1", 1), 2 | 64 | 1024);
	CHECK_EQ(weight(&rec, "aaaa", 1), 2 | 64 | 1024);
	CHECK_EQ(weight(&rec, "GET /b", 1), 8);
	CHECK_EQ(weight(&rec, "GET *", 2), 2 | 64 | 1024 | 8);
	CHECK_EQ(weight(&rec, "POST *", 0), 0);
	CHECK_EQ(weight(&rec, "/a", 0), 0);
	recording_done(&rec);
}

/* What a thread said while it worked for a request stays, and the request. */
TEST(requests_choose_spans)
{
	static const char *const pattern = "bbbb", *const other = "/a/1";
	struct dnp_filter filter = {.requests = &pattern, .request_count = 1};
	struct dnp_profile profile;
	struct dnp_input input;
	struct recording rec;

	begin_requests(&rec);
	put_turns(&rec);
	RECORD(&rec, end, .time_ns = 100);
	recording_flush(&rec);
	profile_recording(&profile, &input, &rec, &filter, DNP_BY_THREAD);
	CHECK_EQ(profile.spans.n, 1);
	CHECK_STR(dnp_profile_string(&profile, profile.spans.p[0].name), "GET /b");
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	filter.requests = &other;
	profile_recording(&profile, &input, &rec, &filter, DNP_BY_THREAD);
	CHECK_EQ(profile.spans.n, 2);
	CHECK_STR(dnp_profile_string(&profile, profile.spans.p[0].name), "GET /a/1");
	CHECK_STR(dnp_profile_string(&profile, profile.spans.p[1].name), "inside");
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	recording_done(&rec);
}

/* Turns are lost: nobody knows until the next one, and no sample is taken for another's. */
TEST(requests_whose_turns_are_lost)
{
	struct recording rec;
	int64_t last = 0;

	begin_requests(&rec);
	turn(&rec, 10, 1, 0xa);
	span(&rec, 7, 11, 1, "GET /a", "");
	turn(&rec, 20, 2, 0);
	RECORD(&rec, loss, .event = REQUEST, .reason = DNP_LOSS_RING, .count = 3, .time_ns = 50);
	turn(&rec, 60, 1, 0xa);
	turn(&rec, 65, 1, 0);
	turn(&rec, 63, 2, 0xa); /* waited for its turn to say so */
	RECORD(&rec, loss, .event = CPU, .reason = DNP_LOSS_RING, .count = 3, .time_ns = 66);
	recording_flush(&rec);
	RECORD(&rec, base, .time_ns = 0);
	sample(&rec, &last, 15, 1, 1);
	sample(&rec, &last, 30, 1, 2);
	sample(&rec, &last, 62, 1, 4);
	sample(&rec, &last, 70, 2, 8);
	sample(&rec, &last, 70, 1, 16);
	RECORD(&rec, end, .time_ns = 100);
	recording_flush(&rec);
	CHECK_EQ(weight(&rec, "GET /a", 1), 1 | 4 | 8);
	recording_done(&rec);
}

/* Whatever a file says: memory by what it has, not by its threads times its losses. */
TEST(turns_that_are_lost_cost_as_much_as_their_records)
{
	struct recording rec;
	int64_t last = 0;

	begin_requests(&rec);
	for (uint64_t i = 0; i < 20000; i++)
		turn(&rec, 10, 1 + i, 0xa);
	span(&rec, 7, 11, 1, "GET /a", "");
	for (uint64_t i = 0; i < 5000; i++)
		RECORD(&rec, loss, .event = REQUEST, .count = 1);
	turn(&rec, 60, 2, 0xa);
	recording_flush(&rec);
	RECORD(&rec, base, .time_ns = 0);
	sample(&rec, &last, 50, 1, 1);
	sample(&rec, &last, 70, 2, 2);
	RECORD(&rec, end, .time_ns = 100);
	recording_flush(&rec);
	CHECK_EQ(weight(&rec, "GET /a", 1), 2);
	CHECK(test_peak_memory() < 1 << 30); /* it was two GiB and more */
	recording_done(&rec);
}

/* Of calls, switches and sums nobody knows whose they are. */
TEST(requests_leave_out_what_is_not_told_by_them)
{
	static const char *const pattern = "*";
	struct dnp_filter filter = {.requests = &pattern, .request_count = 1};
	struct dnp_profile profile;
	struct dnp_input input;
	struct recording rec;
	int64_t last = 0;

	begin_requests(&rec);
	RECORD(&rec, event, .index = 4, .name = dnp_str("alloc"), .unit = dnp_str("bytes"));
	sample(&rec, &last, 15, 1, 1);
	RECORD(&rec, sample, .event = 4, .thread = 1, .node = 1, .weight = 100, .count = 3);
	recording_slices(&rec, 1, (uint64_t[]){10, 20, 0, 0}, 1);
	put_turns(&rec);
	RECORD(&rec, end, .time_ns = 100);
	recording_flush(&rec);
	profile_recording(&profile, &input, &rec, &filter, DNP_BY_THREAD);
	CHECK_EQ(profile.requests.left_out.n, 2);
	CHECK_STR(dnp_profile_string(&profile, profile.requests.left_out.p[0]), "alloc");
	CHECK_STR(dnp_profile_string(&profile, profile.requests.left_out.p[1]), "switch");
	CHECK_EQ(dnp_profile_event(&profile, "alloc"), DNP_NONE);
	CHECK_EQ(dnp_profile_event(&profile, "switch"), DNP_NONE);
	CHECK_EQ(weight_of(&profile), 1);
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	recording_done(&rec);
}

/* By the thread that caused them, which the sample of the same number tells. */
TEST(requests_choose_collections)
{
	static const char *const pattern = "/a/1";
	struct dnp_filter filter = {.requests = &pattern, .request_count = 1};
	struct dnp_profile profile;
	struct dnp_input input;
	struct recording rec;

	begin_requests(&rec);
	RECORD(&rec, event, .index = 4, .name = dnp_str("gc"), .unit = dnp_str("ns"));
	RECORD(&rec, sample, .delta_ns = 35, .event = 4, .thread = 1, .node = 1, .weight = 1,
		.value = 1);
	RECORD(&rec, sample, .delta_ns = 0, .event = 4, .thread = 2, .node = 1, .weight = 1,
		.value = 2);
	for (uint64_t i = 1; i <= 3; i++)
		RECORD(&rec, collection, .event = 4, .number = i, .begin_ns = 35, .end_ns = 36);
	put_turns(&rec);
	RECORD(&rec, end, .time_ns = 100);
	recording_flush(&rec);
	profile_recording(&profile, &input, &rec, &filter, DNP_BY_THREAD);
	CHECK_EQ(profile.collections.n, 1);
	CHECK_EQ(profile.collections.p[0].number, 2);
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	recording_done(&rec);
}
