/* SPDX-License-Identifier: MIT */
/* Switches in formats of others, whole; what their own readers make of it is for tests/e2e. */
#include "export/export.h"
#include "format/slice_codec.h"
#include "export/tracks.h"
#include "profiled.h"

#define START_NS UINT64_C(1000000000)
#define US       UINT64_C(1000)

static struct dnp_sink_memory written;

/* Terminated. Is done with the recording. */
static const char *write_recording(
	struct recording *rec, const struct dnp_exporter *exporter, const struct dnp_filter *filter)
{
	struct dnp_export_options options = {0};
	struct dnp_profile profile;
	struct dnp_input input;

	dnp_sink_memory_init(&written);
	profile_recording(&profile, &input, rec, filter, exporter->detail);
	CHECK(dnp_profile_switches(&profile, &options.event));
	options.input = &input;
	CHECK_EQ(exporter->write(&profile, &options, &written.sink, NULL), 0);
	CHECK_EQ(written.sink.error, 0);
	dnp_sink_write(&written.sink, "", 1);
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	recording_done(rec);
	return written.bytes.p;
}

static const char *write_with(const struct dnp_exporter *exporter, const struct dnp_filter *filter)
{
	struct recording rec = recording_new(1);

	recording_switches(&rec);
	return write_recording(&rec, exporter, filter);
}

TEST(csv)
{
	CHECK_STR(write_with(&dnp_export_csv, NULL),
		"pid,thread,tid,name,from_ns,to_ns,cpu,ended\r\n"
		"70,,,\"3 switches lost\",88000,92000,1,lost\r\n"
		"70,0,70,\"main\",10000,20000,0,waits\r\n"
		"70,1,71,\"first, \"\"1\"\"\",15000,18000,1,preempted\r\n"
		"70,1,71,\"first, \"\"1\"\"\",20000,30000,0,ended\r\n"
		"70,2,71,\"again\",41000,45000,1,waits\r\n"
		"70,0,70,\"main\",50000,60000,0,preempted\r\n"
		"70,0,70,\"main\",62000,70000,1,waits\r\n"
		"70,2,71,\"again\",80000,88000,1,unknown\r\n"
		"70,2,71,\"again\",95000,100000,1,runs\r\n"
		"70,0,70,\"half\",65000,65000,,mark\r\n"
		"70,0,70,\"order\",66000,,,span\r\n"
		"70,0,70,\"GET / → 200\",67000,69000,,span\r\n");
	dnp_vec_done(&written.bytes);
}

TEST(csv_of_some_threads)
{
	const char *again = "again";
	struct dnp_filter filter = {.threads = &again, .thread_count = 1};

	CHECK_STR(write_with(&dnp_export_csv, &filter),
		"pid,thread,tid,name,from_ns,to_ns,cpu,ended\r\n"
		"70,,,\"3 switches lost\",88000,92000,1,lost\r\n"
		"70,2,71,\"again\",41000,45000,1,waits\r\n"
		"70,2,71,\"again\",80000,88000,1,unknown\r\n"
		"70,2,71,\"again\",95000,100000,1,runs\r\n");
	dnp_vec_done(&written.bytes);
}

static void check_parts(const char *text, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strstr(text, parts[i]))
			FAIL("no %s in %s", parts[i], text);
	dnp_vec_done(&written.bytes);
}

