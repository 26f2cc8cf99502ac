/* SPDX-License-Identifier: MIT */
#include "capture/call_info.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture/call_events.h"
#include "capture/call_ring.h"
#include "capture/call_seen.h"
#include "capture/call_values.h"
#include "clr/hresult.h"
#include "clr/native_calls.h"
#include "clr/shapes.h"
#include "format/call_codec.h"
#include "os/clock.h"
#include "os/mem.h"

enum {
	METHODS = 1 << DNP_CALL_METHOD_BITS,
	MAX_RANGES = 48, /* arguments that are taken, the object included */
};

/* What is known of a method before its first call; by its number. */
struct prepared {
	const struct dnp_values_plan *plan; /* owned, never freed: hooks go on; NULL: no values */
	bool shared;                        /* instantiations have to be told apart */
	_Atomic bool left_out;              /* it has no hooks, for the runtime would crash */
	/* Of an instantiation: which type arguments of its class are references. */
	_Atomic bool has_references;
	_Atomic uint64_t references;
};

static struct {
	ICorProfilerInfo *com; /* borrowed */
	const struct dnp_info *info;
	unsigned event;
	bool values;
	struct dnp_call_plain plain;
	struct prepared *prepared; /* owned, mapped */
	struct dnp_values_memory memory;
	uint16_t runtime_major;
	_Atomic uint64_t unknown;  /* hooks whose frame could not be found */
	_Atomic uint64_t left_out; /* methods */
} state;

/* --- the runtime's side --- */

/*
 * What COR_PRF_ELT_INFO points to on x86-64: not documented, the same in CoreCLR 8, 9 and 10
 * (dotnet/runtime, PROFILE_PLATFORM_SPECIFIC_DATA), and checked in each call.
 */
struct elt_frame {
	uintptr_t function;
	uintptr_t rbp;
	uintptr_t probe_sp;
	uintptr_t ip;
	uintptr_t caller_sp;
};

struct elt_info {
	const struct elt_frame *frame;
};

/*
 * Compiled methods with hooks have a frame, into which rbp points: two words below its caller's
 * stack pointer by System V, but anywhere on Windows and where code has replaced other code while
 * it ran (OSR), on top of whose frame it works. That stack pointer is aligned as for every call.
 */
static bool is_known(const struct elt_frame *frame)
{
	return frame->rbp >= frame->probe_sp && frame->rbp < frame->caller_sp &&
		frame->caller_sp % 16 == 0;
}

/* 0: it is not what we know. */
static uintptr_t sp_of(COR_PRF_ELT_INFO elt)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	const struct elt_frame *frame = ((const struct elt_info *)elt)->frame;

	if (is_known(frame))
		return frame->caller_sp;
	atomic_fetch_add_explicit(&state.unknown, 1, memory_order_relaxed);
	return 0;
}

static size_t read_memory(uintptr_t address, void *to, size_t n)
{
	return dnp_mem_read_some(address, to, n);
}

/* A class is its method table; the collector marks its lower bits while it works. */
static uint32_t type_of_word(uintptr_t word)
{
	return dnp_call_seen_type(word & ~(uintptr_t)7);
}

/* --- threads --- */

/* Of the calling thread, made when there are none; NULL: no memory, or nothing is recorded. */
static struct dnp_call_values *own_values(void)
{
	struct dnp_calls *calls = dnp_calls_own;
	int saved = errno;

	if (!calls)
		return NULL;
	if (!calls->values) {
		calls->values = dnp_call_values_new();
		errno = saved;
	}
	return calls->values;
}

/*
 * As which method a call of shared code began: at its end the runtime does not tell any more which
 * it was, but the shadow stack does. The call may lie below others that exceptions have ended.
 * `method` where it is not open.
 */
static const struct dnp_call_method *began_as(const struct dnp_call_method *method, uintptr_t sp)
{
	const struct dnp_calls *calls = dnp_calls_own;
	struct dnp_call_frame *frame = atomic_load_explicit(&calls->top, memory_order_relaxed);

	while (frame->sp < sp)
		frame = dnp_call_below(calls, frame);
	return frame->sp == sp && frame->method->function == method->function ? frame->method
									      : method;
}

/* --- hooks --- */

