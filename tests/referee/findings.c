/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/u64map.h"
#include "clr/hresult.h"
#include "clr/names.h"
#include "os/file_sink.h"
#include "os/modules.h"
#include "referee.h"
#include "unwind/native.h"

static const char *const kinds[] = {"unknown", "jit", "r2r", "dynamic", "native", "stub", "kernel"};
static const char *const stop_names[DNP_STOP_COUNT] = {
	"end", "depth", "bad_stack", "no_rule", "unknown", "not_walked"};

/*
 * Functions, and frames (an address and how it was reached), get numbers when they are first met.
 * Both lists are written behind the differences, which name them by number.
 */
struct frame {
	dnp_frame_word word;
	uint32_t function;
};

static struct dnp_u64map function_numbers, frame_numbers;
static struct dnp_vec_of(char *) functions; /* owned strings */
static struct dnp_vec_of(struct frame) frames;

#define NONE UINT32_MAX

static uint32_t number_of_function(uint64_t key, const char *name)
{
	char *copy = strdup(name);

	if (!copy || dnp_vec_push(&functions, copy) ||
		dnp_u64map_put(&function_numbers, key, (uint32_t)functions.n - 1))
		abort(); /* a test without memory cannot judge */
	return (uint32_t)functions.n - 1;
}

static uint32_t managed_function(FunctionID function)
{
	uint32_t *known = dnp_u64map_get(&function_numbers, function);
	struct dnp_method method;
	struct dnp_text name;
	char buffer[1024];

	if (known)
		return *known;
	dnp_text_init(&name, buffer, sizeof(buffer));
	if (FAILED(dnp_method_describe(&dnp_agent.info, function, 0, &method, &name)))
		snprintf(buffer, sizeof(buffer), "[function %#lx]", function);
	return number_of_function(function, buffer);
}

/* Named by file and address in it, as in `libcoreclr.so+0x1234`. */
static uint32_t native_function(uintptr_t pc)
{
	const struct dnp_elf_module *module = dnp_module_find(pc);
	const char *slash;
	uint64_t start;
	uint32_t *known;
	char name[512];

	if (!module)
		return NONE;
	if (!dnp_native_function(module, pc, &start))
		start = pc - module->bias;
	known = dnp_u64map_get(&function_numbers, module->bias + start);
	if (known)
		return *known;
	slash = strrchr(module->path, '/');
	snprintf(name, sizeof(name), "%s+%#lx", slash ? slash + 1 : module->path, start);
	return number_of_function(module->bias + start, name);
}

static uintptr_t lookup_address(dnp_frame_word word)
{
	return DNP_FRAME_ADDR(word) - (word & DNP_FRAME_EXACT ? 0 : 1);
}

/* Dynamic code is never asked for: it may have gone. The runtime does not report it either. */
static uint32_t function_of(dnp_frame_word word)
{
	uintptr_t pc = lookup_address(word);
	FunctionID function = 0;

	switch (DNP_FRAME_KIND(word)) {
	case DNP_WALK_JIT:
	case DNP_WALK_R2R:
		return SUCCEEDED(dnp_com(dnp_agent.info.com, GetFunctionFromIP, (const uint8_t *)pc,
			       &function))
			? managed_function(function)
			: NONE;
	case DNP_WALK_NATIVE: return native_function(pc);
	default: return NONE;
	}
}

static uint32_t number_of_frame(dnp_frame_word word)
{
	uint32_t *known = dnp_u64map_get(&frame_numbers, word);
	struct frame frame = {.word = word};

	if (known)
		return *known;
	frame.function = function_of(word);
	if (dnp_vec_push(&frames, frame) ||
		dnp_u64map_put(&frame_numbers, word, (uint32_t)frames.n - 1))
		abort();
	return (uint32_t)frames.n - 1;
}

/* ---- JSON */

static void write_difference(struct dnp_json *json, const struct difference *d)
{
	const dnp_frame_word *own = difference_own(d);
	const struct snapshot_frame *theirs = difference_snapshot(d);

	dnp_json_open(json, NULL, '{');
	dnp_json_text(json, "result", dnp_hresult_name(d->result));
	dnp_json_text(json, "stop", stop_names[d->stop]);
	dnp_json_bool(json, "preemptive", d->preemptive);
	dnp_json_open(json, "own", '[');
	for (uint32_t i = 0; i < d->n_own; i++)
		dnp_json_u64(json, NULL, number_of_frame(own[i]));
	dnp_json_close(json, ']');
	dnp_json_open(json, "snapshot", '[');
	for (uint32_t i = 0; i < d->n_snapshot; i++)
		if (theirs[i].function)
			dnp_json_u64(json, NULL, managed_function(theirs[i].function));
	dnp_json_close(json, ']');
	dnp_json_close(json, '}');
}

static void write_differences(struct dnp_json *json)
{
	const struct difference *d = (const void *)referee.store;
	const struct difference *end = (const void *)(referee.store + referee.stored);

	dnp_json_open(json, "differences", '[');
	for (; d < end; d = difference_next(d))
		write_difference(json, d);
	dnp_json_close(json, ']');
}

