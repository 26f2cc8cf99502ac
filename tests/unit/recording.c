/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include "format/call_codec.h"
#include "format/slice_codec.h"
#include "format/varint.h"

struct recording recording_new(uint64_t number)
{
	return (struct recording){.number = number};
}

void recording_done(struct recording *rec)
{
	dnp_vec_done(&rec->bytes);
	dnp_vec_done(&rec->payload);
}

void recording_append(struct recording *rec, struct recording *more)
{
	if (dnp_vec_reserve(&rec->bytes, rec->bytes.n + more->bytes.n))
		abort();
	memcpy(rec->bytes.p + rec->bytes.n, more->bytes.p, more->bytes.n);
	rec->bytes.n += more->bytes.n;
	recording_done(more);
}

uint8_t *recording_room(struct recording *rec, size_t n)
{
	if (rec->payload.n + n > DNP_CHUNK_MAX)
		recording_flush(rec);
	if (dnp_vec_reserve(&rec->payload, rec->payload.n + n))
		abort();
	return rec->payload.p + rec->payload.n;
}

void recording_chunk(struct recording *rec, enum dnp_chunk_kind kind, const void *payload, size_t n)
{
	struct dnp_chunk_header header;

	dnp_chunk_seal(&header, kind, rec->number, rec->sequence++, payload, (uint32_t)n);
	if (dnp_vec_reserve(&rec->bytes, rec->bytes.n + sizeof(header) + n))
		abort();
	memcpy(rec->bytes.p + rec->bytes.n, &header, sizeof(header));
	memcpy(rec->bytes.p + rec->bytes.n + sizeof(header), payload, n);
	rec->bytes.n += sizeof(header) + n;
}

void recording_flush(struct recording *rec)
{
	if (rec->payload.n)
		recording_chunk(rec, DNP_CHUNK_RECORDS, rec->payload.p, rec->payload.n);
	rec->payload.n = 0;
}

void recording_stack(
	struct recording *rec, uint64_t first, uint64_t parent, const uint64_t *frames, size_t n)
{
	uint8_t bytes[4096];
	uint8_t *end = bytes;

	for (size_t i = 0; i < n && end < bytes + sizeof(bytes) - DNP_VARINT_MAX; i++)
		end = dnp_varint_put(end, frames[i]);
	RECORD(rec, stack, .first = first, .parent = parent,
		.frames = {(const char *)bytes, (size_t)(end - bytes)});
}

static void frame(
	struct recording *rec, uint64_t index, uint64_t kind, uint64_t module, const char *name)
{
	RECORD(rec, frame, .index = index, .kind = kind, .module = module,
		.function = 0x1000 + index, .name = dnp_str(name));
}

static void describe(struct recording *rec)
{
	RECORD(rec, process, .pid = 42, .start_ns = 5000000000,
		.start_unix_ns = 1700000000000000000, .command = {"dotnet\0app.dll\0", 15},
		.executable = dnp_str("/usr/bin/dotnet"), .runtime = dnp_str("10.0.12"),
		.tool = dnp_str("0.1.0"), .os = dnp_str("Linux 6.18"), .cpus = 2);
	RECORD(rec, event, .index = 1, .name = dnp_str("cpu"), .unit = dnp_str("samples"),
		.interval_ns = 10000000, .source = dnp_str("perf cpu-clock"));
	RECORD(rec, thread, .index = 1, .tid = 42, .start_ns = 5000000000, .cpu_ns = 10000000,
		.name = dnp_str("main"));
	RECORD(rec, thread, .index = 2, .tid = 43, .start_ns = 5000000000);
	RECORD(rec, thread_name, .thread = 2, .name = dnp_str("worker"));
	RECORD(rec, module, .index = 1, .kind = DNP_MODULE_MANAGED, .path = dnp_str("/app/app.dll"),
		.name = dnp_str("app"));
	RECORD(rec, module, .index = 2, .kind = DNP_MODULE_MANAGED,
		.name = dnp_str("System.Private.CoreLib"));
	RECORD(rec, module, .index = 3, .kind = DNP_MODULE_NATIVE,
		.path = dnp_str("/lib/libc.so.6"), .name = dnp_str("libc.so.6"));
	RECORD(rec, module, .index = 4, .kind = DNP_MODULE_KERNEL, .name = dnp_str("[kernel]"));
	frame(rec, 1, DNP_FRAME_MANAGED, 1, "App.Program.Main()");
	frame(rec, 2, DNP_FRAME_MANAGED, 1, "App.Program.Hot()");
	frame(rec, 3, DNP_FRAME_R2R, 2, "System.Math.Sin(double)");
	frame(rec, 4, DNP_FRAME_MANAGED, 1, "App.Program.Rec()");
	frame(rec, 5, DNP_FRAME_NATIVE, 3, "");
	frame(rec, 6, DNP_FRAME_KERNEL, 4, "");
}

