/* SPDX-License-Identifier: MIT */
/*
 * Calls from managed to native code (`transition`) and from native to managed code
 * (`transition-in`): the runtime tells of the begin and of the end of each, on the thread that
 * calls. There may be millions a second, so each is counted, by thread and method, and some are
 * samples besides: those that were on the other side for long enough, and of shorter ones as many
 * as the lot wants (capture/thin.h).
 *
 * What calls back across the border meanwhile has its time alone. A call that an exception ends
 * before there is any native code (a library that is not there) has no end: by the stack pointer
 * it is known that it has gone.
 *
 * The runtime cannot be told to be silent again: after stop it goes on telling, and nobody listens.
 * What threads count is so never freed, but used for other threads.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "capture/engine.h"
#include "capture/happened.h"
#include "capture/nesting.h"
#include "capture/thin.h"
#include "clr/hresult.h"
#include "clr/names.h"
#include "clr/native_calls.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/gate.h"
#include "os/mem.h"
#include "os/thread.h"

#define OPEN_MAX    1024u /* of a thread, in one another; of more, the outermost have no begin */
#define METHODS_MAX 1024u /* of a thread; all others are one */
#define SLOTS       (2 * METHODS_MAX)
#define RAW_MAX     2048u
#define TELL_NS     UINT64_C(100000000)

enum way { OUT, IN, WAYS };

struct method {
	uint64_t key;
	uint32_t label;
	unsigned era; /* as of which its FunctionID is that method's */
	/* Written by the thread alone. */
	_Atomic uint64_t begun, ended, total_ns, longest_ns;
	uint64_t told; /* the recorder's: both counts, when they were written last */
};

struct of_thread {
	struct of_thread *next; /* of all, that has none later */
	uint32_t number;        /* among them */
	struct dnp_thread *thread;
	int tid;
	uint64_t since_ns; /* when the thread took it */
	_Atomic bool used;
	uint32_t n_open;
	uint64_t turn; /* of the lot */
	_Atomic uint32_t n_methods;
	uint16_t slots[SLOTS]; /* by hash of the key: place in `methods`, from 1 */
	struct method methods[METHODS_MAX];
	struct dnp_nested open[OPEN_MAX];
};

/* Written in start, before anything is told. */
static const struct dnp_engine_setting *setting;
static unsigned events[WAYS];
static uint64_t least_ns;
static char note[128];
static pthread_key_t own_key;

static _Atomic bool on;
static struct dnp_gate gate; /* around what must have ended when recording does */
static _Atomic unsigned era; /* goes on when code is unloaded: FunctionIDs may be others' then */
static struct of_thread *_Atomic first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* who takes an unused one; a leaf lock */
static _Atomic uint64_t not_begun[WAYS];
static uint64_t next_ns; /* the recorder's: when it tells again */

/* ---- A thread's own */

static struct of_thread *take_unused(void)
{
	struct of_thread *one = atomic_load(&first);

	while (one && atomic_load_explicit(&one->used, memory_order_acquire))
		one = one->next;
	return one;
}

static struct of_thread *make(struct dnp_thread *thread)
{
	struct of_thread *one;