/* The second thread with the id 71 has another one there. */
TEST(chrome)
{
	static const char *const parts[] = {
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"dnprof " DNP_VERSION
		"\",\"start_unix_ns\":1700000000000000000},\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":70,\"tid\":70,\"name\":\"process_name\",\"args\":{\"name\":"
		"\"switching\"}},\n",
		"{\"ph\":\"M\",\"pid\":70,\"tid\":71,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"first, \\\"1\\\"\"}},\n",
		"{\"ph\":\"M\",\"pid\":70,\"tid\":4194375,\"name\":\"thread_name\",\"args\":{"
		"\"name\":\"again\"}},\n",
		"{\"ph\":\"M\",\"pid\":70,\"tid\":4194304,\"name\":\"thread_name\",\"args\":{"
		"\"name\":\"switches lost, CPU 1\"}},\n"
		"{\"ph\":\"X\",\"pid\":70,\"tid\":4194304,\"ts\":88.000,\"dur\":4.000,\"name\":"
		"\"lost\","
		"\"args\":{\"cpu\":1,\"lost\":3}},\n",
		"{\"ph\":\"X\",\"pid\":70,\"tid\":71,\"ts\":15.000,\"dur\":3.000,\"name\":\"CPU "
		"1\",\"args\":{\"ended\":\"preempted\"}},\n",
		"{\"ph\":\"X\",\"pid\":70,\"tid\":4194375,\"ts\":95.000,\"dur\":5.000,\"name\":"
		"\"CPU 1\",\"args\":{\"ended\":\"runs\"}},\n",
		"{\"ph\":\"i\",\"pid\":70,\"tid\":70,\"ts\":65.000,\"cat\":\"mark\",\"s\":\"t\","
		"\"name\":\"half\"},\n",
		"{\"ph\":\"b\",\"pid\":70,\"tid\":70,\"ts\":66.000,\"cat\":\"span\",\"id\":2,"
		"\"name\":\"order\"},\n{\"ph\":\"b\"",
		"\"name\":\"GET / → 200\",\"args\":{\"result\":\"200\"}},\n",
		"\"ts\":69.000,\"cat\":\"span\",\"id\":3,\"name\":\"GET / → 200\"}]}\n",
	};

	check_parts(write_with(&dnp_export_chrome, NULL), parts, sizeof(parts) / sizeof(*parts));
}

#define PUT_LABEL(tid, name)                                                                       \
	"{\"ph\":\"M\",\"pid\":70,\"tid\":" #tid                                                   \
	",\"name\":\"thread_name\",\"args\":{\"name\":\"" name "\"}},\n"
#define PUT_LOSS(tid, from, length, cpu, count)                                                    \
	"{\"ph\":\"X\",\"pid\":70,\"tid\":" #tid ",\"ts\":" #from ".000,\"dur\":" #length          \
	".000,\"name\":\"lost\",\"args\":{\"cpu\":" #cpu ",\"lost\":" #count "}}"

/* A row for each processor, which no thread has: they overlap, and others have no id, either. */
TEST(chrome_losses)
{
	static const char *const parts[] = {
		PUT_LABEL(4194304, "others, CPU 0"),
		PUT_LABEL(8388608, "switches lost, CPU 0") PUT_LOSS(8388608, 10, 20, 0, 3),
		PUT_LABEL(12582912, "switches lost, CPU 1") PUT_LOSS(12582912, 20, 20, 1, 4),
		",\n" PUT_LOSS(8388608, 50, 5, 0, 5),
	};
	static const uint64_t slice[] = {5, 9, 0, DNP_SLICE_WAITS};
	struct recording rec = recording_new(1);

	RECORD(&rec, process, .pid = 70, .start_ns = START_NS, .cpus = 2);
	RECORD(&rec, event, .index = 4, .name = dnp_str("switch"), .unit = dnp_str("ns"));
	RECORD(&rec, thread, .index = 1, .start_ns = START_NS, .flags = DNP_THREAD_OTHERS,
		.name = dnp_str("others, CPU 0"));
	recording_slices(&rec, 1, slice, 1);
	RECORD(&rec, switch_loss, .cpu = 0, .from_ns = START_NS + 10 * US,
		.until_ns = START_NS + 30 * US, .count = 3);
	RECORD(&rec, switch_loss, .cpu = 1, .from_ns = START_NS + 20 * US,
		.until_ns = START_NS + 40 * US, .count = 4);
	RECORD(&rec, switch_loss, .cpu = 0, .from_ns = START_NS + 50 * US,
		.until_ns = START_NS + 55 * US, .count = 5);
	RECORD(&rec, end, .time_ns = START_NS + 100 * US, .reason = DNP_END_STOP);
	recording_flush(&rec);
	check_parts(write_recording(&rec, &dnp_export_chrome, NULL), parts,
		sizeof(parts) / sizeof(*parts));
}

