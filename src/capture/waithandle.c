/* SPDX-License-Identifier: MIT */
/*
 * Waits for what other threads set, release or pulse: wait handles and Monitor.Wait. The runtime
 * says on the thread that waits when that begins, and when it is over; the thread then takes its
 * own stack, if it has waited long enough. Nobody has what is waited for, but where it is a lock:
 * sleeping for that comes to the same, see lock.c.
 */
#include <errno.h>
#include <stdatomic.h>

#include "capture/engine.h"
#include "capture/happened.h"
#include "clr/contention.h"
#include "clr/info.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/mem.h"

#define STATS_EVERY_NS UINT64_C(1000000000)
#define FIRST_RUNTIME  9u /* that tells of them */

/* Written by the thread that waits; or by the recorder, when that has gone. */
struct begun {
	uint64_t since_ns; /* 0: it does not wait, or has begun before the recording */
	uint32_t label;
};

/* Written in start, before the first event can come. */
static const struct dnp_engine_setting *setting;
static unsigned event;
static uint64_t least_ns;
static struct begun *begun; /* owned; by the threads' places */
static uint32_t label_of_handle, label_of_monitor;

static _Atomic uint64_t waits, waited_ns, kept;
static _Atomic uint64_t not_understood; /* events */
static uint64_t told_ns;                /* when the recorder last wrote them */

#define BEGUN_BYTES (DNP_THREADS_MAX * sizeof(*begun))

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void begin(const struct dnp_delivered *delivered, struct begun *own)
{
	bool monitor;

	if (dnp_wait_handle_start(delivered->data, delivered->bytes, &monitor)) {
		count(&not_understood, 1);
		return;
	}
	own->label = monitor ? label_of_monitor : label_of_handle;
	own->since_ns = dnp_now_ns();
}

static void end(struct begun *own)
{
	uint64_t now_ns = dnp_now_ns(), since_ns = own->since_ns;

	own->since_ns = 0;
	if (!since_ns)
		return;
	count(&waits, 1);
	count(&waited_ns, now_ns - since_ns);
	if (now_ns - since_ns < least_ns)
		return;
	count(&kept, 1);
	dnp_happened(setting,
		&(struct dnp_happening){
			.event = event,
			.label = own->label,
			.time_ns = now_ns,
			.weight = now_ns - since_ns,
		});
}

static bool is_of_wait(const struct dnp_delivered *delivered)
{
	return delivered->provider == DNP_PROVIDER_RUNTIME &&
		(delivered->id == DNP_EVENT_WAIT_HANDLE_START ||
			delivered->id == DNP_EVENT_WAIT_HANDLE_STOP);
}

static void waithandle_delivered(const struct dnp_delivered *delivered)
{
	const struct dnp_thread *thread;

	if (!is_of_wait(delivered))
		return;
	thread = dnp_happened_on(setting);
	if (!thread)
		return;
	if (delivered->id == DNP_EVENT_WAIT_HANDLE_START)
		begin(delivered, &begun[thread->place]);
	else
		end(&begun[thread->place]);
}

static void waithandle_write(struct dnp_writer *writer, int last)
{
	uint64_t now_ns = dnp_now_ns();

	if (!last && now_ns - told_ns < STATS_EVERY_NS)
		return;
	told_ns = now_ns;
	dnp_write_wait_stats(writer,
		&(struct dnp_rec_wait_stats){
			.event = event,
			.time_ns = now_ns,
			.least_ns = least_ns,
			.waits = atomic_load_explicit(&waits, memory_order_relaxed),
			.seen = atomic_load_explicit(&kept, memory_order_relaxed),
			.waited_ns = atomic_load_explicit(&waited_ns, memory_order_relaxed),
		});
}

static void waithandle_hurry(void)
{
	told_ns = 0;
}

/* They are the only ones of this keyword, but the level is that of all that the provider tells. */
static void waithandle_wishes(struct dnp_provider_wish *wishes)
{
	dnp_wish(&wishes[DNP_PROVIDER_RUNTIME], DNP_KEYWORD_WAIT_HANDLE, COR_PRF_EVENTPIPE_VERBOSE);
}

static void forget(void)
{
	if (begun)
		dnp_mem_unmap(begun, BEGUN_BYTES);
	begun = NULL;
}

static int waithandle_start(
	const struct dnp_engine_setting *given, unsigned index, struct dnp_err *err)
{
	if (given->runtime < FIRST_RUNTIME)
		return dnp_err(err, -EOPNOTSUPP,
			"waits for handles cannot be told: the runtime says nothing of them; it "
			"takes .NET 9 or newer, or -e switch or wall, which show where threads "
			"wait");
	forget(); /* of a recording that was never begun */
	begun = dnp_mem_map(BEGUN_BYTES);
	if (!begun)
		return dnp_err(err, -ENOMEM, "no memory for threads that wait; free some");
	setting = given;
	event = index;
	least_ns = given->options->waithandle_ns;
	label_of_handle = dnp_label(dnp_str("wait handle"));
	label_of_monitor = dnp_label(dnp_str("Monitor.Wait"));
	told_ns = 0;
	atomic_store(&waits, 0);
	atomic_store(&waited_ns, 0);
	atomic_store(&kept, 0);
	atomic_store(&not_understood, 0);
	return 0;
}

static void waithandle_thread_end(struct dnp_thread *thread)
{
	if (begun)
		begun[thread->place].since_ns = 0;
}

/* No event is delivered by now. */
static void waithandle_stop(void)
{
	forget();
}

static const char *waithandle_source(void)
{
	return "WaitHandleWaitStart, WaitHandleWaitStop";
}

static void waithandle_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "event of an unknown layout",
		atomic_load_explicit(&not_understood, memory_order_relaxed));
}

const struct dnp_engine dnp_engine_waithandle = {
	.event = "waithandle",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.wishes = waithandle_wishes,
	.delivered = waithandle_delivered,
	.start = waithandle_start,
	.source = waithandle_source,
	.thread_end = waithandle_thread_end,
	.stop = waithandle_stop,
	.write = waithandle_write,
	.writes_seldom = true,
	.hurry = waithandle_hurry,
	.failures = waithandle_failures,
};
