/* SPDX-License-Identifier: MIT */
/* What is written: the text, JSON and collapsed reports, and the page's data. */
#include <stdio.h>
#include <zlib.h>

#include "base/clean.h"
#include "export/export.h"
#include "export/html.h"
#include "export/share.h"

#include "profiled.h"

/* Everything between a recording and what an exporter wrote of it. */
static struct dnp_sink_memory written;

static const char *write_with(const struct dnp_exporter *exporter, const struct recording *rec,
	const struct dnp_export_options *options)
{
	struct dnp_input input;
	struct dnp_profile profile;

	dnp_sink_memory_init(&written);
	profile_recording(&profile, &input, rec, NULL, DNP_BY_TIME);
	if (exporter)
		CHECK_EQ(exporter->write(&profile, options, &written.sink, NULL), 0);
	else
		CHECK_EQ(dnp_html_write(dnp_str("<@DNPROF_META@|@DNPROF_DATA@>"), &profile, options,
				 &written.sink, NULL),
			0);
	CHECK_EQ(written.sink.error, 0);
	dnp_sink_write(&written.sink, "", 1);
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	return written.bytes.p;
}

static const struct dnp_export_options whole = {.methods = true, .threads = true, .tree = true};

static const char *write_small(
	const struct dnp_exporter *exporter, const struct dnp_export_options *options)
{
	struct recording rec = recording_new(1);
	const char *text;

	recording_small(&rec);
	text = write_with(exporter, &rec, options);
	recording_done(&rec);
	return text;
}

/* Where more stayed than can be watched the report says so. */
TEST(text_report_of_objects_that_stay)
{
	for (uint64_t mean = 100; mean <= 400; mean *= 4) {
		struct recording rec = recording_new(1);
		const char *text;

		RECORD(&rec, process, .pid = 1);
		RECORD(&rec, event, .name = dnp_str("live"), .unit = dnp_str("bytes"));
		RECORD(&rec, live_stats, .full = 1, .mean_bytes = mean << 10,
			.asked_bytes = 100 << 10, .watched = 9, .most = 3);
		RECORD(&rec, end, .time_ns = 1);
		recording_flush(&rec);
		text = write_with(&dnp_export_text, &rec, &whole);
		recording_done(&rec);
		CHECK_EQ(!!strstr(text,
				 "  more stayed than can be watched at once: one for 400 KiB in "
				 "the end, where 100 KiB were asked for; bars are wider for it\n"),
			mean == 400);
		dnp_vec_done(&written.bytes);
	}
}

/* What is lost of them is no share of what stays. */
TEST(text_report_of_objects_that_were_not_watched)
{
	static const uint64_t stack[] = {1};
	struct recording rec = recording_new(1);
	const char *text;

	RECORD(&rec, process, .pid = 1);
	RECORD(&rec, event, .name = dnp_str("live"), .unit = dnp_str("bytes"));
	RECORD(&rec, event, .index = 1, .name = dnp_str("alloc"), .unit = dnp_str("bytes"));
	RECORD(&rec, frame, .index = 1, .kind = DNP_FRAME_LABEL, .name = dnp_str("App.A"));
	recording_stack(&rec, 1, 0, stack, 1);
	RECORD(&rec, sample, .node = 1, .weight = 1 << 20, .value = 50);
	RECORD(&rec, sample, .event = 1, .node = 1, .weight = 200 << 20, .value = 50);
	RECORD(&rec, loss, .reason = DNP_LOSS_RING, .count = 1 << 20);
	RECORD(&rec, end, .time_ns = 1);
	recording_flush(&rec);
	text = write_with(&dnp_export_text, &rec, &whole);
	recording_done(&rec);
	CHECK(strstr(text,
		"  lost 1.00 MiB (buffer full 1.00 MiB), 0.50 % of the 200 MiB allocated, of "
		"which "
		"nobody knows what stayed, unresolved 0"));
	dnp_vec_done(&written.bytes);
}