	pthread_mutex_lock(&lock);
	one = take_unused();
	if (!one) {
		one = dnp_mem_map(sizeof(*one));
		if (one) {
			one->next = atomic_load(&first);
			one->number = one->next ? one->next->number + 1 : 0;
			atomic_store(&first, one);
		}
	}
	if (one) {
		one->thread = thread;
		one->tid = thread->tid;
		one->since_ns = dnp_now_ns();
		one->turn = dnp_now_ns() * DNP_LOT_STEP;
		/* Pairs with take_unused and the recorder's looks. */
		atomic_store_explicit(&one->used, true, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return one;
}

/* Another thread's, of which all was told. */
static void clear(struct of_thread *one)
{
	one->n_open = 0;
	atomic_store_explicit(&one->n_methods, 0, memory_order_relaxed);
	memset(&one->methods[METHODS_MAX - WAYS], 0, WAYS * sizeof(*one->methods));
	memset(one->slots, 0, sizeof(one->slots));
	atomic_store_explicit(&one->used, false, memory_order_release);
}

static struct of_thread *begin_thread(void)
{
	struct of_thread *one = NULL;
	struct dnp_thread *thread;

	if (!dnp_gate_enter(&gate, 1))
		return NULL;
	thread = dnp_happened_on(setting);
	if (thread)
		one = make(thread);
	if (one && pthread_setspecific(own_key, one)) {
		clear(one);
		one = NULL;
	}
	dnp_gate_leave(&gate);
	return one;
}

static struct dnp_nesting nesting_of(struct of_thread *one)
{
	return (struct dnp_nesting){.n = &one->n_open, .open = one->open, .room = OPEN_MAX};
}

/* ---- Methods */

static uint32_t label_of(uintptr_t function)
{
	char raw_buffer[RAW_MAX], buffer[DNP_LABEL_BYTES_MAX];
	struct dnp_text raw, name;
	struct dnp_method method;

	if (!function) /* as of a calli */
		return dnp_label(dnp_str("[function pointer]"));
	dnp_text_init(&raw, raw_buffer, sizeof(raw_buffer));
	if (FAILED(dnp_method_describe(setting->info, function, 0, &method, &raw)))
		return dnp_label(dnp_str("[unknown method]"));
	dnp_text_init(&name, buffer, sizeof(buffer));
	dnp_pretty_name(dnp_text_since(&raw, 0), method.machine, &name);
	return dnp_label(dnp_text_since(&name, 0));
}

static uint32_t slot_of(uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 48) % SLOTS;
}

/* Where the place of a method stands, or the free slot where it belongs. */
static uint16_t *find_slot(struct of_thread *one, uint64_t key)
{
	uint32_t i = slot_of(key);

	while (one->slots[i] && one->methods[one->slots[i] - 1].key != key)
		i = (i + 1) % SLOTS;
	return &one->slots[i];
}

/* The last ones are for all that there is no room for. */
static struct method *other_method(struct of_thread *one, uint64_t key)
{
	struct method *method = &one->methods[METHODS_MAX - WAYS + key % WAYS];

	for (uint32_t i = METHODS_MAX - WAYS; i < METHODS_MAX; i++)
		one->methods[i].key = i % WAYS;
	method->label = DNP_LABEL_OTHER;
	atomic_store_explicit(&one->n_methods, METHODS_MAX, memory_order_release);
	return method;
}

static struct method *add_method(struct of_thread *one, struct method begun, uint16_t *slot)
{
	uint32_t n = atomic_load_explicit(&one->n_methods, memory_order_relaxed);

	if (n >= METHODS_MAX - WAYS)
		return other_method(one, begun.key);
	one->methods[n] = begun;
	*slot = (uint16_t)(n + 1);
	/* Pairs with the recorder's look. */
	atomic_store_explicit(&one->n_methods, n + 1, memory_order_release);
	return &one->methods[n];
}

/* With the gate: of a method that is new, or may be another one by now. */
static struct method *look_up(struct of_thread *one, uint64_t key, unsigned now, uint16_t *slot)
{
	struct method begun = {.key = key, .era = now, .label = label_of((uintptr_t)(key / WAYS))};
	struct method *known = *slot ? &one->methods[*slot - 1] : NULL;

	if (!known || known->label != begun.label)
		return add_method(one, begun, slot);
	known->era = now;
	return known;
}

/* NULL: nobody wants to know any more. */
static struct method *method_of(struct of_thread *one, uint64_t key)
{
	unsigned now = atomic_load_explicit(&era, memory_order_relaxed);
	uint16_t *slot = find_slot(one, key);
	struct method *method;

	if (*slot && one->methods[*slot - 1].era == now)
		return &one->methods[*slot - 1];
	if (!dnp_gate_enter(&gate, 1))
		return NULL;
	method = look_up(one, key, now, slot);
	dnp_gate_leave(&gate);
	return method;
}

static void add(_Atomic uint64_t *counter, uint64_t more)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
		memory_order_relaxed);
}

/* ---- Calls */

/*
 * What one call has on the stack is above all that is called meanwhile. So of calls the same way
 * those are over, though nobody said so, that began here or further down. Those the other way leave
 * another distance between the call and who tells of it.
 */
