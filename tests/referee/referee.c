/* SPDX-License-Identifier: MIT */
#include "referee.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/thread_names.h"
#include "clr/codemap.h"
#include "clr/hresult.h"
#include "clr/r2r.h"
#include "os/clock.h"
#include "os/thread.h"
#include "unwind/managed.h"

struct referee referee;

/* ---- The functions that stand in front of the product's */

size_t __real_dnp_walk(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, size_t max, enum dnp_walk_stop *stop);
size_t __wrap_dnp_walk(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, size_t max, enum dnp_walk_stop *stop);
int __real_dnp_recorder_start(struct dnp_err *err);
int __wrap_dnp_recorder_start(struct dnp_err *err);
void __real_dnp_recorder_stop(enum dnp_end_reason reason);
void __wrap_dnp_recorder_stop(enum dnp_end_reason reason);

void __real_dnp_thread_names_started(ThreadID id, struct dnp_thread *thread);
void __wrap_dnp_thread_names_started(ThreadID id, struct dnp_thread *thread);

/*
 * The runtime knows the calling thread. Others must not be asked about: on a thread that has not
 * touched the runtime's thread-local storage the first touch calls malloc, which the signal may
 * have interrupted.
 */
static __thread bool known_thread __attribute__((tls_model("initial-exec")));

/* On the thread itself, when the runtime tells that it has begun. */
void __wrap_dnp_thread_names_started(ThreadID id, struct dnp_thread *thread)
{
	if (thread->tid == dnp_thread_id())
		known_thread = true;
	__real_dnp_thread_names_started(id, thread);
}

static SIGSAFE void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- What a handler needs, as many as may run at once (a preempted thread keeps its own) */

#define CONTEXT_BYTES 4096 /* of the runtime's CONTEXT, and room for a larger one */
#define SCRATCHES     64

struct scratch {
	_Atomic int taken;
	_Alignas(64) uint8_t context[CONTEXT_BYTES];
	dnp_frame_word frames[REFEREE_DEPTH_MAX];
	struct dnp_regs registers[REFEREE_DEPTH_MAX];
	struct snapshot snapshot;
};

static struct scratch scratches[SCRATCHES];

static SIGSAFE struct scratch *take_scratch(void)
{
	for (size_t i = 0; i < SCRATCHES; i++)
		if (!atomic_exchange_explicit(&scratches[i].taken, 1, memory_order_acquire))
			return &scratches[i];
	return NULL;
}

static SIGSAFE void give_back(struct scratch *scratch)
{
	atomic_store_explicit(&scratch->taken, 0, memory_order_release);
}

/* ---- The runtime's walk */

/* dotnet/runtime, pal.h: CONTEXT of x86-64, the fields that a seed needs. */
enum {
	CONTEXT_FLAGS = 0x30,
	CONTEXT_RBX = 0x90,
	CONTEXT_RSP = 0x98,
	CONTEXT_RBP = 0xa0,
	CONTEXT_RIP = 0xf8
};
#define CONTEXT_CONTROL_AND_INTEGER 0x100003u

static SIGSAFE void put_word(uint8_t *context, size_t at, uintptr_t value)
{
	memcpy(context + at, &value, sizeof(value));
}

static SIGSAFE void make_seed(uint8_t *context, const struct dnp_regs *regs)
{
	uint32_t flags = CONTEXT_CONTROL_AND_INTEGER;

	memset(context, 0, CONTEXT_BYTES);
	memcpy(context + CONTEXT_FLAGS, &flags, sizeof(flags));
	put_word(context, CONTEXT_RBX, regs->bx);
	put_word(context, CONTEXT_RSP, regs->sp);
	put_word(context, CONTEXT_RBP, regs->bp);
	put_word(context, CONTEXT_RIP, regs->pc);
}

static HRESULT DNP_COM on_snapshot_frame(FunctionID function, uintptr_t ip,
	COR_PRF_FRAME_INFO frame, uint32_t context_size, uint8_t *context, void *data)
{
	struct snapshot *snapshot = data;

	(void)frame;
	(void)context_size;
	(void)context;
	if (snapshot->n == REFEREE_DEPTH_MAX)
		return S_FALSE;
	snapshot->frames[snapshot->n++] = (struct snapshot_frame){function, ip};
	return S_OK;
}

static HRESULT DNP_COM on_frame_unwanted(FunctionID function, uintptr_t ip,
	COR_PRF_FRAME_INFO frame, uint32_t context_size, uint8_t *context, void *data)
{
	(void)function;
	(void)ip;
	(void)frame;
	(void)context_size;
	(void)context;
	(void)data;
	return S_FALSE;
}