TEST(text_report)
{
	static const char *const parts[] = {
		"app.dll: dotnet app.dll\n",
		"  pid 42, exit status 3, .NET 10.0.12, Linux 6.18, 2 CPUs\n",
		" for 100 ms, CPU time 130 ms, of it dnprof's own 700 µs\n",
		"cpu: 12 samples, one per 10 ms (100 Hz), perf cpu-clock\n",
		"  stand for 120 ms of the 129 ms of CPU time that the kernel counted (92.8 %); "
		"9 ms not seen\n",
		"  stacks took 20 µs to walk, 1 µs each (median; 99 % within 11 µs)\n",
		"  lost 4 (buffer full 4), unresolved 3 (0.75 % of frames), truncated 1, failed "
		"2\n",
		"  own code 41.7 %, .NET 50.0 %, kernel 8.3 %\n",
		"  50.0 %           6    50.0 %           6   System.Math.Sin(double)\n",
		"   0.0 %           0   100.0 %          12   App.Program.Main()\n",
		"  75.0 %           9        100 ms        42   main\n",
		" 100.0 %     0.0 %   App.Program.Main()\n"
		"  75.0 %    25.0 %   ├ App.Program.Hot()\n"
		"  50.0 %    50.0 %   │ System.Math.Sin(double)\n"
		"  16.7 %     0.0 %   ├ App.Program.Rec()\n"
		"  16.7 %    16.7 %   │ App.Program.Rec()\n"
		"   8.3 %     0.0 %   └ libc.so.6!memcpy\n"
		"   8.3 %     8.3 %     [k] do_syscall\n",
	};
	const char *text = write_small(&dnp_export_text, &whole);

	for (size_t i = 0; i < DNP_ARRAY_SIZE(parts); i++)
		if (!strstr(text, parts[i]))
			FAIL("the report lacks: %s", parts[i]);
	dnp_vec_done(&written.bytes);
}

static const char *write_wall(
	const struct dnp_exporter *exporter, const struct dnp_export_options *options)
{
	struct recording rec = recording_new(1);
	const char *text;

	recording_wall(&rec);
	text = write_with(exporter, &rec, options);
	recording_done(&rec);
	return text;
}

TEST(text_report_of_one_of_two_events)
{
	static const char *const parts[] = {
		"wall: 20 samples, one per 10 ms (100 Hz), clock\n",
		"truncated 0, failed 5 (moved 3, norule 2)\n",
		"  safepoint-biased: threads are seen where the runtime stops them\n",
		"  threads ran 50 ms (25.0 %), waited 150 ms (75.0 %)\n",
		"  also recorded: cpu (4 samples); choose with -e\n",
		"   share     samples        running      waiting    CPU time       tid   name\n"
		"  20.0 %           4          30 ms        10 ms           -        50   main\n"
		"  65.0 %          13          10 ms       120 ms           -        ×6   .NET TP "
		"Worker\n",
	};
	struct dnp_export_options wall = whole;
	const char *text;

	wall.event = 1;
	text = write_wall(&dnp_export_text, &wall);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(parts); i++)
		if (!strstr(text, parts[i]))
			FAIL("the report lacks: %s in %s", parts[i], text);
	dnp_vec_done(&written.bytes);
	wall.each_thread = true;
	text = write_wall(&dnp_export_text, &wall);
	CHECK(strstr(text, "        65   .NET TP Worker\n") && !strstr(text, "×"));
	dnp_vec_done(&written.bytes);
	text = write_wall(&dnp_export_text, &whole);
	CHECK(strstr(text, "also recorded: wall (20 samples)"));
	CHECK(!strstr(text, "waiting") && !strstr(text, "safepoint"));
	dnp_vec_done(&written.bytes);
}

static const char *write_calls(
	const struct dnp_exporter *exporter, const struct dnp_export_options *options)
{
	struct recording rec = recording_new(1);
	const char *text;

	recording_calls(&rec);
	text = write_with(exporter, &rec, options);
	recording_done(&rec);
	return text;
}

static void check_parts(const char *text, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strstr(text, parts[i]))
			FAIL("the report lacks: %s in %s", parts[i], text);
}