/* The number of the last event of this thread, and the event; 0: there is none. */
static uint64_t last_event(uint64_t *word)
{
	const struct dnp_calls *calls = dnp_calls_own;
	const struct dnp_call_ring *ring = calls ? calls->ring : NULL;
	uint64_t head;

	if (!ring)
		return 0;
	head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	if (head)
		*word = ring->events[(head - 1) & ring->mask];
	return head;
}

/* Whether the last event of this thread is that one; there were `before`. */
static bool was_put(const struct dnp_call_method *method, enum dnp_call_kind kind, uint64_t before)
{
	uint64_t word = 0, head = last_event(&word);

	return head != before && dnp_call_word_method(word) == method->number &&
		dnp_call_word_kind(word) == kind;
}

/* Values that belong to the last event. */
static void put_values(const struct dnp_values *values)
{
	struct dnp_call_values *ring = own_values();
	uint64_t word;

	if (ring && last_event(&word))
		dnp_call_values_put(ring, dnp_calls_own->thread, word, values->p, values->n);
}

/* What the runtime tells at the begin of a call. */
struct begin {
	COR_PRF_FRAME_INFO frame;
	bool has_ranges;
	union {
		COR_PRF_FUNCTION_ARGUMENT_INFO info;
		uint8_t room[sizeof(COR_PRF_FUNCTION_ARGUMENT_INFO) +
			(MAX_RANGES - 1) * sizeof(COR_PRF_FUNCTION_ARGUMENT_RANGE)];
	} args;
};

static bool ask_begin(
	const struct dnp_call_method *method, COR_PRF_ELT_INFO elt, struct begin *begin)
{
	uint32_t bytes = state.values ? sizeof(begin->args) : 0;
	HRESULT hr;

	begin->frame = 0;
	hr = dnp_com(state.com, GetFunctionEnter3Info, method->function, elt, &begin->frame, &bytes,
		bytes ? &begin->args.info : NULL);
	begin->has_ranges = SUCCEEDED(hr) && bytes;
	/* With more arguments than there is room for the frame is known all the same. */
	return begin->frame != 0;
}

/* Once for each instantiation. Only value types have boxes. */
static void know_references(uint32_t number, ClassID class_id)
{
	struct prepared *prepared = &state.prepared[number];
	ClassID args[64];
	ModuleID module;
	mdTypeDef type;
	uint64_t references = 0;
	uint32_t n = 0, offset;

	if (SUCCEEDED(dnp_com(state.com, GetClassIDInfo2, class_id, &module, &type, NULL,
		    DNP_ARRAY_SIZE(args), &n, args)))
		for (uint32_t i = 0; i < n && i < DNP_ARRAY_SIZE(args); i++)
			if (args[i] &&
				FAILED(dnp_com(state.com, GetBoxClassLayout, args[i], &offset)))
				references |= UINT64_C(1) << i;
	atomic_store_explicit(&prepared->references, references, memory_order_relaxed);
	atomic_store_explicit(&prepared->has_references, true, memory_order_release);
}

static const struct dnp_call_method *exact(
	const struct dnp_call_method *method, COR_PRF_FRAME_INFO frame)
{
	ClassID class_id = 0, args[DNP_SEEN_ARGS];
	ModuleID module;
	mdToken token;
	uint32_t n = 0, number;

	if (FAILED(dnp_com(state.com, GetFunctionInfo2, method->function, frame, &class_id, &module,
		    &token, DNP_SEEN_ARGS, &n, args)))
		return method;
	if (!class_id && !n)
		return method;
	number = dnp_call_seen_method(method->function, class_id, args, n);
	if (!number)
		return method;
	if (state.values && class_id &&
		!atomic_load_explicit(&state.prepared[number].has_references, memory_order_acquire))
		know_references(number, class_id);
	return &dnp_call_methods[number];
}

/* How memory is read for a call of that method, which may be an instantiation. */
static struct dnp_values_memory memory_of(const struct dnp_call_method *method)
{
	struct dnp_values_memory memory = state.memory;

	memory.references = atomic_load_explicit(
		&state.prepared[method->number].references, memory_order_relaxed);
	return memory;
}