static void sample(
	struct recording *rec, int64_t delta_ns, uint64_t thread, uint64_t node, uint64_t weight)
{
	RECORD(rec, sample, .delta_ns = delta_ns, .event = 1, .thread = thread, .node = node,
		.weight = weight);
}

void recording_small(struct recording *rec)
{
	recording_chunk(rec, DNP_CHUNK_SCHEMA, dnp_rec_schema, strlen(dnp_rec_schema));
	describe(rec);
	recording_stack(rec, 1, 0, (uint64_t[]){1, 2, 3}, 3);
	recording_stack(rec, 4, 1, (uint64_t[]){4, 4}, 2);
	recording_stack(rec, 6, 1, (uint64_t[]){5, 6}, 2);
	recording_flush(rec);
	RECORD(rec, base, .time_ns = 5000000000);
	sample(rec, 10000000, 1, 3, 5);
	sample(rec, 10000000, 1, 2, 3);
	sample(rec, 10000000, 2, 5, 2);
	sample(rec, -5000000, 1, 3, 1);
	sample(rec, 20000000, 2, 7, 1);
	RECORD(rec, loss, .time_ns = 5050000000, .event = 1, .thread = 2, .reason = DNP_LOSS_RING,
		.count = 4);
	recording_flush(rec);
	RECORD(rec, stats, .time_ns = 5090000000, .event = 1, .samples = 12, .truncated = 1,
		.failed = 2, .unresolved = 3, .frames = 400, .agent_bytes = 9000000,
		.walk_ns = 20000, .walk_p50_ns = 1400, .walk_p99_ns = 11000);
	RECORD(rec, agent, .time_ns = 5080000000, .cpu_ns = 600000, .process_ns = 9);
	RECORD(rec, agent, .time_ns = 5090000000, .cpu_ns = 700000, .process_ns = 130000000);
	RECORD(rec, thread_end, .thread = 1, .time_ns = 5090000000, .cpu_ns = 110000000);
	RECORD(rec, end, .time_ns = 5100000000, .reason = DNP_END_EXIT);
	recording_flush(rec);
	RECORD(rec, symbol, .module = 3, .function = 0x1005, .name = dnp_str("memcpy"));
	RECORD(rec, symbol, .module = 4, .function = 0x1006, .name = dnp_str("do_syscall"));
	RECORD(rec, exit, .time_ns = 5110000000, .status = 3);
	recording_flush(rec);
}

#define WORKERS 6u

enum { MAIN = 1, COMPARE, WORK, START, QSORT, MEMCPY, POLL };