TEST(text_report_of_calls)
{
	static const char *const parts[] = {
		"trace: 31 calls, lost 3, depth time, enter and leave hooks\n",
		"  began 31, returned 26, tail calls 2, ended by exceptions 2, still open 1\n",
		"  methods 4, left out by the filter 9\n  inlined calls are not seen\n",
		"  60.2 %    50.0 ms    88.0 %    73.0 ms              8    9.12 ms    5.00 ms    "
		"17.0 ms   App.Calls.Work(int)\n",
		"   0.0 %       0 ns     0.0 %       0 ns              2       0 ns          -     "
		" "
		"    -   App.Calls.Work(string)\n",
		"  69.9 %             21     58.0 ms           -        60   main\n",
		"  21.7 %     7.2 %                 3    18.0 ms   │ │ App.Calls.Fib(int)\n",
	};
	const char *const about[] = {"*.Fib"};
	static const char *const edges[] = {
		"   total       time       self          calls   called by\n"
		"  27.7 %    23.0 ms    11.0 ms              8   App.Calls.Work(int)\n"
		"  14.5 %    12.0 ms    12.0 ms             12   App.Calls.Fib(int)\n"
		"   total       time       self          calls   calls\n"
		"  14.5 %    12.0 ms    12.0 ms             12   App.Calls.Fib(int)\n",
	};
	struct dnp_export_options options = {.about = about, .about_count = 1};

	check_parts(write_calls(&dnp_export_text, &whole), parts, DNP_ARRAY_SIZE(parts));
	dnp_vec_done(&written.bytes);
	check_parts(write_calls(&dnp_export_text, &options), edges, 1);
	dnp_vec_done(&written.bytes);
}

TEST(callers_and_callees_of_samples)
{
	static const char *const parts[] = {
		"   total     samples        self   called by\n"
		"  75.0 %           9           3   App.Program.Main()\n"
		"   total     samples        self   calls\n"
		"  50.0 %           6           6   System.Math.Sin(double)\n",
	};
	const char *const about[] = {"*.Hot", "No.Such"};
	struct dnp_export_options options = {.about = about, .about_count = 2};

	check_parts(write_small(&dnp_export_text, &options), parts, 1);
	dnp_vec_done(&written.bytes);
	options.about = about + 1;
	options.about_count = 1;
	CHECK(strstr(write_small(&dnp_export_text, &options), "\nno method matches\n"));
	dnp_vec_done(&written.bytes);
}

TEST(json_and_stacks_of_calls)
{
	static const char *const parts[] = {
		"\"trace\":{\"unit\":\"ns\"",
		"\"depth\":\"time\",\"calls\":31,\"enters\":31",
		"\"calls\":8,\"self_ns\":50000000,\"total_ns\":73000000,\"min_ns\":5000000,"
		"\"max_ns\":17000000",
		"\"callers\":[{\"name\":\"App.Calls.Main(string[])\"",
		"\"calls\":2,\"self_ns\":0,\"total_ns\":0}",
	};
	const char *const about[] = {"*.Work"};
	struct dnp_export_options options = {.about = about, .about_count = 1};
	const char *text = write_calls(&dnp_export_json, &options);

	check_parts(text, parts, DNP_ARRAY_SIZE(parts));
	CHECK(!strstr(text, "\"self\":"));
	dnp_vec_done(&written.bytes);
	text = write_calls(&dnp_export_collapsed, &options);
	CHECK(strstr(text, "App.Calls.Main(string[]);App.Calls.Work(int) 30000000\n"));
	CHECK(!strstr(text, "Work(string)"));
	dnp_vec_done(&written.bytes);
}

/* A stack of `depth` frames, one for each name in turn. */
static void deep(
	struct recording *rec, const char *const *names, size_t n, uint64_t kind, size_t depth)
{
	uint64_t frames[512];

	RECORD(rec, process, .pid = 1);
	RECORD(rec, event, .name = dnp_str("cpu"));
	RECORD(rec, module, .name = dnp_str("System.X"));
	for (size_t i = 0; i < n; i++)
		RECORD(rec, frame, .index = i, .kind = kind, .name = dnp_str(names[i]));
	for (size_t i = 0; i < depth; i++)
		frames[i] = i % n;
	recording_stack(rec, 1, 0, frames, depth);
	RECORD(rec, sample, .node = depth, .weight = 1);
	RECORD(rec, end, .time_ns = 1);
	recording_flush(rec);
}