static void take_args(const struct dnp_call_method *method, const struct dnp_values_plan *plan,
	const struct begin *begin, struct dnp_values *values)
{
	const struct dnp_values_memory memory = memory_of(method);

	dnp_values_take_args(plan, begin->args.info.ranges,
		begin->has_ranges ? begin->args.info.numRanges : 0, &memory, values);
}

static void begin_call(const struct dnp_call_method *method, COR_PRF_ELT_INFO elt, uintptr_t sp)
{
	const struct prepared *prepared = &state.prepared[method->number];
	const struct dnp_values_plan *plan = prepared->plan;
	uint8_t buffer[DNP_CALL_VALUES_MAX];
	struct dnp_values values;
	struct begin begin;
	uint64_t before, word;

	dnp_values_init(&values, buffer, sizeof(buffer));
	if (prepared->shared || (plan && plan->n_args)) {
		bool known = ask_begin(method, elt, &begin);

		if (known && prepared->shared)
			method = exact(method, begin.frame);
		if (plan && plan->n_args)
			take_args(method, plan, &begin, &values);
	}
	before = last_event(&word);
	dnp_call_plain_enter(method, sp, state.plain.enter);
	/* The event itself may have found no room. */
	if (values.n && was_put(method, DNP_CALL_ENTER, before))
		put_values(&values);
}

/* Hooks of trees need not know which method ends. */
static const struct dnp_call_method *ending(const struct dnp_call_method *method, uintptr_t sp)
{
	bool any = state.values && state.prepared[method->number].shared;

	return any ? began_as(method, sp) : method;
}

/* `began`: as which it began. */
static void take_result(const struct dnp_call_method *began, COR_PRF_ELT_INFO elt,
	const struct dnp_values_plan *plan, struct dnp_values *values)
{
	const struct dnp_values_memory memory = memory_of(began);
	COR_PRF_FUNCTION_ARGUMENT_RANGE range = {0};
	COR_PRF_FRAME_INFO frame = 0;

	if (SUCCEEDED(dnp_com(
		    state.com, GetFunctionLeave3Info, began->function, elt, &frame, &range)))
		dnp_values_take_result(plan, &range, &memory, values);
}

static void end_call(const struct dnp_call_method *method, COR_PRF_ELT_INFO elt, uintptr_t sp)
{
	const struct dnp_values_plan *plan = state.prepared[method->number].plan;
	const struct dnp_call_method *began = ending(method, sp);
	uint8_t buffer[DNP_CALL_VALUES_MAX];
	struct dnp_values values;
	uint64_t word, before = last_event(&word);

	state.plain.leave(began, sp);
	if (!plan || plan->shapes[0].kind == DNP_SHAPE_VOID)
		return;
	/* Calls go on to end when nothing is recorded any more. */
	if (!was_put(began, DNP_CALL_LEAVE, before))
		return;
	dnp_values_init(&values, buffer, sizeof(buffer));
	take_result(began, elt, plan, &values);
	if (values.n)
		put_values(&values);
}

/* NOLINTBEGIN(performance-no-int-to-ptr) */
static const struct dnp_call_method *method_of(FunctionIDOrClientID id)
{
	return (const struct dnp_call_method *)id.clientID;
}
/* NOLINTEND(performance-no-int-to-ptr) */

static void DNP_COM hook_enter(FunctionIDOrClientID id, COR_PRF_ELT_INFO elt)
{
	uintptr_t sp = sp_of(elt);

	if (sp && atomic_load_explicit(&dnp_calls_on, memory_order_relaxed))
		begin_call(method_of(id), elt, sp);
}

static void DNP_COM hook_leave(FunctionIDOrClientID id, COR_PRF_ELT_INFO elt)
{
	uintptr_t sp = sp_of(elt);

	if (sp && dnp_calls_own)
		end_call(method_of(id), elt, sp);
}

static void DNP_COM hook_tailcall(FunctionIDOrClientID id, COR_PRF_ELT_INFO elt)
{
	uintptr_t sp = sp_of(elt);

	if (sp && dnp_calls_own)
		state.plain.tailcall(ending(method_of(id), sp), sp);
}

/* --- for the engine --- */

uint32_t dnp_call_info_events(const struct dnp_agent_options *options)
{
	uint32_t values = COR_PRF_ENABLE_FUNCTION_ARGS | COR_PRF_ENABLE_FUNCTION_RETVAL;

	return COR_PRF_ENABLE_FRAME_INFO | (options->calls == DNP_CALLS_EVENTS ? values : 0);
}

