/* SPDX-License-Identifier: MIT */
/*
 * Which methods are compiled while the program runs, to what kind of code, and how long that takes:
 * the runtime tells of the beginning and of the end on the thread that compiles, which is the one
 * that called the method, or the runtime's own that makes better code of what is called often.
 *
 * A method can need others while it is compiled: their time is theirs alone, so that sums are
 * right.
 */
#include <errno.h>
#include <stdatomic.h>

#include "capture/engine.h"
#include "capture/happened.h"
#include "capture/nesting.h"
#include "clr/compilation.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/mem.h"

#define OPEN_MAX 8u /* in one another; of more, the outermost have no beginning */

struct of_thread {
	uint32_t n;
	struct dnp_nested open[OPEN_MAX];
};

#define THREADS_BYTES (DNP_THREADS_MAX * sizeof(struct of_thread))

static struct {
	const struct dnp_engine_setting *setting;
	unsigned event;
	/* Owned: by the threads' places. Pages of those that compile nothing are never touched. */
	struct of_thread *threads;
} jit;

static _Atomic uint64_t not_understood; /* events */
static _Atomic uint64_t not_begun;      /* compilations of which only the end was told */

static struct dnp_nesting nesting_of(struct of_thread *thread)
{
	return (struct dnp_nesting){.n = &thread->n, .open = thread->open, .room = OPEN_MAX};
}

static uint32_t label_of(const struct dnp_compilation *compilation, struct dnp_text *name)
{
	dnp_text_puts(name, " [");
	dnp_text_puts(name, compilation->tier);
	if (compilation->rejected)
		dnp_text_puts(name, ", ReadyToRun code rejected");
	if (compilation->rejected_by_profiler)
		dnp_text_puts(name, ", ReadyToRun code refused by a profiler");
	dnp_text_puts(name, "]");
	return dnp_label(dnp_text_since(name, 0));
}

static void end(
	struct of_thread *thread, const struct dnp_compilation *compilation, struct dnp_text *name)
{
	uint64_t now_ns = dnp_now_ns();
	struct dnp_nesting nesting = nesting_of(thread);
	struct dnp_nested one;

	if (!dnp_nesting_take(nesting, compilation->method, &one)) {
		atomic_fetch_add_explicit(&not_begun, 1, memory_order_relaxed);
		return;
	}
	dnp_happened(jit.setting,
		&(struct dnp_happening){
			.event = jit.event,
			.label = label_of(compilation, name),
			.time_ns = one.begin_ns,
			.weight = dnp_nested_own_ns(&one, now_ns),
		});
	dnp_nesting_over(nesting, &one, dnp_now_ns());
}

static int started(struct of_thread *thread, const struct dnp_delivered *delivered)
{
	uint64_t method;

	if (dnp_compilation_started(delivered->data, delivered->bytes, &method))
		return -EBADMSG;
	dnp_nesting_begin(
		nesting_of(thread), (struct dnp_nested){.what = method, .begin_ns = dnp_now_ns()});
	return 0;
}

static int loaded(struct of_thread *thread, const struct dnp_delivered *delivered)
{
	char buffer[DNP_LABEL_BYTES_MAX];
	struct dnp_compilation compilation;
	struct dnp_text name;

	dnp_text_init(&name, buffer, sizeof(buffer));
	if (dnp_compilation_loaded(delivered->data, delivered->bytes, &compilation, &name))
		return -EBADMSG;
	if (compilation.jitted)
		end(thread, &compilation, &name);
	return 0;
}

static void jit_delivered(const struct dnp_delivered *delivered)
{
	const struct dnp_thread *thread;
	int failed = 0;

	if (delivered->provider != DNP_PROVIDER_RUNTIME ||
		(delivered->id != DNP_EVENT_METHOD_JITTING_STARTED &&
			delivered->id != DNP_EVENT_METHOD_LOAD_VERBOSE))
		return;
	thread = dnp_happened_on(jit.setting);
	if (!thread)
		return;
	if (delivered->id == DNP_EVENT_METHOD_JITTING_STARTED)
		failed = started(&jit.threads[thread->place], delivered);
	else
		failed = loaded(&jit.threads[thread->place], delivered);
	if (failed)
		atomic_fetch_add_explicit(&not_understood, 1, memory_order_relaxed);
}

static void jit_wishes(struct dnp_provider_wish *wishes)
{
	dnp_wish(&wishes[DNP_PROVIDER_RUNTIME], DNP_KEYWORD_JIT, COR_PRF_EVENTPIPE_VERBOSE);
}

static void forget(void)
{
	if (jit.threads)
		dnp_mem_unmap(jit.threads, THREADS_BYTES);
	jit.threads = NULL;
}

static int jit_start(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	jit.setting = setting;
	jit.event = index;
	jit.threads = dnp_mem_map(THREADS_BYTES);
	atomic_store(&not_understood, 0);
	atomic_store(&not_begun, 0);
	return jit.threads ? 0 : dnp_err(err, -ENOMEM, "no memory for compilations");
}

/* Its place will be another's. */
static void jit_thread_end(struct dnp_thread *thread)
{
	if (jit.threads && jit.threads[thread->place].n)
		jit.threads[thread->place].n = 0;
}

static const char *jit_source(void)
{
	return "MethodJittingStarted, MethodLoadVerbose";
}

/* No event is delivered by now. */
static void jit_stop(void)
{
	forget();
}

static void jit_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "event of an unknown layout",
		atomic_load_explicit(&not_understood, memory_order_relaxed));
	tell(index, "compilation that began before the recording",
		atomic_load_explicit(&not_begun, memory_order_relaxed));
}

const struct dnp_engine dnp_engine_jit = {
	.event = "jit",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.wishes = jit_wishes,
	.delivered = jit_delivered,
	.start = jit_start,
	.source = jit_source,
	.thread_end = jit_thread_end,
	.stop = jit_stop,
	.failures = jit_failures,
};