TEST(text_shortens_long_runs)
{
	static const char *const names[] = {"[a]", "[b]"};
	struct recording rec = recording_new(1);
	const char *text;

	deep(&rec, names, 2, DNP_FRAME_OTHER, 400);
	text = write_with(&dnp_export_text, &rec, &whole);
	CHECK(strstr(
		text, "   [a]\n                     … 398 frames\n 100.0 %   100.0 %   [b]\n"));
	dnp_vec_done(&written.bytes);
	recording_done(&rec);
}

static size_t widest_line(const char *text)
{
	size_t widest = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		size_t columns = 0;

		for (const char *at = text; at < end; at++)
			columns += ((unsigned char)*at & 0xc0) != 0x80;
		widest = columns > widest ? columns : widest;
	}
	return widest;
}

TEST(text_fits_the_terminal_and_is_safe)
{
	static const char *const names[] = {"Some.Quite.Long.Namespace.And.TypeName.Method(and, "
					    "many, arguments, of, any, type)",
		"\x1b]0;owned\x07\x1b[31mRed\xe2\x80\xae\xff.Method()"};
	struct dnp_export_options narrow = whole;
	struct recording rec = recording_new(1);
	const char *text;

	narrow.columns = 80;
	deep(&rec, names, 2, DNP_FRAME_MANAGED, 4);
	text = write_with(&dnp_export_text, &rec, &narrow);
	CHECK(widest_line(text) <= 80);
	CHECK(strstr(text, "TypeName.Method(…)"));
	CHECK(!strchr(text, 0x1b) && !strstr(text, "\xe2\x80\xae"));
	dnp_vec_done(&written.bytes);
	recording_done(&rec);
}

TEST(collapsed_stacks)
{
	CHECK_STR(write_small(&dnp_export_collapsed, &whole),
		"App.Program.Main();App.Program.Hot() 3\n"
		"App.Program.Main();App.Program.Hot();System.Math.Sin(double) 6\n"
		"App.Program.Main();App.Program.Rec();App.Program.Rec() 2\n"
		"App.Program.Main();libc.so.6!memcpy;[k] do_syscall 1\n");
	dnp_vec_done(&written.bytes);
}

TEST(collapsed_stacks_begin_with_the_note)
{
	static const char note[] =
		"# safepoint-biased: threads are seen where the runtime stops them (wall)\n";
	struct dnp_export_options wall = whole;

	wall.event = 1;
	CHECK(!strncmp(write_wall(&dnp_export_collapsed, &wall), note, strlen(note)));
	dnp_vec_done(&written.bytes);
	CHECK(!strchr(write_wall(&dnp_export_collapsed, &whole), '#'));
	dnp_vec_done(&written.bytes);
}

TEST(json_report_of_one_of_two_events)
{
	static const char *const parts[] = {
		"\"note\":\"safepoint-biased: threads are seen where the runtime stops them\"",
		"\"samples\":20,\"waiting\":15,",
		"\"failures\":{\"moved\":3,\"norule\":2}",
		"\"event\":\"wall\",\"native\":\"all\",\"state\":\"any\"",
		"{\"tid\":50,\"name\":\"main\",\"samples\":4,\"cpu_ns\":0,\"running\":3,"
		"\"waiting\":1,\"running_ns\":30000000,\"waiting_ns\":10000000}",
	};
	struct dnp_export_options wall = whole;
	const char *text;

	wall.event = 1;
	text = write_wall(&dnp_export_json, &wall);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(parts); i++)
		if (!strstr(text, parts[i]))
			FAIL("the JSON lacks: %s", parts[i]);
	dnp_vec_done(&written.bytes);
}

TEST(page_begins_with_what_was_asked_for)
{
	struct dnp_export_options wall = whole;
	const char *page;

	wall.event = 1;
	wall.native = DNP_NATIVE_LEAF;
	wall.state = DNP_STATE_WAITING;
	page = write_wall(NULL, &wall);
	CHECK(strstr(
		page, "\"begin\":{\"event\":\"wall\",\"native\":\"leaf\",\"state\":\"waiting\"}"));
	CHECK(strstr(page, "{\"name\":\"wall.waiting\",\"type\":\"u8\",\"count\":11}"));
	CHECK(!strstr(page, "cpu.waiting") && strstr(page, "\"frame.managed\""));
	CHECK(strstr(page, "\"note\":\"safepoint-biased: threads"));
	dnp_vec_done(&written.bytes);
}