/* Of a thread that never switched nobody knows where it ran. */
static const char *write_one_that_ran_on(const struct dnp_exporter *exporter)
{
	static const uint64_t slice[] = {5, 9, DNP_SLICE_NO_CPU, DNP_SLICE_RUNS};
	struct recording rec = recording_new(1);

	RECORD(&rec, process, .pid = 70, .start_ns = START_NS, .cpus = 2);
	RECORD(&rec, event, .index = 4, .name = dnp_str("switch"), .unit = dnp_str("ns"));
	RECORD(&rec, thread, .index = 1, .tid = 70, .start_ns = START_NS, .name = dnp_str("main"));
	recording_slices(&rec, 1, slice, 1);
	RECORD(&rec, end, .time_ns = START_NS + 100 * US, .reason = DNP_END_STOP);
	recording_flush(&rec);
	return write_recording(&rec, exporter, NULL);
}

TEST(processor_that_is_not_known_has_no_number)
{
	CHECK_STR(write_one_that_ran_on(&dnp_export_csv),
		"pid,thread,tid,name,from_ns,to_ns,cpu,ended\r\n70,0,70,\"main\",5000,9000,,"
		"runs\r\n");
	dnp_vec_done(&written.bytes);
	CHECK(strstr(write_one_that_ran_on(&dnp_export_chrome), "\"name\":\"ran\""));
	dnp_vec_done(&written.bytes);
	write_one_that_ran_on(&dnp_export_perfetto);
	CHECK(memmem(written.bytes.p, written.bytes.n, "ran", 3));
	dnp_vec_done(&written.bytes);
}

static uint64_t take(struct dnp_tracks *tracks, uint64_t begin_ns, uint64_t end_ns)
{
	size_t track;

	CHECK_EQ(dnp_tracks_take(tracks, begin_ns, end_ns, &track), 0);
	return track;
}

TEST(tracks_of_spans)
{
	struct dnp_tracks tracks = {0};

	CHECK_EQ(take(&tracks, 0, UINT64_MAX), 0);
	CHECK_EQ(take(&tracks, 0, 50), 1);
	CHECK_EQ(take(&tracks, 10, 30), 2);
	CHECK_EQ(take(&tracks, 40, 45), 2);
	CHECK_EQ(take(&tracks, 50, 50), 1);
	CHECK_EQ(take(&tracks, 50, 60), 1);
	CHECK_EQ(take(&tracks, 50, 60), 2);
	for (uint64_t i = 3; i < 30; i++)
		CHECK_EQ(take(&tracks, 55, 100 - i), i);
	CHECK_EQ(take(&tracks, 70, 80), 1);
	CHECK_EQ(take(&tracks, 71, 80), 2);
	CHECK_EQ(take(&tracks, 71, 80), 29);
	CHECK_EQ(take(&tracks, 71, 80), 30);
	dnp_tracks_done(&tracks);
}

/* Where each is looked for among all that are open this takes minutes. */
TEST(tracks_of_many_spans)
{
	struct dnp_tracks tracks = {0};

	for (uint64_t i = 0; i < 1000000; i++)
		CHECK_EQ(take(&tracks, i, UINT64_MAX), i);
	dnp_tracks_done(&tracks);
}

static void check_chosen(const char *path, const struct dnp_exporter *exporter)
{
	if (dnp_exporter_for(path) != exporter)
		FAIL("%s", path);
}

TEST(formats_by_ending)
{
	check_chosen("a.pftrace", &dnp_export_perfetto);
	check_chosen("b.d/a.perfetto-trace", &dnp_export_perfetto);
	check_chosen("a.trace.json", &dnp_export_chrome);
	check_chosen("a.json", NULL);
	check_chosen("a.trace.json/b", NULL);
	check_chosen("a.csv", &dnp_export_csv);
	check_chosen("a.svc", NULL);
	check_chosen("a.folded", &dnp_export_collapsed);
	check_chosen("", NULL);
}