static void describe_wall(struct recording *rec)
{
	static const char *const native[] = {
		[START] = "start", [QSORT] = "qsort", [MEMCPY] = "memcpy", [POLL] = "poll"};

	RECORD(rec, process, .pid = 50, .start_ns = 1000000000,
		.start_unix_ns = 1700000000000000000, .command = {"wall\0", 5},
		.runtime = dnp_str("10.0.12"), .cpus = 2);
	RECORD(rec, event, .index = 0, .name = dnp_str("cpu"), .unit = dnp_str("samples"),
		.interval_ns = 10000000, .source = dnp_str("perf cpu-clock"));
	RECORD(rec, event, .index = 1, .name = dnp_str("wall"), .unit = dnp_str("samples"),
		.interval_ns = 10000000, .source = dnp_str("clock"),
		.note = dnp_str("safepoint-biased: threads are seen where the runtime stops them"));
	RECORD(rec, thread, .index = 1, .tid = 50, .name = dnp_str("main"));
	RECORD(rec, thread, .index = 2, .tid = 51, .name = dnp_str("gc"));
	for (uint64_t i = 0; i < WORKERS; i++)
		RECORD(rec, thread, .index = 10 + i, .tid = 60 + i,
			.name = dnp_str(".NET TP Worker"));
	RECORD(rec, module, .index = 1, .kind = DNP_MODULE_MANAGED, .name = dnp_str("wall"));
	RECORD(rec, module, .index = 2, .kind = DNP_MODULE_NATIVE, .name = dnp_str("libc"));
	frame(rec, MAIN, DNP_FRAME_MANAGED, 1, "Main()");
	frame(rec, COMPARE, DNP_FRAME_MANAGED, 1, "Compare()");
	frame(rec, WORK, DNP_FRAME_MANAGED, 1, "Work()");
	for (uint64_t i = START; i <= POLL; i++) {
		frame(rec, i, DNP_FRAME_NATIVE, 2, "");
		RECORD(rec, symbol, .module = 2, .function = 0x1000 + i,
			.name = dnp_str(native[i]));
	}
}

static void wall_sample(
	struct recording *rec, uint64_t thread, uint64_t node, uint64_t weight, bool waiting)
{
	RECORD(rec, sample, .delta_ns = 10000000, .event = 1, .thread = thread, .node = node,
		.weight = weight, .flags = waiting ? DNP_SAMPLE_WAITING : 0);
}

void recording_wall(struct recording *rec)
{
	describe_wall(rec);
	recording_stack(rec, 1, 0, (uint64_t[]){START, MAIN, QSORT, COMPARE, MEMCPY}, 5);
	recording_stack(rec, 6, 2, (uint64_t[]){POLL}, 1);
	recording_stack(rec, 7, 1, (uint64_t[]){WORK, POLL}, 2);
	recording_stack(rec, 9, 1, (uint64_t[]){POLL}, 1);
	recording_flush(rec);
	RECORD(rec, base, .time_ns = 1000000000);
	RECORD(rec, sample, .delta_ns = 0, .event = 0, .thread = 1, .node = 5, .weight = 4);
	wall_sample(rec, 1, 5, 3, false);
	wall_sample(rec, 1, 6, 1, true);
	for (uint64_t i = 0; i < WORKERS; i++)
		wall_sample(rec, 10 + i, 8, 2, true);
	wall_sample(rec, 10, 7, 1, false);
	wall_sample(rec, 2, 9, 2, true);
	wall_sample(rec, 2, 0, 1, false);
	RECORD(rec, failure, .event = 1, .reason = dnp_str("moved"), .count = 1);
	RECORD(rec, failure, .event = 1, .reason = dnp_str("moved"), .count = 3);
	RECORD(rec, failure, .event = 1, .reason = dnp_str("norule"), .count = 2);
	RECORD(rec, stats, .event = 1, .samples = 20, .failed = 5, .frames = 60);
	RECORD(rec, end, .time_ns = 1200000000, .reason = DNP_END_EXIT);
	recording_flush(rec);
}

enum { CALLS_MAIN = 11, WORK_INT, WORK_STRING, FIB, CALLS_METHODS_END };

/* Numbers, LEB128 each. */
static struct dnp_str packed(uint8_t bytes[RECORD_ROOM], const uint64_t *numbers, size_t n)
{
	uint8_t *end = bytes;

	for (size_t i = 0; i < n; i++)
		end = dnp_varint_put(end, numbers[i]);
	return (struct dnp_str){(const char *)bytes, (size_t)(end - bytes)};
}

void recording_call_nodes(
	struct recording *rec, uint64_t thread, uint64_t first, const uint64_t *numbers, size_t n)
{
	uint8_t bytes[RECORD_ROOM];