static void drop_gone(struct dnp_nesting nesting, enum way way, uintptr_t sp)
{
	const struct dnp_nested *call;

	while ((call = dnp_nesting_innermost(nesting)) && call->what % WAYS == way &&
		call->sp <= sp)
		dnp_nesting_drop(nesting);
}

static void begin(struct of_thread *one, uint64_t key, uintptr_t sp)
{
	struct method *method = method_of(one, key);

	if (!method)
		return;
	drop_gone(nesting_of(one), key % WAYS, sp);
	add(&method->begun, 1);
	dnp_nesting_begin(nesting_of(one),
		(struct dnp_nested){
			.what = key,
			.sp = sp,
			.about = (uint32_t)(method - one->methods),
			.begin_ns = dnp_now_ns(),
		});
}

/* Whether it took a stack. */
static bool sample(struct of_thread *one, const struct method *method,
	const struct dnp_nested *call, uint64_t own_ns)
{
	uint64_t weight;

	one->turn += DNP_LOT_STEP;
	weight = dnp_thin((double)own_ns, dnp_lot(one->turn), least_ns);
	if (!weight || !dnp_gate_enter(&gate, 1))
		return false;
	dnp_happened(setting,
		&(struct dnp_happening){
			.event = events[call->what % WAYS],
			.label = method->label,
			.time_ns = call->begin_ns,
			.weight = weight,
			.value = own_ns,
		});
	dnp_gate_leave(&gate);
	return true;
}

static void end(struct of_thread *one, uint64_t key)
{
	uint64_t now_ns = dnp_now_ns(), own_ns;
	struct dnp_nested call;
	struct method *method;

	if (!dnp_nesting_take(nesting_of(one), key, &call)) {
		atomic_fetch_add_explicit(&not_begun[key % WAYS], 1, memory_order_relaxed);
		return;
	}
	method = &one->methods[call.about];
	own_ns = dnp_nested_own_ns(&call, now_ns);
	add(&method->ended, 1);
	add(&method->total_ns, own_ns);
	if (own_ns > atomic_load_explicit(&method->longest_ns, memory_order_relaxed))
		atomic_store_explicit(&method->longest_ns, own_ns, memory_order_relaxed);
	if (sample(one, method, &call, own_ns))
		now_ns = dnp_now_ns();
	dnp_nesting_over(nesting_of(one), &call, now_ns);
}

static void transition_transition(uintptr_t function, int to_native, int back)
{
	struct of_thread *one;
	/* A call to native code ends with the way back to managed code, and the other way round. */
	enum way way = to_native == back ? IN : OUT;
	uint64_t key = (uint64_t)function * WAYS + way;

	if (!atomic_load_explicit(&on, memory_order_relaxed))
		return;
	one = pthread_getspecific(own_key);
	if (!one)
		one = begin_thread();
	if (!one)
		return;
	if (back)
		end(one, key);
	else
		begin(one, key, (uintptr_t)__builtin_frame_address(0));
	/* Pairs with transition_thread_end: a thread of native code tells nobody that it ends. */
	atomic_store_explicit(&one->used, true, memory_order_release);
}

/* Where it calls native code, the runtime tells of that only if it stays a method of its own. */
static bool transition_may_inline(uintptr_t function)
{
	return !atomic_load_explicit(&on, memory_order_relaxed) ||
		!dnp_method_calls_native(setting->info, function);
}

/* ---- Into the recording */

static void write_method(
	struct dnp_writer *writer, const struct of_thread *one, struct method *method)
{
	uint64_t ended = atomic_load_explicit(&method->ended, memory_order_relaxed);
	uint64_t begun = atomic_load_explicit(&method->begun, memory_order_relaxed);
	uint64_t now_ns = dnp_now_ns();

	if (begun + ended == method->told)
		return;
	method->told = begun + ended;
	dnp_write_transitions(writer,
		&(struct dnp_rec_transitions){
			.event = events[method->key % WAYS],
			.thread = one->thread->index,
			.frame = setting->frame(dnp_label_frame(method->label), now_ns),
			.time_ns = now_ns,
			.calls = ended,
			.total_ns = atomic_load_explicit(&method->total_ns, memory_order_relaxed),
			.longest_ns =
				atomic_load_explicit(&method->longest_ns, memory_order_relaxed),
			.number = one->number * METHODS_MAX + (uint32_t)(method - one->methods),
			.unfinished = begun > ended ? begun - ended : 0,
		});
}

