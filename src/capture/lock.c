/* SPDX-License-Identifier: MIT */
/*
 * Which locks threads waited for that others had, where and for how long. The runtime says on the
 * thread that waits when that begins, and when it is over; the thread then takes its own stack, if
 * it has waited long enough. Who had the lock meanwhile, and where that one was: lock_owner.c.
 */
#include "capture/lock.h"

#include <errno.h>
#include <stdatomic.h>

#include "capture/engine.h"
#include "capture/happened.h"
#include "capture/lock_waits.h"
#include "clr/contention.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/thread.h"

#define STATS_EVERY_NS UINT64_C(1000000000)

/* The last one whose Monitor is known to tell of its object as contention.h says. */
#define LAST_RUNTIME 10u

/* From this one on there are locks of managed code. */
#define FIRST_WITH_LOCK 9u

/* Written in start, before the first event can come. */
static const struct dnp_engine_setting *setting;
static unsigned event;
static uint64_t least_ns;

/*
 * Waits for which there is no room in lock_waits.c, by the threads' places; since_ns 0: none.
 * Written by the thread; or by the recorder, when that has gone. Owned.
 */
static struct dnp_lock_wait *crowded_out;

#define CROWDED_OUT_BYTES (DNP_THREADS_MAX * sizeof(*crowded_out))

static _Atomic uint64_t waits, waited_ns, kept;
static _Atomic uint64_t not_understood; /* events */
static _Atomic bool lock_came;          /* a System.Threading.Lock */
static uint64_t told_ns;                /* when the recorder last wrote them */

uint64_t dnp_lock_kept(void)
{
	return atomic_load_explicit(&kept, memory_order_relaxed);
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static bool is_monitor(const struct dnp_contention *contention)
{
	uint64_t word;

	return dnp_contention_is_monitor(contention) &&
		!dnp_mem_read(contention->lock, &word, sizeof(word));
}

/*
 * The first word of an object is its type, which is there as long as somebody waits for the object:
 * it is asked for now, since any unloading makes it unsure whether it may be asked for later.
 */
static uint32_t label_of(const struct dnp_contention *contention)
{
	uintptr_t class_id = 0;

	if (!is_monitor(contention)) {
		atomic_store_explicit(&lock_came, true, memory_order_relaxed);
		return dnp_label(dnp_str("System.Threading.Lock"));
	}
	if (setting->runtime > LAST_RUNTIME ||
		dnp_mem_read(contention->object, &class_id, sizeof(class_id)) || !class_id)
		return dnp_label(dnp_str("[unknown type]"));
	return setting->class_label(class_id);
}

/* Only there a thread that has not waited for long needs a record. */
static void begin_crowded_out(const struct dnp_lock_wait *wait)
{
	const struct dnp_thread *thread = dnp_happened_on(setting);

	if (thread)
		crowded_out[thread->place] = *wait;
}

static void begin(const struct dnp_delivered *delivered)
{
	struct dnp_lock_wait wait = {.since_ns = dnp_now_ns(), .tid = dnp_thread_id()};
	struct dnp_contention contention;

	if (dnp_contention_start(
		    delivered->data, delivered->bytes, delivered->version, &contention)) {
		count(&not_understood, 1);
		return;
	}
	wait.lock = contention.lock;
	wait.owner = contention.owner;
	wait.label = label_of(&contention);
	if (dnp_lock_waits_begin(&wait))
		dnp_lock_owner_await(wait.since_ns);
	else
		begin_crowded_out(&wait);
}

/* False: it is not known. */
static bool end_crowded_out(struct dnp_lock_wait *wait)
{
	const struct dnp_thread *thread = dnp_thread_find(dnp_thread_id());
	struct dnp_lock_wait *own = thread ? &crowded_out[thread->place] : NULL;

	if (!own || !own->since_ns)
		return false;
	*wait = *own;
	own->since_ns = 0;
	return true;
}

static void store(const struct dnp_lock_wait *wait, uint64_t now_ns, uint64_t ns)
{
	count(&kept, 1);
	dnp_happened(setting,
		&(struct dnp_happening){
			.event = event,
			.label = wait->label,
			.time_ns = now_ns,
			.weight = ns,
			.value = wait->lock,
		});
}

static void end(const struct dnp_delivered *delivered)
{
	enum { LISTED, CROWDED_OUT, BEFORE } what = LISTED;
	struct dnp_lock_wait wait = {0};
	uint64_t now_ns = dnp_now_ns(), ns;

	if (dnp_contention_stop(delivered->data, delivered->bytes, delivered->version, &ns)) {
		count(&not_understood, 1);
		return;
	}
	if (!dnp_lock_waits_end(dnp_thread_id(), now_ns, ns, &wait))
		what = end_crowded_out(&wait) ? CROWDED_OUT : BEFORE;
	count(&waits, 1);
	count(&waited_ns, ns);
	if (ns < least_ns)
		return;
	if (what == BEFORE)
		wait.label = dnp_label(dnp_str("[waited for since before the recording]"));
	if (what != LISTED)
		dnp_lock_owner_missed(what == BEFORE ? DNP_LOCK_BEFORE : DNP_LOCK_MANY);
	else if (!wait.looked_at)
		dnp_lock_owner_missed(DNP_LOCK_SHORT);
	store(&wait, now_ns, ns);
}

static void lock_delivered(const struct dnp_delivered *delivered)
{
	if (delivered->provider != DNP_PROVIDER_RUNTIME)
		return;
	if (delivered->id == DNP_EVENT_CONTENTION_START)
		begin(delivered);
	else if (delivered->id == DNP_EVENT_CONTENTION_STOP)
		end(delivered);
}

static void tell_none(struct dnp_writer *writer)
{
	if (setting->runtime >= FIRST_WITH_LOCK &&
		!atomic_load_explicit(&lock_came, memory_order_relaxed))
		dnp_engine_note(&dnp_engine_lock, event, writer,
			"no wait for a System.Threading.Lock came; these are told only "
			"where " DNP_EVENT_SOURCE_SWITCH " is not false");
}

/* All of them, so that sums are of short ones, too. */
static void lock_write(struct dnp_writer *writer, int last)
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
			.seen = dnp_lock_kept(),
			.waited_ns = atomic_load_explicit(&waited_ns, memory_order_relaxed),
			.endless = dnp_lock_waits_endless(),
		});
	if (last)
		tell_none(writer);
}