	RECORD(rec, call_nodes, .event = 3, .thread = thread, .first = first,
		.nodes = packed(bytes, numbers, n));
}

void recording_call_counts(
	struct recording *rec, uint64_t thread, uint64_t time_ns, const uint64_t *numbers, size_t n)
{
	uint8_t bytes[RECORD_ROOM];

	RECORD(rec, call_counts, .event = 3, .thread = thread, .time_ns = time_ns,
		.counts = packed(bytes, numbers, n));
}

void recording_call_methods(struct recording *rec)
{
	static const char *const names[] = {"App.Calls.<Main>$(string[])", "App.Calls.Work(int)",
		"App.Calls.Work(string)", "App.Calls.Fib(int)"};

	for (uint64_t i = CALLS_MAIN; i < CALLS_METHODS_END; i++)
		RECORD(rec, traced, .method = i, .frame = 100 + i, .function_id = 0x7f0000 + i);
	RECORD(rec, module, .index = 1, .kind = DNP_MODULE_MANAGED,
		.path = dnp_str("/app/calls.dll"), .name = dnp_str("calls"));
	for (uint64_t i = CALLS_MAIN; i < CALLS_METHODS_END; i++)
		frame(rec, 100 + i, DNP_FRAME_MANAGED, 1, names[i - CALLS_MAIN]);
}

#define MS UINT64_C(1000000)

static void main_calls(struct recording *rec)
{
	static const uint64_t nodes[] = {
		1, CALLS_MAIN, 1, WORK_INT, 1, FIB, 1, FIB, 4, WORK_STRING};
	static const uint64_t counts[] = {
		1, 1, 58 * MS, 10 * MS, 58 * MS, 58 * MS, /* Main */
		1, 3, 48 * MS, 30 * MS, 15 * MS, 17 * MS, /* Work(int) */
		1, 3, 18 * MS, 6 * MS, 6 * MS, 6 * MS,    /* Fib */
		1, 12, 12 * MS, 12 * MS, MS, MS,          /* Fib in Fib */
		1, 2, 0, 0, 0, 0,                         /* Work(string) */
	};

	recording_call_nodes(rec, 1, 1, nodes, sizeof(nodes) / sizeof(*nodes));
	recording_call_counts(rec, 1, 1060 * MS, counts, sizeof(counts) / sizeof(*counts));
}

static void worker_calls(struct recording *rec)
{
	static const uint64_t nodes[] = {1, WORK_INT, 1, FIB};
	static const uint64_t early[] = {
		1, 2, 10 * MS, 8 * MS, 5 * MS, 5 * MS, 1, 2, 2 * MS, 2 * MS, MS, MS};
	static const uint64_t late[] = {
		1, 3, 15 * MS, 12 * MS, 5 * MS, 7 * MS, 1, 3, 3 * MS, 3 * MS, MS, MS};

	recording_call_nodes(rec, 2, 1, nodes, sizeof(nodes) / sizeof(*nodes));
	recording_call_counts(rec, 2, 1020 * MS, early, sizeof(early) / sizeof(*early));
	recording_call_counts(rec, 2, 1070 * MS, late, sizeof(late) / sizeof(*late));
}

void recording_call_process(struct recording *rec)
{
	RECORD(rec, process, .pid = 60, .start_ns = 1000 * MS, .start_unix_ns = 1700000000000000000,
		.command = {"dotnet\0calls.dll\0", 17}, .runtime = dnp_str("10.0.12"), .cpus = 2);
	RECORD(rec, event, .index = 3, .name = dnp_str("trace"), .unit = dnp_str("ns"),
		.source = dnp_str("enter and leave hooks"),
		.note = dnp_str("inlined calls are not seen"));
	RECORD(rec, thread, .index = 1, .tid = 60, .name = dnp_str("main"));
}

void recording_calls(struct recording *rec)
{
	recording_call_process(rec);
	main_calls(rec);
	worker_calls(rec);
	recording_flush(rec);
	RECORD(rec, thread, .index = 2, .tid = 61, .name = dnp_str("worker"));
	recording_call_methods(rec);
	RECORD(rec, call_stats, .event = 3, .time_ns = 1080 * MS, .methods = 4, .left_out = 9,
		.enters = 31, .leaves = 26, .tailcalls = 2, .unwinds = 2, .open = 1, .lost = 3);
	RECORD(rec, end, .time_ns = 1080 * MS, .reason = DNP_END_EXIT);
	recording_flush(rec);
}