/* `seed` NULL: the runtime begins where the thread left managed code. */
static void take_snapshot(struct scratch *scratch, const struct dnp_regs *seed)
{
	scratch->snapshot.n = 0;
	if (seed)
		make_seed(scratch->context, seed);
	scratch->snapshot.result = dnp_com(dnp_agent.info.com, DoStackSnapshot, 0,
		on_snapshot_frame, COR_PRF_SNAPSHOT_DEFAULT, &scratch->snapshot,
		seed ? scratch->context : NULL, seed ? CONTEXT_BYTES : 0);
}

/*
 * Whether the runtime takes the thread for one that runs native code ("preemptive"): it ignores
 * the seed then. A seed in no code at all tells: it is refused when it is looked at.
 */
static bool is_preemptive(struct scratch *scratch)
{
	static const struct dnp_regs nowhere;

	make_seed(scratch->context, &nowhere);
	return dnp_com(dnp_agent.info.com, DoStackSnapshot, 0, on_frame_unwanted,
		       COR_PRF_SNAPSHOT_DEFAULT, NULL, scratch->context,
		       CONTEXT_BYTES) != CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
}

/* ---- The comparison */

static SIGSAFE bool is_managed(dnp_frame_word word)
{
	enum dnp_walk_kind kind = DNP_FRAME_KIND(word);

	return kind == DNP_WALK_JIT || kind == DNP_WALK_R2R || kind == DNP_WALK_DYNAMIC;
}

static SIGSAFE uintptr_t lookup_address(dnp_frame_word word)
{
	return DNP_FRAME_ADDR(word) - (word & DNP_FRAME_EXACT ? 0 : 1);
}

#define NUMBERS_MAX (1U << 20)

/* What the runtime called the method of each of our numbers, when it first did. */
static _Atomic FunctionID function_of_number[NUMBERS_MAX];

/* Our map must know the code by the method that the runtime says it is of. */
static void check_name(dnp_frame_word word, FunctionID function)
{
	const struct dnp_code *code = dnp_codemap_find(referee.map, lookup_address(word));
	FunctionID known = 0;

	if (!code || !code->method || code->method >= NUMBERS_MAX)
		return;
	if (!atomic_compare_exchange_strong(&function_of_number[code->method], &known, function) &&
		known != function)
		count(&referee.misnamed);
}

static bool same_function(dnp_frame_word word, const struct snapshot_frame *frame)
{
	FunctionID function = 0;

	if (DNP_FRAME_ADDR(word) == frame->ip)
		return true;
	return SUCCEEDED(dnp_com(dnp_agent.info.com, GetFunctionFromIP,
		       (const uint8_t *)lookup_address(word), &function)) &&
		function == frame->function;
}

bool referee_is_part(dnp_frame_word word)
{
	uintptr_t pc = lookup_address(word);
	const struct dnp_code *code = dnp_codemap_find(referee.map, pc);
	const struct dnp_r2r_image *image = code ? NULL : dnp_r2r_find(pc);
	struct dnp_r2r_function function, method;

	if (code)
		return code->flags & DNP_CODE_FUNCLET && !(code->flags & DNP_CODE_CATCH);
	return image && dnp_r2r_function_at(image, pc, &function) &&
		dnp_r2r_part_of(image, &function, &method) == DNP_R2R_FINALLY;
}

struct comparison {
	size_t own, theirs; /* managed frames; ours without dynamic code */
	bool same, same_ips, dynamic, parts;
};

static struct comparison compare(
	const dnp_frame_word *own, size_t n, const struct snapshot *snapshot)
{
	struct comparison c = {.same = true, .same_ips = true};
	size_t i = 0, k = 0;

	for (;; i++, k++) {
		for (; i < n && (!is_managed(own[i]) || DNP_FRAME_KIND(own[i]) == DNP_WALK_DYNAMIC);
			i++)
			c.dynamic |= DNP_FRAME_KIND(own[i]) == DNP_WALK_DYNAMIC;
		while (k < snapshot->n && !snapshot->frames[k].function)
			k++;
		c.own += i < n;
		c.theirs += k < snapshot->n;
		if (i >= n || k >= snapshot->n)
			break;
		c.parts |= referee_is_part(own[i]);
		if (!same_function(own[i], &snapshot->frames[k]))
			c.same = false;
		else
			check_name(own[i], snapshot->frames[k].function);
		c.same_ips &= DNP_FRAME_ADDR(own[i]) == snapshot->frames[k].ip;
	}
	c.same &= i >= n && k >= snapshot->n && SUCCEEDED(snapshot->result);
	return c;
}