static void lock_hurry(void)
{
	told_ns = 0;
}

static void lock_wishes(struct dnp_provider_wish *wishes)
{
	dnp_wish(&wishes[DNP_PROVIDER_RUNTIME], DNP_KEYWORD_CONTENTION,
		COR_PRF_EVENTPIPE_INFORMATIONAL);
}

static void forget(void)
{
	if (crowded_out)
		dnp_mem_unmap(crowded_out, CROWDED_OUT_BYTES);
	crowded_out = NULL;
}

static int lock_start(const struct dnp_engine_setting *given, unsigned index, struct dnp_err *err)
{
	forget(); /* of a recording that was never begun */
	crowded_out = dnp_mem_map(CROWDED_OUT_BYTES);
	if (!crowded_out)
		return dnp_err(err, -ENOMEM, "no memory for threads that wait; free some");
	setting = given;
	event = index;
	least_ns = given->options->lock_ns;
	told_ns = 0;
	atomic_store(&waits, 0);
	atomic_store(&waited_ns, 0);
	atomic_store(&kept, 0);
	atomic_store(&not_understood, 0);
	atomic_store(&lock_came, false);
	dnp_lock_waits_clear();
	return 0;
}

static void lock_thread_end(struct dnp_thread *thread)
{
	dnp_lock_waits_leave(thread->tid, thread->gone_ns);
	if (crowded_out)
		crowded_out[thread->place].since_ns = 0;
}

/* No event is delivered by now. */
static void lock_stop(void)
{
	forget();
}

static const char *lock_source(void)
{
	return "ContentionStart, ContentionStop";
}

static void lock_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "event of an unknown layout",
		atomic_load_explicit(&not_understood, memory_order_relaxed));
}

const struct dnp_engine dnp_engine_lock = {
	.event = "lock",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.companion = &dnp_engine_lock_owner,
	.wishes = lock_wishes,
	.delivered = lock_delivered,
	.start = lock_start,
	.source = lock_source,
	.thread_end = lock_thread_end,
	.stop = lock_stop,
	.write = lock_write,
	.writes_seldom = true,
	.hurry = lock_hurry,
	.failures = lock_failures,
};