void recording_call_events_behind(struct recording *rec, uint64_t thread, uint64_t time_ns,
	struct recording_gap gap, const uint64_t *words, size_t n)
{
	struct dnp_call_encoder *encoder = malloc(sizeof(*encoder));
	uint8_t block[RECORD_ROOM / 2];

	if (!encoder)
		abort();
	dnp_call_encoder_begin(encoder, block, sizeof(block), 0, NULL);
	if (dnp_call_encoder_add(encoder, words, n) != n)
		abort();
	RECORD(rec, call_events, .event = 3, .thread = thread, .time_ns = time_ns,
		.scale = MS << 32, .count = encoder->count, .lost = gap.lost, .kept = gap.kept,
		.depth = gap.depth,
		.events = {(const char *)block, (size_t)(encoder->out - block)});
	free(encoder);
}

void recording_call_events(struct recording *rec, uint64_t thread, uint64_t time_ns, uint64_t lost,
	const uint64_t *words, size_t n)
{
	recording_call_events_behind(
		rec, thread, time_ns, (struct recording_gap){.lost = lost}, words, n);
}

/* What happens, and so many milliseconds later than what came before. */
#define STEP(method, kind, ms)                                                                     \
	dnp_call_word(method, DNP_CALL_##kind, (time += (ms)) * DNP_CALL_TIME_TICKS)

static void main_events(struct recording *rec)
{
	uint64_t time = 0;
	const uint64_t words[] = {
		STEP(CALLS_MAIN, ENTER, 0),
		STEP(WORK_INT, ENTER, 10),
		STEP(FIB, ENTER, 5),
		STEP(FIB, ENTER, 2),
		STEP(FIB, LEAVE, 4),
		STEP(FIB, LEAVE, 1),
		STEP(WORK_INT, LEAVE, 0),
		STEP(WORK_STRING, ENTER, 3),
		STEP(FIB, ENTER, 6),
		STEP(FIB, UNWOUND, 1),
		STEP(WORK_STRING, UNWOUND, 0),
	};

	recording_call_events(rec, 1, 1010 * MS, 0, words, sizeof(words) / sizeof(*words));
}

static void worker_events(struct recording *rec)
{
	uint64_t time = 0;
	const uint64_t before[] = {STEP(WORK_INT, ENTER, 0), STEP(WORK_INT, TAILCALL, 8)};
	const uint64_t after[] = {STEP(FIB, ENTER, 0), STEP(FIB, LEAVE, 2)};

	recording_call_events(rec, 2, 1015 * MS, 0, before, 2);
	recording_call_events(rec, 2, 1030 * MS, 5, after, 2);
}

void recording_call_log(struct recording *rec)
{
	recording_call_process(rec);
	worker_events(rec);
	main_events(rec);
	recording_flush(rec);
	RECORD(rec, thread, .index = 2, .tid = 61, .name = dnp_str("worker"));
	recording_call_methods(rec);
	RECORD(rec, call_stats, .event = 3, .time_ns = 1050 * MS, .methods = 4, .enters = 8,
		.leaves = 4, .tailcalls = 1, .unwinds = 2, .open = 1, .lost = 5);
	RECORD(rec, end, .time_ns = 1050 * MS, .reason = DNP_END_EXIT);
	recording_flush(rec);
}

#define START_NS UINT64_C(1000000000)
#define US       UINT64_C(1000)

void recording_slices(struct recording *rec, uint64_t thread, const uint64_t *numbers, size_t n)
{
	uint64_t end_us = numbers[0];
	uint8_t bytes[1024];
	size_t used = 0;

	for (size_t i = 0; i < n; i++, numbers += 4) {
		used += dnp_slice_put(bytes + used, (numbers[0] - end_us) * US,
			(numbers[1] - numbers[0]) * US, (uint32_t)numbers[2],
			(enum dnp_slice_end)numbers[3]);
		end_us = numbers[1];
	}
	numbers -= 4 * n;
	RECORD(rec, slices, .thread = thread, .time_ns = START_NS + numbers[0] * US,
		.slices = {(const char *)bytes, used}, .before = DNP_SLICE_WAITS);
}

void recording_switches(struct recording *rec)
{
	static const uint64_t main_first[] = {10, 20, 0, DNP_SLICE_WAITS};
	static const uint64_t main_rest[] = {
		50, 60, 0, DNP_SLICE_PREEMPTED, 62, 70, 1, DNP_SLICE_WAITS};
	static const uint64_t first[] = {
		15, 18, 1, DNP_SLICE_PREEMPTED, 20, 30, 0, DNP_SLICE_ENDED};
	static const uint64_t again[] = {41, 45, 1, DNP_SLICE_WAITS, 80, 88, 1, DNP_SLICE_UNKNOWN,
		95, 100, 1, DNP_SLICE_RUNS};

	RECORD(rec, process, .pid = 70, .start_ns = START_NS,
		.start_unix_ns = UINT64_C(1700000000000000000), .command = {"switching\0-x\0", 13},
		.os = dnp_str("Linux 6.18.1"), .cpus = 2);
	RECORD(rec, event, .index = 4, .name = dnp_str("switch"), .unit = dnp_str("ns"),
		.source = dnp_str("perf switch records"));
	RECORD(rec, thread, .index = 1, .tid = 70, .start_ns = START_NS, .flags = DNP_THREAD_LATE,
		.name = dnp_str("main"));
	recording_slices(rec, 1, main_first, 1);
	/* One whose definition comes late. */
	recording_slices(rec, 2, first, 2);
	RECORD(rec, thread, .index = 2, .tid = 71, .start_ns = START_NS + 12 * US,
		.name = dnp_str("switching"));
	RECORD(rec, thread_name, .thread = 2, .name = dnp_str("first, \"1\""));
	RECORD(rec, thread_end, .thread = 2, .time_ns = START_NS + 30 * US);
	recording_slices(rec, 1, main_rest, 2);
	RECORD(rec, thread, .index = 3, .tid = 71, .start_ns = START_NS + 40 * US,
		.name = dnp_str("again"));
	RECORD(rec, switch_loss, .cpu = 1, .from_ns = START_NS + 88 * US,
		.until_ns = START_NS + 92 * US, .count = 3);
	recording_slices(rec, 3, again, 3);
	RECORD(rec, slices, .thread = 1, .time_ns = START_NS + 100 * US, .gap_ns = 30 * US);
	RECORD(rec, mark, .time_ns = START_NS + 65 * US, .thread = 1, .text = dnp_str("half"));
	RECORD(rec, span, .time_ns = START_NS + 66 * US, .thread = 1, .event = 5, .id = 1,
		.name = dnp_str("order"));
	RECORD(rec, span, .time_ns = START_NS + 67 * US, .thread = 1, .event = 5, .id = 2,
		.name = dnp_str("GET /"));
	RECORD(rec, span_end, .time_ns = START_NS + 69 * US, .thread = 1, .event = 5, .id = 2,
		.result = dnp_str("200"));
	RECORD(rec, wait, .thread = 1, .since_ns = START_NS + 20 * US,
		.until_ns = START_NS + 50 * US, .kind = DNP_WAIT_LOCK);
	RECORD(rec, wait, .thread = 1, .since_ns = START_NS + 70 * US, .kind = DNP_WAIT_SLEEP);
	RECORD(rec, wakeup, .time_ns = START_NS + 49 * US, .thread = 1, .by = 4, .by_pid = 70,
		.by_tid = 71);
	RECORD(rec, wakeup, .time_ns = START_NS + 61 * US, .thread = 1, .by_pid = 80, .by_tid = 81,
		.by_name = dnp_str("another"));
	RECORD(rec, end, .time_ns = START_NS + 100 * US, .reason = DNP_END_STOP);
	recording_flush(rec);
}