static void keep(
	const dnp_frame_word *own, size_t n, enum dnp_walk_stop stop, struct scratch *scratch)
{
	const struct snapshot *snapshot = &scratch->snapshot;
	struct difference d = {.n_own = (uint32_t)n,
		.n_snapshot = (uint32_t)snapshot->n,
		.result = snapshot->result,
		.stop = (uint8_t)stop,
		.preemptive = is_preemptive(scratch)};
	size_t own_bytes = n * sizeof(own[0]);
	size_t their_bytes = snapshot->n * sizeof(snapshot->frames[0]);
	size_t bytes = sizeof(d) + own_bytes + their_bytes;
	size_t at = atomic_load(&referee.stored);
	uint8_t *to;

	do {
		if (bytes > REFEREE_STORE_BYTES - at) {
			count(&referee.lost);
			return;
		}
	} while (!atomic_compare_exchange_weak(&referee.stored, &at, at + bytes));
	to = referee.store + at;
	memcpy(to, &d, sizeof(d));
	memcpy(to + sizeof(d), own, own_bytes);
	memcpy(to + sizeof(d) + own_bytes, snapshot->frames, their_bytes);
}

static void judge(
	const dnp_frame_word *own, size_t n, enum dnp_walk_stop stop, struct scratch *scratch)
{
	struct comparison c = compare(own, n, &scratch->snapshot);

	if (!c.own && !c.theirs) {
		count(&referee.no_managed);
		return;
	}
	count(&referee.compared);
	if (!c.same || c.parts) {
		count(&referee.different);
		keep(own, n, stop, scratch);
		return;
	}
	count(&referee.identical);
	if (c.same_ips)
		count(&referee.same_ips);
	if (c.dynamic)
		count(&referee.with_dynamic);
}

static void ask_the_runtime(const struct dnp_regs *regs, struct dnp_stacks stacks,
	const dnp_frame_word *own, size_t n, enum dnp_walk_stop stop)
{
	enum dnp_walk_stop again;
	struct scratch *scratch;
	size_t first = 0;

	while (first < n && !is_managed(own[first]))
		first++;
	if (first == n && !known_thread) {
		count(&referee.no_managed);
		return;
	}
	scratch = take_scratch();
	if (!scratch) {
		count(&referee.busy);
		return;
	}
	if (first < n && first < REFEREE_DEPTH_MAX) {
		dnp_walk_registers(
			regs, stacks, scratch->frames, scratch->registers, first + 1, &again);
		take_snapshot(scratch, &scratch->registers[first]);
	} else {
		take_snapshot(scratch, NULL);
	}
	judge(own, n, stop, scratch);
	give_back(scratch);
}

size_t __wrap_dnp_walk(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, size_t max, enum dnp_walk_stop *stop)
{
	uint64_t begin_ns = dnp_now_ns(), number;
	size_t n = __real_dnp_walk(regs, stacks, frames, max, stop);
	uint64_t ns = dnp_now_ns() - begin_ns;

	if (!referee.path)
		return n;
	number = atomic_fetch_add_explicit(&referee.samples, 1, memory_order_relaxed);
	if (number < REFEREE_WALKS_MAX)
		referee.walk_ns[number] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	count(&referee.stops[*stop]);
	ask_the_runtime(regs, stacks, frames, n, *stop);
	return n;
}

/* ---- Start and end */

static void *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The product does not ask for snapshots: they would cost the program something. */
static HRESULT allow_snapshots(void)
{
	uint32_t low = 0, high = 0;
	HRESULT hr = dnp_com(dnp_agent.info.com, GetEventMask2, &low, &high);

	return FAILED(hr) ? hr
			  : dnp_com(dnp_agent.info.com, SetEventMask2,
				    low | COR_PRF_ENABLE_STACK_SNAPSHOT, high);
}

int __wrap_dnp_recorder_start(struct dnp_err *err)
{
	const char *path = getenv(REFEREE_ENV);
	HRESULT hr;

	if (path) {
		hr = allow_snapshots();
		if (FAILED(hr))
			return dnp_err(err, -EINVAL, "the runtime refuses snapshots: %s",
				dnp_hresult_name(hr));
		referee.map = dnp_walk_codemap();
		referee.walk_ns = memory(REFEREE_WALKS_MAX * sizeof(referee.walk_ns[0]));
		referee.store = memory(REFEREE_STORE_BYTES);
		if (!referee.walk_ns || !referee.store)
			return dnp_err(err, -ENOMEM, "no memory for the referee");
		referee.path = path;
	}
	return __real_dnp_recorder_start(err);
}

void __wrap_dnp_recorder_stop(enum dnp_end_reason reason)
{
	__real_dnp_recorder_stop(reason);
	if (referee.path)
		findings_write();
}