static void write_thread(struct dnp_writer *writer, struct of_thread *one)
{
	uint32_t n = atomic_load_explicit(&one->n_methods, memory_order_acquire);

	setting->announce(one->thread);
	for (uint32_t i = 0; i < n; i++)
		write_method(writer, one, &one->methods[i]);
}

static struct dnp_writer *own_writer; /* borrowed; NULL: not known yet */

static void transition_write(struct dnp_writer *writer, int last)
{
	uint64_t now_ns = dnp_now_ns();

	own_writer = writer;
	if (!last && now_ns < next_ns)
		return;
	next_ns = now_ns + TELL_NS;
	for (struct of_thread *one = atomic_load(&first); one; one = one->next)
		if (atomic_load_explicit(&one->used, memory_order_acquire))
			write_thread(writer, one);
}

static void transition_hurry(void)
{
	next_ns = 0;
}

/*
 * One with the same number may have come before the end was noticed, and have taken the record
 * over: it goes on.
 */
static void transition_thread_end(struct dnp_thread *thread)
{
	if (!own_writer)
		return;
	for (struct of_thread *one = atomic_load(&first); one; one = one->next)
		if (atomic_load_explicit(&one->used, memory_order_acquire) &&
			one->tid == thread->tid && one->since_ns < thread->gone_ns) {
			one->thread = thread;
			write_thread(own_writer, one);
			clear(one);
		}
}

/* ---- Start and stop */

static int transition_start(
	const struct dnp_engine_setting *given, unsigned index, struct dnp_err *err)
{
	int failed = pthread_key_create(&own_key, NULL);

	if (failed)
		return dnp_err(err, -failed, "what threads count cannot be kept by thread: %s",
			strerror(failed));
	setting = given;
	events[OUT] = index;
	least_ns = given->options->transition_ns;
	snprintf(note, sizeof(note),
		"stacks are of calls of %.6g ms or longer, and of shorter ones by lot",
		(double)least_ns * 1e-6);
	dnp_gate_open(&gate, 1);
	atomic_store(&on, true);
	return 0;
}

static void transition_stop(void)
{
	atomic_store(&on, false);
	dnp_gate_open(&gate, 0);
}

static void transition_forked(void)
{
	atomic_store(&on, false);
	dnp_gate_clear(&gate);
}

static void transition_unloading(void)
{
	atomic_fetch_add(&era, 1);
}

static const char *transition_note(void)
{
	return note;
}

static const char *transition_source(void)
{
	return "ManagedToUnmanagedTransition, UnmanagedToManagedTransition";
}

static void tell_failures(unsigned index, enum way way, dnp_failure_tell tell)
{
	tell(index, "end of a call whose begin was not seen",
		atomic_load_explicit(&not_begun[way], memory_order_relaxed));
}

static void transition_failures(unsigned index, dnp_failure_tell tell)
{
	tell_failures(index, OUT, tell);
}

static int in_start(const struct dnp_engine_setting *given, unsigned index, struct dnp_err *err)
{
	(void)given;
	(void)err;
	events[IN] = index;
	return 0;
}

static void in_stop(void)
{
}

static void in_failures(unsigned index, dnp_failure_tell tell)
{
	tell_failures(index, IN, tell);
}

static const struct dnp_engine transition_in = {
	.event = "transition-in",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.start = in_start,
	.source = transition_source,
	.note = transition_note,
	.stop = in_stop,
	.failures = in_failures,
};

const struct dnp_engine dnp_engine_transition = {
	.event = "transition",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.companion = &transition_in,
	.events_low = COR_PRF_MONITOR_CODE_TRANSITIONS,
	.start = transition_start,
	.source = transition_source,
	.note = transition_note,
	.thread_end = transition_thread_end,
	.stop = transition_stop,
	.write = transition_write,
	.hurry = transition_hurry,
	.transition = transition_transition,
	.may_inline = transition_may_inline,
	.unloading = transition_unloading,
	.forked = transition_forked,
	.failures = transition_failures,
};