TEST(json_report)
{
	static const char *const parts[] = {
		"{\"version\":2,\"command\":[\"dotnet\",\"app.dll\"],\"pid\":42,"
		"\"runtime\":\"10.0.12\"",
		"\"start_unix_ns\":1700000000000000000,\"duration_ns\":100000000,\"complete\":true,"
		"\"cpu_ns\":130000000,\"agent_cpu_ns\":700000",
		"\"events\":{\"cpu\":{",
		"\"interval_ns\":10000000,\"samples\":12,\"clock_ns\":129300000,"
		"\"lost\":4,\"truncated\":1,"
		"\"unresolved\":3,\"failed\":2",
		"\"agent_bytes\":9000000,\"walk_ns\":20000,\"walk_p50_ns\":1400,\"walk_p99_ns\":"
		"11000",
		"{\"tid\":42,\"name\":\"main\",\"samples\":9,\"cpu_ns\":100000000}",
		"{\"name\":\"System.Math.Sin(double)\",\"module\":\"System.Private.CoreLib\","
		"\"kind\":\"managed\",\"code\":\"framework\",\"self\":6,\"total\":6}",
		"\"tree\":[{\"name\":\"App.Program.Main()\",",
		"{\"parent\":0,\"name\":\"App.Program.Hot()\",",
		"{\"parent\":1,\"name\":\"System.Math.Sin(double)\",",
		"\"self\":1,\"total\":1}]}\n",
	};
	const char *text = write_small(&dnp_export_json, &whole);

	for (size_t i = 0; i < DNP_ARRAY_SIZE(parts); i++)
		if (!strstr(text, parts[i]))
			FAIL("the JSON lacks: %s", parts[i]);
	dnp_vec_done(&written.bytes);
}

/* How deep a reader of JSON has to go; no string in it has brackets. */
static unsigned depth_of(const char *json)
{
	unsigned depth = 0, most = 0;

	for (; *json; json++) {
		depth += *json == '{' || *json == '[';
		depth -= *json == '}' || *json == ']';
		most = depth > most ? depth : most;
	}
	CHECK_EQ(depth, 0);
	return most;
}

/* Python's refuses 1000, jq's 256. */
TEST(json_is_not_as_deep_as_stacks)
{
	struct recording rec = recording_new(1);
	uint64_t frames[2000];
	const char *text;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(frames); i++)
		frames[i] = 2;
	recording_small(&rec);
	recording_stack(&rec, 8, 3, frames, DNP_ARRAY_SIZE(frames));
	recording_flush(&rec);
	RECORD(&rec, base, .time_ns = 5000000000);
	RECORD(&rec, sample, .event = 1, .thread = 1, .node = 2007, .weight = 1);
	recording_flush(&rec);
	text = write_with(&dnp_export_json, &rec, &whole);
	recording_done(&rec);
	CHECK(depth_of(text) < 8);
	CHECK(strstr(text, "\"parent\":2001,"));
	dnp_vec_done(&written.bytes);
}

/* Decodes base64 in place; returns the bytes. */
static size_t decode(const char *text, size_t n, uint8_t *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	size_t made = 0, held = 0;

	for (size_t i = 0; i < n && text[i] != '='; i++) {
		const char *digit = strchr(digits, text[i]);

		CHECK(digit);
		bits = bits << 6 | (uint32_t)(digit - digits);
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[made++] = (uint8_t)(bits >> held);
		}
	}
	return made;
}

static size_t inflate_all(uint8_t *in, size_t n, uint8_t *out, size_t room)
{
	z_stream stream = {
		.next_in = in, .avail_in = (uInt)n, .next_out = out, .avail_out = (uInt)room};

	CHECK_EQ(inflateInit2(&stream, -15), Z_OK);
	CHECK_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
	CHECK_EQ(inflateEnd(&stream), Z_OK);
	return room - stream.avail_out;
}