static void write_frames(struct dnp_json *json)
{
	dnp_json_open(json, "frames", '[');
	for (size_t i = 0; i < frames.n; i++) {
		const struct frame *frame = &frames.p[i];

		dnp_json_open(json, NULL, '{');
		dnp_json_text(json, "kind", kinds[DNP_FRAME_KIND(frame->word)]);
		dnp_json_u64(json, "ip", DNP_FRAME_ADDR(frame->word));
		dnp_json_bool(json, "exact", frame->word & DNP_FRAME_EXACT);
		dnp_json_bool(json, "part", referee_is_part(frame->word));
		if (frame->function != NONE)
			dnp_json_u64(json, "function", frame->function);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
	dnp_json_open(json, "functions", '[');
	for (size_t i = 0; i < functions.n; i++)
		dnp_json_text(json, NULL, functions.p[i]);
	dnp_json_close(json, ']');
}

static int by_time(const void *a, const void *b)
{
	uint32_t x = ((const struct referee_time *)a)->ns, y = ((const struct referee_time *)b)->ns;

	return (x > y) - (x < y);
}

static int by_time_of_frame(const void *a, const void *b)
{
	const struct referee_time *s = a, *t = b;
	uint64_t x = (uint64_t)s->ns * t->frames, y = (uint64_t)t->ns * s->frames;

	return (x > y) - (x < y);
}

static void write_cost(struct dnp_json *json, const char *name, const struct referee_cost *cost)
{
	size_t n = cost->walks < REFEREE_WALKS_MAX ? cost->walks : REFEREE_WALKS_MAX, kept = 0;
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++) {
		total += cost->each[i].frames;
		if (cost->each[i].frames) /* else no time of a frame */
			cost->each[kept++] = cost->each[i];
	}
	qsort(cost->each, kept, sizeof(cost->each[0]), by_time);
	dnp_json_open(json, name, '{');
	dnp_json_u64(json, "walks", kept);
	dnp_json_u64(json, "frames", total);
	dnp_json_u64(json, "p50_ns", kept ? cost->each[kept / 2].ns : 0);
	dnp_json_u64(json, "p99_ns", kept ? cost->each[kept / 100 * 99].ns : 0);
	qsort(cost->each, kept, sizeof(cost->each[0]), by_time_of_frame);
	dnp_json_u64(json, "frame_ps",
		kept ? UINT64_C(1000) * cost->each[kept / 2].ns / cost->each[kept / 2].frames : 0);
	dnp_json_close(json, '}');
}

static void write_walks(struct dnp_json *json)
{
	static const char *const names[WALKERS] = {
		"signal", "asleep", "stopped", "sync", "snapshot", "dss"};

	dnp_json_open(json, "walkers", '{');
	for (size_t i = 0; i < WALKERS; i++)
		write_cost(json, names[i], &referee.costs[i]);
	dnp_json_close(json, '}');
	dnp_json_open(json, "stops", '{');
	for (size_t i = 0; i < DNP_STOP_COUNT; i++)
		dnp_json_u64(json, stop_names[i], referee.stops[i]);
	dnp_json_close(json, '}');
}

static void write_failures(struct dnp_json *json)
{
	char text[64];

	dnp_json_open(json, "failures", '{');
	for (size_t i = 0; i < REFEREE_REASONS_MAX && referee.failures[i].n; i++) {
		HRESULT result = referee.failures[i].result;
		const char *name = dnp_hresult_name(result);

		snprintf(text, sizeof(text), "%s",
			result > -4096 && result < 0 ? strerrorname_np(-result)
				: name               ? name
						     : "?");
		dnp_json_u64(json, text, referee.failures[i].n);
	}
	dnp_json_close(json, '}');
}

static void write_counts(struct dnp_json *json)
{
	dnp_json_text(json, "runtime", dnp_agent.runtime);
	dnp_json_u64(json, "samples", referee.samples);
	dnp_json_u64(json, "busy", referee.busy);
	dnp_json_u64(json, "no_managed", referee.no_managed);
	dnp_json_u64(json, "compared", referee.compared);
	dnp_json_u64(json, "identical", referee.identical);
	dnp_json_u64(json, "same_ips", referee.same_ips);
	dnp_json_u64(json, "with_dynamic", referee.with_dynamic);
	dnp_json_u64(json, "different", referee.different);
	dnp_json_u64(json, "lost", referee.lost);
	dnp_json_u64(json, "misnamed", referee.misnamed);
}

void findings_write(void)
{
	struct dnp_sink_file *file = malloc(sizeof(*file));
	struct dnp_err err = {0};
	struct dnp_json json;

	if (!file || dnp_sink_file_open(file, referee.path, &err)) {
		fprintf(stderr, "referee: %s\n", err.text);
		return;
	}
	json = (struct dnp_json){.sink = &file->out.sink};
	dnp_json_open(&json, NULL, '{');
	write_counts(&json);
	write_walks(&json);
	write_failures(&json);
	write_differences(&json);
	write_frames(&json);
	dnp_json_close(&json, '}');
	if (dnp_sink_file_commit(file, &err))
		fprintf(stderr, "referee: %s\n", err.text);
	free(file);
}