/*
 * In front of hooks with information the runtime looks at its own thread, which before .NET 10 is
 * not there yet where native code calls a method on a thread that was never in the runtime.
 */
static bool would_crash(const struct dnp_call_method *method)
{
	if (state.runtime_major >= 10 || !dnp_method_is_for_native(state.info, method->function))
		return false;
	/* It is compiled once for each tier. */
	if (!atomic_exchange(&state.prepared[method->number].left_out, true))
		atomic_fetch_add_explicit(&state.left_out, 1, memory_order_relaxed);
	return true;
}

static void plan_values(const struct dnp_call_method *method)
{
	struct prepared *prepared = &state.prepared[method->number];
	struct dnp_values_plan *plan, *kept;

	prepared->shared = dnp_shapes_shared(state.info, method->function);
	if (!state.values || prepared->plan)
		return;
	/* The first method's, before any hook runs. */
	if (!state.memory.string_word)
		state.memory.string_word = dnp_shapes_string(state.info);
	plan = malloc(sizeof(*plan));
	if (plan &&
		SUCCEEDED(
			dnp_shapes_plan(state.info, method->function, dnp_call_seen_type, plan))) {
		kept = realloc(plan, dnp_values_plan_bytes(plan));
		prepared->plan = kept ? kept : plan;
	} else {
		free(plan);
	}
}

bool dnp_call_info_prepare(const struct dnp_call_method *method)
{
	if (would_crash(method))
		return false;
	plan_values(method);
	return true;
}

int dnp_call_info_open(const struct dnp_engine_setting *setting, unsigned event)
{
	state.info = setting->info;
	state.com = setting->info->com;
	state.event = event;
	state.runtime_major = dnp_info_runtime_major(setting->info);
	state.values = setting->options->calls == DNP_CALLS_EVENTS;
	state.memory.read = read_memory;
	state.memory.type = type_of_word;
	if (state.values)
		dnp_call_events_also(dnp_call_values_write);
	state.prepared = dnp_mem_map(METHODS * sizeof(*state.prepared));
	return state.prepared ? dnp_call_seen_open(setting) : -ENOMEM;
}

HRESULT dnp_call_info_set(const struct dnp_call_plain *plain)
{
	HRESULT hr = dnp_com(state.com, GetStringLayout2, &state.memory.length_offset,
		&state.memory.chars_offset);

	state.plain = *plain;
	if (FAILED(hr))
		return hr;
	return dnp_com(state.com, SetEnterLeaveFunctionHooks3WithInfo, hook_enter, hook_leave,
		hook_tailcall);
}

static void tell_problem(struct dnp_writer *writer, uint64_t n, const char *what)
{
	char text[256];

	if (!n)
		return;
	snprintf(text, sizeof(text), "%llu %s", (unsigned long long)n, what);
	dnp_write_problem(
		writer, &(struct dnp_rec_problem){.time_ns = dnp_now_ns(), .text = dnp_str(text)});
}

static void tell_problems(struct dnp_writer *writer)
{
	tell_problem(writer, dnp_call_values_lost(),
		"calls have no arguments or no result: they came faster than they could be "
		"written; record fewer methods with --include");
	tell_problem(writer, atomic_load(&state.unknown),
		"begins and ends of calls are missing: this runtime tells hooks something else "
		"than those known; record without --args");
	tell_problem(writer, atomic_load(&state.left_out),
		"methods that native code calls directly ([UnmanagedCallersOnly]) are left out: "
		"this runtime crashes where it is asked for their arguments; record without "
		"--args, or on .NET 10");
	tell_problem(writer, dnp_call_seen_no_room(),
		"times a type or an instantiation had no number of its own: there are more of them "
		"than there is room for; record fewer methods with --include");
	tell_problem(writer, dnp_call_seen_no_number(),
		"calls stand with those of their method's other instantiations: more of these came "
		"at once than there were numbers for; record fewer methods with --include");
}

void dnp_call_info_write(struct dnp_writer *writer, int last)
{
	dnp_call_seen_write(writer, state.event, last);
	if (!last)
		return;
	dnp_call_seen_end();
	tell_problems(writer);
}