/* The bytes of a section of u32 as meta lists it, padded. */
static size_t padded_u32(const char *meta, const char *name)
{
	char entry[64];
	unsigned long n;
	const char *found;

	snprintf(entry, sizeof(entry), "{\"name\":\"%s\",\"type\":\"u32\",\"count\":", name);
	found = strstr(meta, entry);
	CHECK(found);
	n = strtoul(found + strlen(entry), NULL, 10);
	return (n * 4 + 7) / 8 * 8;
}

TEST(page_data)
{
	static const char *const names[] = {"frame.name", "frame.module", "node.parent",
		"node.frame", "cpu.time", "cpu.thread", "cpu.node", "cpu.weight"};
	const char *page = write_small(NULL, &whole), *bar = strrchr(page, '|');
	uint8_t packed[4096], data[8192];
	uint32_t weights[5];
	size_t n, want = 16; /* frame.kind and .managed: seven bytes each, padded */

	CHECK(bar && page[0] == '<' && strlen(bar) < sizeof(packed));
	CHECK(strstr(page, "\"title\":\"app.dll\"") && strstr(page, "\"time_unit_ns\":1000,"));
	n = decode(bar + 1, strlen(bar) - 2, packed);
	n = inflate_all(packed, n, data, sizeof(data));
	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		want += padded_u32(page, names[i]);
	want += (strtoul(strstr(page, "\"utf8\",\"bytes\":") + 15, NULL, 10) + 7) / 8 * 8;
	CHECK_EQ(n, want);
	CHECK_EQ(data[0], 0);
	memcpy(weights, data + n - 24, sizeof(weights));
	CHECK_EQ(weights[0], 5); /* in the order of time */
	CHECK_EQ(weights[1], 3);
	CHECK_EQ(weights[2], 1);
	CHECK_EQ(weights[3], 2);
	CHECK_EQ(weights[4], 1);
	dnp_vec_done(&written.bytes);
}

TEST(page_with_a_hostile_name_stays_in_its_place)
{
	static const char *const names[] = {"</script><script>alert(1)</script>@DNPROF_DATA@<!--"};
	struct recording rec = recording_new(1);
	const char *page;

	deep(&rec, names, 1, DNP_FRAME_MANAGED, 1);
	RECORD(&rec, problem, .text = dnp_str("</script>@DNPROF_META@"));
	recording_flush(&rec);
	page = write_with(NULL, &rec, &whole);
	CHECK(!strstr(page, "</script>"));
	dnp_vec_done(&written.bytes);
	recording_done(&rec);
}

TEST(exporters_by_name_and_ending)
{
	CHECK(dnp_exporter_for("a.txt") == &dnp_export_text);
	CHECK(dnp_exporter_for("dir.txt/a.folded") == &dnp_export_collapsed);
	CHECK(!dnp_exporter_for("a.collapse"));
	CHECK(!dnp_exporter_for("dir.txt/a"));
	CHECK(!dnp_exporter_for("a."));
	CHECK(dnp_exporter_named("report-json") == &dnp_export_json);
	CHECK(!dnp_exporter_named("no such"));
}

TEST(numbers_for_people)
{
	CHECK_STR(dnp_format_count(0).text, "0");
	CHECK_STR(dnp_format_count(999).text, "999");
	CHECK_STR(dnp_format_count(1234567).text, "1,234,567");
	CHECK_STR(dnp_format_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	CHECK_STR(dnp_format_duration(12000).text, "12 µs");
	CHECK_STR(dnp_format_duration(12500).text, "13 µs");
	CHECK_STR(dnp_format_duration(999600).text, "1 ms");
	CHECK_STR(dnp_format_duration(250000000).text, "250 ms");
	CHECK_STR(dnp_format_duration(343970000).text, "344 ms");
	CHECK_STR(dnp_format_duration(999600000).text, "1.00 s");
	CHECK_STR(dnp_format_duration(10280000000).text, "10.3 s");
	CHECK_STR(dnp_format_duration(200000000000).text, "3 min 20 s");
	CHECK_STR(dnp_format_duration(UINT64_C(7260000000000)).text, "2 h 01 min");
}
