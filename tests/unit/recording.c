/* SPDX-License-Identifier: MIT */
#include "recording.h"

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
		.walk_p50_ns = 1400, .walk_p99_ns = 11000);
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
